"""The relays of one peer: made when a stream is opened here or offered, told of its events, counted when it ends."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from proxy.iscsi.portals import NearPortals
from proxy.net.arrays import Arrays
from proxy.net.asking import NotExported, granted, names_address
from proxy.net.coders import Carries, CoderFactory, Coders
from proxy.net.ended import Ended, Reasons
from proxy.net.environment import Environment
from proxy.net.fills import Fills
from proxy.net.lanes import Lanes
from proxy.net.lookout import Lookout
from proxy.net.misses import Misses
from proxy.net.reading import Reading
from proxy.net.relay import Relay
from proxy.net.rounds import Rounds
from proxy.net.shares import Shares
from proxy.observe.counters import Traffic
from proxy.observe.refusals import NOT_EXPORTED, Refusals
from proxy.observe.volumes import Volumes
from proxy.protocol import events
from proxy.protocol.codes import Capability, ResetCode
from proxy.protocol.errors import OpenRefused, PeerError
from proxy.protocol.hello import Hello
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.holdings import Holdings, belief_key, recognise
from proxy.reduction.relief import Relief

log = logging.getLogger(__name__)

_OF_RELAYS: dict[type, Callable[[Relay, Any], None]] = {
    events.DataReceived: lambda relay, event: relay.delivery.data(memoryview(event.batch)),
    events.Arrived: lambda relay, event: relay.arrived(),
    events.Consumed: lambda relay, event: relay.consumed(event.consumed),
    events.Recalled: lambda relay, event: relay.recalled(event.consumed, event.limit),
    events.Writable: lambda relay, event: relay.writable(),
    events.StreamEnded: lambda relay, event: relay.delivery.end(event.total, event.tokens),
    events.MissReceived: lambda relay, event: relay.missed(event.names),
    events.FillReceived: lambda relay, event: relay.delivery.filled(event.name, event.codec, event.size, event.data),
}
"""Events about one stream, by type. They are dropped if its relay has ended."""


class Relays:
    """The relays of a peer's live streams, over which it iterates, and what they need of their peer (`RelayOwner`).

    Loop thread.
    """

    def __init__(
        self,
        peer: str,
        environment: Environment,
        tunnel: Tunnel,
        lanes: Lanes,
        shares: Shares,
        *,
        pump: Callable[[], None],
        breach: Callable[[str], None],
    ) -> None:
        """`peer`: its name; `pump` and `breach`: as of `RelayOwner`."""
        self._loop = asyncio.get_running_loop()
        self.streams = tunnel.streams
        self.worker = environment.worker
        self.turns = environment.turns
        self.rounds = Rounds()
        self.pump = pump
        self.breach = breach
        self.reading = Reading()
        self.fills = Fills(self.streams, self.worker, self.reading, pump)
        self.misses = Misses(self.streams.send_miss, pump)
        self.leaving: set[Relay] = set()
        """Relays that have ended in order, whose arrays have not taken the last bytes yet."""
        self.ended = Ended()
        self.refusals = Refusals(self._loop.time)
        """Connections that could not be made, in either direction."""
        self.fallbacks = Reasons()
        """How often an iSCSI stream was not understood and went on as plain bytes, by reason."""
        self.volumes = Volumes()
        """What iSCSI connections, ended and live, have read and written."""
        self._live: dict[int, Relay] = {}
        self._lingering: set[Relay] = set()  # relays that ended while they waited for the store, which refers to them
        self.relief = Relief()
        """How much the peer's store is spared."""
        now = self._loop.time()
        self.lookout = Lookout(peer, self._live, tunnel, lanes, shares, self.relief, environment, now)
        self._peer = peer
        self._tunnel = tunnel
        self._lanes = lanes
        self._shares = shares
        self._environment = environment
        self._most = environment.tunnel_settings.streams
        self._arrays = Arrays(self.refusals, lambda: environment.config.tunnel.connect_timeout)
        self._coder_factory = CoderFactory(environment, tunnel, lambda: len(self._live), self.relief, self.volumes)
        self._holdings: Holdings | None = None
        self._peer_store: tuple[bytes, bytes] | None = None  # identity and epoch of the store that `_holdings` is about
        self._lost = 0  # streams that were reset because the tunnel is being lost

    def __iter__(self) -> Iterator[Relay]:
        return iter(tuple(self._live.values()))

    def __len__(self) -> int:
        return len(self._live)

    # -- what relays need of their peer (RelayOwner) -----------------------------------------------------------

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most, so that none keeps a lane busy for long."""
        return self._lanes.grain

    @property
    def reachable(self) -> bool:
        """A lane is up and not silent."""
        return self._lanes.up

    @property
    def holdings(self) -> Holdings:
        """What the peer's store is believed to hold; known as soon as a stream can exist."""
        assert self._holdings is not None
        return self._holdings

    def gone(self, relay: Relay) -> None:
        """A relay has ended, for the reason that it states. The caller pumps."""
        if self._live.pop(relay.stream, None) is None:
            return
        self._arrays.give_up(relay)
        self.lookout.ended(relay)
        self.fills.drop(relay)
        self.misses.settle(relay.stream)
        if relay.in_order:
            self.leaving.add(relay)
        if relay.delivery.held:
            self._lingering.add(relay)
        self.ended.add(relay)
        log.info("stream %d of %s with %s ended: %s", relay.stream, relay.name, self._peer, relay.reason)

    def left(self, relay: Relay) -> None:
        """A relay's array has everything, or can be given nothing any more."""
        self.leaving.discard(relay)

    # -- what the peer's store holds ---------------------------------------------------------------------------

    def trust_store(self, hello: Hello) -> None:
        """Believe what we remember of the peer's store only if it is still that store (PROTOCOL.md, "What the peer
        holds")."""
        seen = hello.store, hello.epochs[0]
        if seen == self._peer_store:
            return
        store = self.worker.store
        key = belief_key(self._peer, hello.store)
        if not recognise(store, key, hello.epochs):
            log.warning("the store of %s is not the one that we knew: it is believed to be empty", self._peer)
        self._peer_store = seen
        self._holdings = Holdings(store, key)

    @property
    def references_suspended(self) -> bool:
        """True while no references are sent, because the peer lacked too much of what they named."""
        return self._holdings is not None and not self._holdings.reliability.referring

    # -- streams -----------------------------------------------------------------------------------------------

    def open(
        self, forward: str, export: str, origin: str, protocol: Carries = "tcp", portals: NearPortals | None = None
    ) -> tuple[Relay | None, str]:
        """A relay with an open stream for an array's connection, or None and why not.

        `portals`: replaces the addresses that a target names; None: they pass.
        """
        if self._holdings is None:
            return None, f"there is no tunnel to {self._peer} yet"
        if self._untaken:
            return None, self._untaken
        share = self._shares.of_forward(forward)
        try:
            stream = self.streams.open(export, origin, share)
        except OpenRefused as refused:
            return None, str(refused)
        coders = self._coders(stream, share.name, protocol, portals)
        relay = self._live[stream] = Relay(self, stream, forward, origin, coders, opener=True)
        relay.destination = export
        self.pump()
        return relay, ""

    def withdraw(self, share: str, reason: str) -> None:
        """Reset the streams of that forward or export, as its share is named."""
        for relay in self:
            if relay.share == share:
                relay.close(ResetCode.ORIGIN_RESET, reason)
        self.refusals.forget(share)

    @property
    def _untaken(self) -> str:
        """Why no stream may begin: too many that have ended are still kept. Empty if one may."""
        if len(self.leaving) >= self._most:
            return f"the arrays of {self._most} streams that have ended have not taken their last bytes yet"
        if len(self._lingering) >= self._most and len(self._review_lingering()) >= self._most:
            return f"{self._most} streams that have ended still wait for the store"
        return ""

    def _review_lingering(self) -> set[Relay]:
        """Let go of relays that no longer wait for the store; returns those that still do."""
        self._lingering = {relay for relay in self._lingering if relay.delivery.held}
        return self._lingering

    def _coders(self, stream: int, share: str, protocol: Carries | None, portals: NearPortals | None = None) -> Coders:
        fell = partial(self._fell_back, share, protocol)
        return self._coder_factory.coders(stream, self.holdings, protocol, share, fell, portals)

    def _fell_back(self, share: str, protocol: Carries | None, reason: str, recognised: bool) -> None:
        """A stream goes on as plain bytes. This is not counted if the forward carries anything ("auto") and the stream
        has not begun as iSCSI."""
        if protocol == "auto" and not recognised:
            return
        self.fallbacks.count(reason)
        log.warning("%s: an iSCSI connection goes on as plain bytes: %s", share, reason)

    def happened(self, event: Any) -> None:
        """An event of the tunnel that names a stream."""
        kind = type(event)
        if kind not in _OF_RELAYS:
            _OF_STREAMS[kind](self, event)
        elif (relay := self._live.get(event.stream)) is not None:
            _OF_RELAYS[kind](relay, event)

    def _offered(self, event: events.StreamOffered) -> None:
        if names_address(event.export) and not self._tunnel.agreed(Capability.PORTALS):
            raise PeerError(f"OPEN of stream {event.stream}", "it asks for an address, which was not agreed on")
        try:
            export, address = granted(self._environment.exports, self._peer, event.export)
        except NotExported as refused:
            log.warning("peer %s asked for what it may not have: %s", self._peer, refused)
            self.refusals.refused("", "", NOT_EXPORTED, str(refused))
            self.streams.reset(event.stream, ResetCode.NOT_EXPORTED, refused.told)
            return
        if reason := self._untaken:
            log.warning("stream %d of %s with %s is refused: %s", event.stream, export.name, self._peer, reason)
            self.streams.reset(event.stream, ResetCode.TOO_MANY_STREAMS, reason)
            return
        share = self._shares.of_export(export.name)
        self.streams.assign(event.stream, share)
        coders = self._coders(event.stream, share.name, None)
        relay = self._live[event.stream] = Relay(self, event.stream, export.name, event.origin, coders, opener=False)
        relay.destination = str(address)
        self._arrays.connect(relay, address)

    def _accepted(self, event: events.StreamAccepted) -> None:
        log.info("stream %d is connected at %s", event.stream, self._peer)
        if (relay := self._live.get(event.stream)) is not None:
            self.refusals.connected(relay.share, relay.destination)

    def _reset(self, event: events.StreamReset) -> None:
        if (relay := self._live.get(event.stream)) is not None:
            self._lost += not event.remote
            by = f"by {self._peer}: " if event.remote else ""
            if relay.opener and event.remote:
                self.refusals.refused(relay.share, relay.destination, event.code.name.lower(), event.reason)
            relay.close(event.code, f"{by}{event.reason} ({event.code.name.lower()})", tell=False)

    def lose(self, reason: str) -> bool:
        """The tunnel has begun anew: end what is left of its streams. True if there were any."""
        had = bool(self._lost or self._live)
        self._lost = 0
        for relay in self:  # their streams had ended, but the events that say so were dropped
            relay.close(ResetCode.PROTOCOL_ERROR, reason, tell=False)
        return had

    # -- figures -----------------------------------------------------------------------------------------------

    def sample(self, now: float) -> None:
        """Once a second, `now` by the loop's clock: look at what no event tells, and end suspensions of references."""
        for relay in (*self, *self.leaving):
            relay.sample()
        self._review_lingering()
        if self._holdings is not None:
            self._holdings.reliability.tick(now)
        self.relief.tick(self._tunnel.round_trip)
        if (rate := self.worker.rate_of(self.reading)) is not None:
            self._tunnel.tell_store_rate(rate)
            self.pump()
        self.lookout.sample(now)
        self.volumes.sample(now)

    def traffic(self) -> Mapping[str, Traffic]:
        """Of all streams, ended and live, by forward and export, as shares name them."""
        return self.ended.traffic_with(self)


_OF_STREAMS: dict[type, Callable[[Relays, Any], None]] = {
    events.StreamOffered: Relays._offered,
    events.StreamAccepted: Relays._accepted,
    events.StreamReset: Relays._reset,
}
