"""A peer: the other site, the tunnel to it, its lanes and its relays."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from proxy.config.model import Peer as PeerConfig
from proxy.iscsi.portals import Portals
from proxy.net.arrays import Arrays
from proxy.net.asking import NotExported, granted
from proxy.net.coders import Carries, CoderFactory, Coders
from proxy.net.ended import Ended, Reasons
from proxy.net.environment import Environment
from proxy.net.fills import Fills
from proxy.net.lane import Lane
from proxy.net.lanes import Lanes
from proxy.net.lookout import Lookout
from proxy.net.misses import Misses
from proxy.net.relay import Relay
from proxy.net.rounds import Rounds
from proxy.net.shares import Shares
from proxy.net.tally import Tally
from proxy.net.worker import StoreWorker
from proxy.observe.counters import Traffic
from proxy.observe.refusals import NOT_EXPORTED, Refusals
from proxy.observe.volumes import Volumes
from proxy.protocol import events
from proxy.protocol.codes import Capability, CloseCode, ResetCode
from proxy.protocol.errors import HelloRefused, OpenRefused
from proxy.protocol.frames import LANES_MAX, FrameType, encode
from proxy.protocol.hello import Hello
from proxy.protocol.reader import HELLO_MAX, Frame
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.holdings import Holdings, belief_key, recognise

log = logging.getLogger(__name__)

_TIMER_SECONDS = 0.001
"""The loop's timers and clock know whole milliseconds: a callback for an earlier time would find it not time yet."""

_WITHDRAWN = "the certificate of this lane is no longer trusted"

_OF_RELAYS: dict[type, Callable[[Relay, Any], None]] = {
    events.DataReceived: lambda relay, event: relay.delivery.data(memoryview(event.batch)),
    events.Arrived: lambda relay, event: relay.arrived(),
    events.Consumed: lambda relay, event: relay.consumed(event.consumed),
    events.Recalled: lambda relay, event: relay.recalled(event.consumed, event.limit),
    events.Writable: lambda relay, event: relay.writable(),
    events.StreamEnded: lambda relay, event: relay.delivery.end(event.total, memoryview(event.tokens)),
    events.MissReceived: lambda relay, event: relay.missed(event.names),
    events.FillReceived: lambda relay, event: relay.delivery.filled(
        event.name, event.codec, event.size, memoryview(event.data)
    ),
}
"""Events about one stream, by type. They are dropped if its relay has ended."""


class Peer:
    """The owner of its lanes and relays; drives `Tunnel`, which decides everything that is protocol. Loop thread."""

    def __init__(self, environment: Environment, config: PeerConfig) -> None:
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self.name = config.name
        self.address = config.address
        self.worker: StoreWorker = environment.worker
        self.relays: dict[int, Relay] = {}
        self.leaving: set[Relay] = set()
        """Relays that have ended in order, whose arrays have not taken the last bytes yet."""
        self.ended = Ended()
        self.resumed = 0
        """How often streams went on after an outage."""
        self.shutdowns = 0
        """How often the peer shut down in order."""
        self.tunnel_resets = self._lost_streams = 0
        """How often the tunnel was lost with streams in it; and how many of these the tunnel has that is being lost."""
        self.refusals = Refusals(self._loop.time)
        """Connections that could not be made, in either direction."""
        self.fallbacks = Reasons()
        """How often an iSCSI stream was not understood and went on as plain bytes, by reason."""
        self.volumes = Volumes()
        """What iSCSI connections, ended and live, have read and written."""
        self._last_error = self._removed = ""
        self.short_packets = False
        """Lanes come up with short packets only (`Dialler`)."""
        self._environment = environment
        self._holdings: Holdings | None = None
        self._peer_store: tuple[bytes, bytes] | None = None  # identity and epoch of the store that `_holdings` is about
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = float("inf")
        self._arrays = Arrays(self.refusals, environment.config.tunnel.connect_timeout)
        self.tunnel = Tunnel(
            environment.tunnel_settings,
            environment.config.site.name,
            self.name,
            self.worker.store.identity,
            self.worker.store.epochs,
            now,
            software=environment.software,
            needed=(Capability.SLICES,),
        )
        self.turns = environment.turns
        self.rounds = Rounds()
        self.fills = Fills(self.tunnel, self.worker, self.pump)
        self.misses = Misses(self.tunnel.send_miss, self.pump)
        self._coder_factory = CoderFactory(environment, self.tunnel, lambda: len(self.relays))
        self.shares = Shares(self.tunnel, environment.config, config, now)
        late = environment.load.compresses
        self.lanes = Lanes(self.tunnel, environment.config.tunnel.lanes, self.shares.marks, late)
        self.lookout = Lookout(self.name, self.relays, self.tunnel, self.lanes, self.shares, environment, now)

    @property
    def holdings(self) -> Holdings:
        """What the peer's store is believed to hold; known as soon as a stream can exist."""
        assert self._holdings is not None
        return self._holdings

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most, so that none keeps a lane busy for long."""
        return self.lanes.grain

    @property
    def alarms(self) -> list[str]:
        """What an operator must know about this peer."""
        found = []
        if self.short_packets:
            words = f"packets of full size to {self.name} are lost on the way, so short ones are sent"
            found.append(f"{words}; let ICMP pass on that way, or lower the MTU, then `isthmus reload`")
        if words := self.other_congestion_control:
            wanted = self._environment.config.tunnel.congestion_control
            found.append(f'{words}; `modprobe tcp_{wanted}`, allow it to this user, or write "auto"')
        return found

    @property
    def other_congestion_control(self) -> str:
        """In words, if the kernel uses another one than it is asked for; empty otherwise."""
        wanted = self._environment.config.tunnel.congestion_control
        used = sorted({lane.congestion_control for lane in self.lanes} - {wanted}) if wanted != "auto" else ()
        return f"the kernel does {', '.join(used)} where tunnel.congestion_control asks for {wanted}" if used else ""

    @property
    def references_suspended(self) -> bool:
        """True while no references are sent, because the peer lacked too much of what they named."""
        return self._holdings is not None and not self._holdings.referring

    @property
    def state(self) -> str:
        """ "up", "outage" (streams wait for a lane), "connecting" (we dial) or "waiting" (it dials)."""
        if self.reachable:
            return "up"
        if self.relays:
            return "outage"
        return "connecting" if self.address else "waiting"

    @property
    def last_error(self) -> str:
        """Why a lane was lost, or did not come up; empty if none is missing."""
        return self._last_error if self.lanes.missing() else ""

    def failed(self, reason: str) -> bool:
        """A lane did not come up, or was lost. False if the reason is no news, or no lane is missing."""
        if not self.lanes.missing():
            return False
        news, self._last_error = reason != self._last_error, reason
        return news

    @property
    def reachable(self) -> bool:
        """True if a lane is up, and heard of."""
        return self.lanes.up

    @property
    def busy(self) -> bool:
        """True while an array may still get something, from a stream or from what the tunnel or a socket holds."""
        return bool(self.relays or self.leaving or (self.lanes and self.tunnel.figures.streams))

    @property
    def _untaken(self) -> str:
        """Why no stream may begin: too many that have ended still keep a socket and bytes. Empty if one may."""
        most = self._environment.tunnel_settings.streams
        if len(self.leaving) < most:
            return ""
        return f"the arrays of {most} streams that have ended have not taken their last bytes yet"

    def agreed(self, capability: Capability) -> bool:
        """True if both sites have that capability."""
        return self.tunnel.agreement is not None and capability in self.tunnel.agreement.capabilities

    def _coders(self, stream: int, name: str, protocol: Carries | None, portals: Portals | None = None) -> Coders:
        fell = partial(self._fell_back, name, protocol)
        return self._coder_factory.coders(stream, self.holdings, protocol, Tally(self.volumes, name), fell, portals)

    def _fell_back(self, name: str, protocol: Carries | None, reason: str, recognised: bool) -> None:
        """A stream goes on as plain bytes. That is not counted if it need not be iSCSI, and has not begun as iSCSI."""
        if protocol == "auto" and not recognised:
            return
        self.fallbacks.count(reason)
        log.warning("%s: an iSCSI connection goes on as plain bytes: %s", name, reason)

    # -- relays ------------------------------------------------------------------------------------------------

    def open(
        self, forward: str, export: str, origin: str, protocol: Carries = "tcp", portals: Portals | None = None
    ) -> tuple[Relay | None, str]:
        """A relay with an open stream for an array's connection, or None and why not.

        `portals`: replaces the addresses that a target names; None: they pass.
        """
        if self._holdings is None:
            return None, f"there is no tunnel to {self.name} yet"
        if self._untaken:
            return None, self._untaken
        try:
            stream = self.tunnel.open(export, origin, self.shares.of_forward(forward))
        except OpenRefused as refused:
            return None, str(refused)
        coders = self._coders(stream, f"forward {forward}", protocol, portals)
        relay = self.relays[stream] = Relay(self, stream, forward, origin, coders, opener=True)
        relay.destination = export
        self.pump()
        return relay, ""

    def gone(self, relay: Relay) -> None:
        """A relay has ended, for the reason that it states."""
        if self.relays.pop(relay.stream, None) is None:
            return
        self._arrays.give_up(relay)
        self.lookout.ended(relay)
        self.fills.drop(relay)
        self.misses.settle(relay.stream)
        relay.coders.close()
        if relay.in_order:
            self.leaving.add(relay)
        self.ended.add(relay)
        log.info("stream %d of %s with %s ended: %s", relay.stream, relay.name, self.name, relay.reason)
        self.pump()

    def left(self, relay: Relay) -> None:
        """A relay's array has everything, or can be given nothing any more."""
        self.leaving.discard(relay)

    def breach(self, reason: str) -> None:
        """The peer broke the protocol: tell it, and end the tunnel with all its streams."""
        log.error("peer %s broke the protocol, its streams are reset: %s", self.name, reason)
        self.end(CloseCode.PROTOCOL_ERROR, reason, ResetCode.PROTOCOL_ERROR)

    def end(self, code: CloseCode, reason: str, reset: ResetCode) -> None:
        """Close all lanes with that reason and reset all streams."""
        for lane in self.lanes:
            lane.close(code, reason)
        self.tunnel.abandon(reset, reason, self._loop.time())
        self._dispatch()

    def review(self, removed: str) -> None:
        """Certificates were read anew: end lanes whose certificate is no longer this peer's; streams wait for others.

        `removed`: why the other site is a peer no longer; empty if it is one. It becomes the last error, since no lane
        is tried any more that could fail for that reason.
        """
        for lane in self.lanes:
            if not self._environment.proves(self.name, *lane.certificate):
                lane.close(CloseCode.NOT_A_PEER, _WITHDRAWN)
        if removed or self._last_error == self._removed:
            self._last_error = removed
        self._removed = removed

    def drain(self, reason: str) -> None:
        """Refuse new streams in both directions."""
        self.tunnel.drain(reason)
        self.pump()

    def sample(self) -> None:
        """Once a second: see what no event tells about lanes and relays, and end suspensions."""
        self.lanes.sample(self._loop.time())
        if not self.lanes.missing():  # perhaps without a new lane: a silent one is heard again, or fewer are needed
            self._last_error = ""
        self.shares.sample(self.lanes, self._loop.time())
        for lane in self.lanes.surplus() if self._ends_lanes else ():
            lane.needless = True
            lane.close(CloseCode.SURPLUS, "fewer lanes do")
        for relay in (*self.relays.values(), *self.leaving):
            relay.sample()
        if self._holdings is not None:
            self._holdings.tick(self._loop.time())
        self.lookout.sample(self._loop.time())
        self.volumes.sample(self._loop.time())

    @property
    def _ends_lanes(self) -> bool:
        """True if it is this side that ends surplus lanes: it dials, or both do and its name sorts first."""
        dialled = [lane.dialler for lane in self.lanes]
        return all(dialled) or (any(dialled) and self._environment.config.site.name < self.name)

    def traffic(self) -> Mapping[str, Traffic]:
        """Of all streams, ended and live, by forward and export, as shares name them."""
        return self.ended.traffic_with(self.relays.values())

    # -- lanes (LaneOwner) -------------------------------------------------------------------------------------

    def greet(self, lane: Lane) -> None:
        """Send HELLO, padded, so that a path that drops long packets shows now."""
        self.worker.store.announce()
        lane.said = self.tunnel.hello(lane.mark)
        lane.write([encode(FrameType.HELLO, 0, 0, lane.said.encode(HELLO_MAX))])

    def hello(self, lane: Lane, hello: Hello) -> None:
        """The other side's HELLO: join the lane to the tunnel. Raises HelloRefused."""
        now = self._loop.time()
        if not self._environment.proves(self.name, *lane.certificate):  # a reload came between
            raise HelloRefused(CloseCode.NOT_A_PEER, _WITHDRAWN)
        if self.lanes.full and self.tunnel.pairing.continues(hello):
            silent = self.lanes.oldest_silent
            if silent is None:
                raise HelloRefused(CloseCode.SURPLUS, f"{LANES_MAX} lanes are up already")
            silent.abort("nothing was heard on it, and there is no room for others")
        self.tunnel.join(hello, dialler=lane.dialler, now=now, mine=lane.said)
        self._trust_store(hello)
        if not lane.dialler:
            lane.carry(hello.mark)
            self.greet(lane)
        lane.start(self.rounds)
        replaced = self.lanes.add(lane)
        self.tunnel.lane_up(lane.number, now, lane.mark)
        log.info("lane %d with %s (%s) is up, %s", lane.number, self.name, lane.remote, hello.software)
        for other in replaced:
            other.abort(f"nothing was heard on it, and lane {lane.number} has come up in its place")
        self._last_error = ""  # also what those just aborted have left there, perhaps for days
        self._dispatch()
        self.lookout.look()
        self.pump()

    def frame(self, lane: Lane, frame: Frame) -> None:
        """A frame has come: all that follows from it is done before its memory is used again."""
        self.tunnel.receive(lane.number, frame, self._loop.time())
        self._dispatch()

    def burst(self, lane: Lane) -> None:
        """`frame` was called for what one read brought: acknowledge and answer."""
        self.tunnel.heard(lane.number, self._loop.time())
        self.lanes.speak(lane)
        self.fills.go_on()
        self.pump()
        self._dispatch()

    def writable(self, lane: Lane) -> None:
        """A lane takes data again, and so may streams."""
        self.pump()
        self._dispatch()

    def lost(self, lane: Lane, reason: str) -> None:
        """A lane is gone."""
        level = logging.DEBUG if lane.needless else logging.WARNING
        known = self.lanes.remove(lane)
        if not lane.needless:
            self.failed(reason)
        if not known:
            log.log(level, "lane with %s (%s) failed: %s", self.name, lane.remote, reason)
            return
        log.log(level, "lane %d with %s is gone: %s", lane.number, self.name, reason)
        self.tunnel.lane_down(lane.number, self._loop.time())
        self.lookout.look()
        self._dispatch()
        self.pump()

    def pump(self) -> None:
        """Write to the lanes what the tunnel wants sent, and note when it wants to be called next."""
        self.lanes.pump(self._loop.time())
        self._schedule()

    # -- time --------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        deadline = self.tunnel.next_deadline()
        if deadline is None or (self._timer is not None and self._deadline <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._deadline = deadline
        self._timer = self._loop.call_at(max(deadline, self._loop.time() + _TIMER_SECONDS), self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._loop.time()
        self.tunnel.tick(now)
        self._dispatch()
        self.pump()
        self._dispatch()  # what was sent may have made room

    # -- events of the tunnel ----------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        while (event := self.tunnel.next_event()) is not None:
            _OF_PEERS.get(type(event), Peer._tell_relay)(self, event)

    def _tell_relay(self, event: Any) -> None:
        if (relay := self.relays.get(event.stream)) is not None:
            _OF_RELAYS[type(event)](relay, event)

    def _offered(self, event: events.StreamOffered) -> None:
        try:
            export, address = granted(self._environment.exports, self.name, event.export)
        except NotExported as refused:
            log.warning("peer %s asked for what it may not have: %s", self.name, refused)
            self.refusals.refused("", "", NOT_EXPORTED, str(refused))
            self.tunnel.reset(event.stream, ResetCode.NOT_EXPORTED, refused.told)
            return
        if reason := self._untaken:
            log.warning("stream %d of %s with %s is refused: %s", event.stream, export.name, self.name, reason)
            self.tunnel.reset(event.stream, ResetCode.TOO_MANY_STREAMS, reason)
            return
        self.tunnel.assign(event.stream, self.shares.of_export(export.name))
        coders = self._coders(event.stream, f"export {export.name}", None)
        relay = self.relays[event.stream] = Relay(self, event.stream, export.name, event.origin, coders, opener=False)
        relay.destination = str(address)
        self._arrays.connect(relay, address)

    def _accepted(self, event: events.StreamAccepted) -> None:
        log.info("stream %d is connected at %s", event.stream, self.name)
        if (relay := self.relays.get(event.stream)) is not None:
            self.refusals.connected(relay.share, relay.destination)

    def _stream_reset(self, event: events.StreamReset) -> None:
        if (relay := self.relays.get(event.stream)) is not None:
            self._lost_streams += not event.remote
            by = f"by {self.name}: " if event.remote else ""
            if relay.opener and event.remote:
                self.refusals.refused(relay.share, relay.destination, event.code.name.lower(), event.reason)
            relay.close(event.code, f"{by}{event.reason} ({event.code.name.lower()})", tell=False)

    def _peer_draining(self, event: events.PeerDraining) -> None:
        log.info("peer %s drains: %s", self.name, event.reason)

    def _lane_closed(self, event: events.LaneClosed) -> None:
        self.shutdowns += event.code is CloseCode.SHUTDOWN
        lane = self.lanes.get(event.lane)
        if lane is not None:
            lane.needless = event.code is CloseCode.SURPLUS
            lane.abort(f"closed by {self.name}: {event.reason} ({event.code.name.lower()})")

    def _lane_dead(self, event: events.LaneDead) -> None:
        lane = self.lanes.get(event.lane)
        if lane is not None:
            lane.abort(event.reason)

    def _lane_silent(self, event: events.LaneSilent) -> None:
        replaced = self.lanes.silence(event.lane)
        lane = self.lanes.get(event.lane)
        if lane is not None and replaced:
            lane.abort("nothing was heard on it, and there are others")
        elif lane is not None:
            wanted = "another one is tried beside it" if self.address else "until another one comes it is kept"
            log.warning("lane %d with %s is silent: %s", event.lane, self.name, wanted)

    def _lanes_wished(self, event: events.LanesWished) -> None:
        self.lanes.wish_of_peer(event.counts)

    def _tunnel_reset(self, event: events.TunnelReset) -> None:
        self.lanes.wish_of_peer({})
        self.tunnel_resets += bool(self._lost_streams or self.relays)
        self._lost_streams = 0
        for relay in list(self.relays.values()):  # their streams had ended, but the events that say so were dropped
            relay.close(ResetCode.PROTOCOL_ERROR, event.reason, tell=False)
        log.warning("the tunnel with %s begins anew: %s", self.name, event.reason)

    def _resumed(self, event: events.Resumed) -> None:
        self.resumed += 1
        log.info("the tunnel with %s resumed on lane %d with %d streams", self.name, event.lane, len(self.relays))

    def _trust_store(self, hello: Hello) -> None:
        """Believe what we remember of the peer's store only if it is still that store ("What the peer holds")."""
        seen = hello.store, hello.epochs[0]
        if seen == self._peer_store:
            return
        store = self.worker.store
        key = belief_key(self.name, hello.store)
        if not recognise(store, key, hello.epochs):
            log.warning("the store of %s is not the one that we knew: it is believed to be empty", self.name)
        self._peer_store = seen
        self._holdings = Holdings(store, key)


_OF_PEERS: dict[type, Callable[[Peer, Any], None]] = {
    events.StreamOffered: Peer._offered,
    events.StreamAccepted: Peer._accepted,
    events.StreamReset: Peer._stream_reset,
    events.PeerDraining: Peer._peer_draining,
    events.LaneClosed: Peer._lane_closed,
    events.LaneDead: Peer._lane_dead,
    events.LaneSilent: Peer._lane_silent,
    events.LanesWished: Peer._lanes_wished,
    events.TunnelReset: Peer._tunnel_reset,
    events.Resumed: Peer._resumed,
}
