"""A peer: the other site, the tunnel to it, its lanes and its relays."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from proxy.bounded_tls import BARRED_SECONDS
from proxy.config.model import Peer as PeerConfig
from proxy.net.environment import Environment
from proxy.net.lane import Lane
from proxy.net.lanes import Lanes
from proxy.net.relays import Relays
from proxy.net.shares import Shares
from proxy.observe.wording import number_of_streams
from proxy.protocol import events
from proxy.protocol.codes import Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.errors import HelloRefused
from proxy.protocol.frames import LANES_MAX
from proxy.protocol.hello import Hello
from proxy.protocol.reader import HELLO_MAX, Frame, encode
from proxy.protocol.tunnel import Tunnel

log = logging.getLogger(__name__)

_TIMER_SECONDS = 0.001
"""The loop's timers and clock know whole milliseconds: a callback for an earlier time would find it not time yet."""

_NO_FAILURE = CloseCode.SURPLUS, CloseCode.SHUTDOWN

_WITHDRAWN = "the certificate of this lane is no longer trusted"


class Peer:
    """Drives `Tunnel`, which decides everything that is protocol, with its lanes; `Relays` is told of its streams.

    Loop thread.
    """

    def __init__(self, environment: Environment, config: PeerConfig) -> None:
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self.name = config.name
        self.address = config.address
        self.resumed = 0
        """How often streams went on after an outage."""
        self.shutdowns = 0
        """How often the peer shut down in order."""
        self.tunnel_resets = 0
        """How often the tunnel was lost with streams in it."""
        self._known = now
        self._ended: float | None = None
        self.farewell = ""
        """Why the peer ended in order, the last time that it did, in its own words; empty if it never did."""
        self._last_error = self._removed = ""
        self._barred_until = float("-inf")
        self._over = False
        """This side has ended the tunnel, for good."""
        self.short_packets = False
        """Lanes come up with short packets only (`LongPackets`)."""
        self._environment = environment
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = float("inf")
        self.tunnel = Tunnel(
            environment.tunnel_settings,
            environment.config.site.name,
            self.name,
            environment.worker.store.identity,
            environment.worker.store.epochs,
            now,
            software=environment.software,
            needed=(Capability.SLICES,),
        )
        self.shares = Shares(self.tunnel, environment.config, config, now)
        late = environment.load.compresses
        self.lanes = Lanes(self.tunnel, environment.config.tunnel.lanes, self.shares.marks, late)
        self.relays = Relays(
            self.name, environment, self.tunnel, self.lanes, self.shares, pump=self.pump, breach=self.breach
        )

    @property
    def alarms(self) -> list[str]:
        """What an operator must know about this peer."""
        found = []
        if self.short_packets:
            words = f"packets of full size to {self.name} are lost on the way, so short ones are sent"
            found.append(f"{words}; let ICMP pass on that way, or lower the MTU, then `isthmus reload`")
        if words := self.other_congestion_control:
            wanted = self._environment.config.tunnel.congestion_control
            cure = f'`modprobe tcp_{wanted}`, allow it to this user, or write "auto"; then `isthmus reload`'
            found.append(f"{words}; {cure}")
        return found

    @property
    def other_congestion_control(self) -> str:
        """In words, if the kernel uses another one than it is asked for; empty otherwise."""
        wanted = self._environment.config.tunnel.congestion_control
        used = sorted({lane.congestion_control for lane in self.lanes} - {wanted}) if wanted != "auto" else ()
        return f"the kernel does {', '.join(used)} where tunnel.congestion_control asks for {wanted}" if used else ""

    @property
    def state(self) -> str:
        """ "up", "outage" (streams wait for a lane), "connecting" (we dial) or "waiting" (it dials)."""
        if self.lanes.up:
            return "up"
        if self.relays:
            return "outage"
        return "connecting" if self.address else "waiting"

    @property
    def known_seconds(self) -> float:
        """For how long this site has had it as a peer."""
        return self._loop.time() - self._known

    @property
    def ended_seconds(self) -> float | None:
        """Since the peer shut down in order; None once it was heard again, or if it has not."""
        return None if self._ended is None else self._loop.time() - self._ended

    @property
    def last_error(self) -> str:
        """Why a lane was lost, or did not come up; empty if none is missing."""
        return self._last_error if self.lanes.missing() else ""

    def failed(self, reason: str, *, refused: bool = False) -> bool:
        """A lane did not come up, or was lost. False if the reason is no news, or no lane is missing.

        `refused`: one side has refused the other, so the peer is back.
        """
        if refused:
            self._ended = None
        if not self.lanes.missing():
            return False
        news, self._last_error = reason != self._last_error, reason
        return news

    @property
    def busy(self) -> bool:
        """True while an array may still get something, from a stream or from what the tunnel or a socket holds."""
        return bool(self.relays or self.relays.leaving or (self.lanes and self.tunnel.figures.streams))

    def breach(self, reason: str) -> None:
        """The peer broke the protocol: tell it, and end the tunnel with all its streams."""
        log.error("peer %s broke the protocol, its streams are reset: %s", self.name, reason)
        self.end(CloseCode.PROTOCOL_ERROR, reason, ResetCode.PROTOCOL_ERROR)

    @property
    def congestion_control(self) -> str:
        """As for `Lane.congest`."""
        return self._environment.congestion_control

    def bars(self, lane: Lane) -> bool:
        """Whether the peer is not let in for now."""
        return self._loop.time() < self._barred_until

    def flooded(self, lane: Lane, reason: str) -> None:
        """A lane's TLS brought too much that is no data: bar the peer for a while, and end the tunnel."""
        self._barred_until = self._loop.time() + BARRED_SECONDS
        self.breach(reason)

    def end(self, code: CloseCode, reason: str, reset: ResetCode) -> None:
        """Close all lanes with that reason and reset all streams."""
        self._over = code is CloseCode.SHUTDOWN
        for lane in self.lanes:
            lane.close(code, reason, needless=code is CloseCode.SHUTDOWN)
        self.tunnel.abandon(reset, reason, self._loop.time())
        self._dispatch()

    def review(self, removed: str) -> None:
        """Certificates were read anew: end lanes whose certificate is no longer this peer's; streams wait for others.
        The others use the congestion control that the site uses now.

        `removed`: why the other site is no longer a peer; empty if it still is one. That becomes the last error here,
        since no lane is dialled any more whose failure could tell it.
        """
        for lane in self.lanes:
            if not self._environment.proves(self.name, *lane.certificate):
                lane.close(CloseCode.NOT_A_PEER, _WITHDRAWN)
            lane.congest(self.congestion_control)
        if removed and self.failed(removed):
            log.warning("peer %s: %s", self.name, removed)
        elif not removed and self._last_error == self._removed:
            self._last_error = ""
        self._removed = removed

    def change(self, own: PeerConfig) -> None:
        """The site has taken over a file: `own` is what that says of this peer. Streams of forwards and exports that
        are not in it have ended. Lanes stay, wherever they lead."""
        settings = self._environment.tunnel_settings
        if own.address != self.address:
            self.address, self._last_error = own.address, ""  # why it was not reached where it was
        self.tunnel.allot(memory=settings.memory, unacked_max=settings.unacked_max, window_max=settings.window_max)
        self.tunnel.pace(
            keepalive=settings.keepalive,
            dead_after=settings.dead_after,
            grace=settings.grace,
            now=self._loop.time(),
        )
        self.relays.refusals.forget("")  # what was not exported may be now
        self.shares.change(self._environment.config, own, self._loop.time())
        self.relays.ended.keep_apart(self.shares.names)
        self.lanes.change(self._environment.config.tunnel.lanes, self.shares.marks)
        self.pump()
        self._dispatch()  # streams may have more room

    def drain(self, reason: str) -> None:
        """Refuse new streams in both directions."""
        self.tunnel.drain(reason)
        self.pump()

    def sample(self) -> None:
        """Once a second: look at what no event tells of lanes and relays, end suspensions of references, and announce
        what has changed: an idle tunnel would say it with the next PING."""
        for lane in self.lanes:
            lane.look()
        self.lanes.sample(self._loop.time())
        if not self.lanes.missing():  # perhaps without a new lane: a silent one is heard again, or fewer are needed
            self._last_error = ""
        self.shares.sample(self.lanes, self._loop.time())
        for lane in self.lanes.surplus() if self._ends_lanes else ():
            lane.close(CloseCode.SURPLUS, "fewer lanes do", needless=True)
        self.relays.sample(self._loop.time())
        self.pump()
        self._dispatch()  # what was sent may have made room

    @property
    def _ends_lanes(self) -> bool:
        """True if it is this side that ends surplus lanes: it dials, or both do and its name sorts first."""
        dialled = [lane.dialler for lane in self.lanes]
        return all(dialled) or (any(dialled) and self._environment.config.site.name < self.name)

    # -- lanes (LaneOwner, LanePeer) ---------------------------------------------------------------------------

    def greet(self, lane: Lane) -> None:
        """Send HELLO, padded, so that a path that drops long packets shows now."""
        self._environment.worker.store.announce()
        lane.said = self.tunnel.hello(lane.mark)
        lane.write([encode(FrameType.HELLO, 0, 0, lane.said.encode(HELLO_MAX))])

    def hello(self, lane: Lane, hello: Hello) -> None:
        """The other side's HELLO: join the lane to the tunnel. Raises HelloRefused."""
        now = self._loop.time()
        if not self._environment.proves(self.name, *lane.certificate):  # a reload came between
            raise HelloRefused(CloseCode.NOT_A_PEER, _WITHDRAWN)
        self._ended = None  # it is back, even if it is refused
        if self.lanes.full and self.tunnel.pairing.continues(hello):
            silent = self.lanes.oldest_silent
            if silent is None:
                raise HelloRefused(CloseCode.SURPLUS, f"{LANES_MAX} lanes are up already")
            silent.abort("nothing was heard on it, and there is no room for others")
        self.tunnel.join(hello, dialler=lane.dialler, now=now, mine=lane.said, accepted=lane.began)
        lane.congest(self.congestion_control)  # a reload may have come between
        self.relays.trust_store(hello)
        if not lane.dialler:
            lane.carry(hello.mark)
            self.greet(lane)
        lane.start(self, self.relays.rounds)
        replaced = self.lanes.add(lane)
        self.tunnel.lane_up(lane.number, now, lane.mark, lane.began)
        log.info("lane %d with %s (%s) is up, %s", lane.number, self.name, lane.remote, hello.software)
        for other in replaced:
            other.abort(f"nothing was heard on it, and lane {lane.number} has come up in its place")
        self._last_error = ""  # also why those just aborted have ended, which might stay there for days
        self._dispatch()
        self.relays.lookout.look()
        self.pump()

    def frame(self, lane: Lane, frame: Frame) -> None:
        """A frame has come. Everything that follows from it is done before this returns: its memory is used again."""
        self.tunnel.receive(lane.number, frame, self._loop.time())
        self._dispatch()

    def burst(self, lane: Lane) -> None:
        """`frame` was called for all frames that one read brought: acknowledge and answer them."""
        self.lanes.heard(lane)
        self.relays.fills.go_on()
        self.pump()
        self._dispatch()

    def heard(self, lane: Lane) -> None:
        """Bytes have come on the lane, but no whole frame: on a slow line a long one takes its time."""
        self.tunnel.heard(lane.number, self._loop.time())
        if lane.silent:
            self.lanes.heard(lane)
            self.pump()  # what waits may go by it again

    def writable(self, lane: Lane) -> None:
        """A lane takes data again, and so may streams."""
        self.pump()
        self._dispatch()

    def lost(self, lane: Lane, reason: str) -> None:
        """A lane is gone."""
        level = logging.DEBUG if lane.needless else logging.WARNING
        known = self.lanes.remove(lane)
        if not lane.needless:
            self.failed(reason, refused=lane.unwanted)
        if not known:
            log.log(level, "lane with %s (%s) failed: %s", self.name, lane.remote, reason)
            return
        log.log(level, "lane %d with %s is gone: %s", lane.number, self.name, reason)
        self.tunnel.lane_down(lane.number, self._loop.time())
        self.relays.lookout.look()
        self._dispatch()
        self.pump()

    def pump(self) -> None:
        """Write to the lanes what the tunnel wants sent, and note when it wants to be called next."""
        self.lanes.pump(self._loop.time())
        deadline = self.tunnel.next_deadline()
        if deadline is not None and (self._timer is None or deadline < self._deadline):
            self._schedule(deadline)

    # -- time --------------------------------------------------------------------------------------------------

    def _schedule(self, deadline: float) -> None:
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
            kind = type(event)
            if kind in _OF_PEERS:
                _OF_PEERS[kind](self, event)
            else:
                self.relays.happened(event)

    def _peer_draining(self, event: events.PeerDraining) -> None:
        log.info("peer %s drains: %s", self.name, event.reason)

    def _lane_closed(self, event: events.LaneClosed) -> None:
        if event.code is CloseCode.SHUTDOWN:
            self.shutdowns += 1
            self._ended, self.farewell = self._loop.time(), event.reason
            log.info("peer %s has ended in order: %s", self.name, event.reason)
        lane = self.lanes.get(event.lane)
        if lane is not None:
            reason = f"closed by {self.name}: {event.reason} ({event.code.name.lower()})"
            lane.abort(reason, needless=event.code in _NO_FAILURE)

    def _lane_dead(self, event: events.LaneDead) -> None:
        lane = self.lanes.get(event.lane)
        if lane is not None:
            lane.abort(event.reason, needless=self._ended is not None)

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

    def _store_rate(self, event: events.StoreRate) -> None:
        self.relays.relief.told(event.rate)

    def _tunnel_reset(self, event: events.TunnelReset) -> None:
        self.lanes.wish_of_peer({})
        self.relays.relief.told(0)
        lost = self.relays.lose(event.reason)
        self.tunnel_resets += lost
        level = logging.WARNING if lost else logging.INFO
        log.log(level, "the tunnel with %s %s: %s", self.name, "is over" if self._over else "begins anew", event.reason)

    def _resumed(self, event: events.Resumed) -> None:
        self.resumed += 1
        streams = number_of_streams(len(self.relays))
        log.info("the tunnel with %s resumed on lane %d with %s", self.name, event.lane, streams)


_OF_PEERS: dict[type, Callable[[Peer, Any], None]] = {
    events.PeerDraining: Peer._peer_draining,
    events.LaneClosed: Peer._lane_closed,
    events.LaneDead: Peer._lane_dead,
    events.LaneSilent: Peer._lane_silent,
    events.LanesWished: Peer._lanes_wished,
    events.StoreRate: Peer._store_rate,
    events.TunnelReset: Peer._tunnel_reset,
    events.Resumed: Peer._resumed,
}
