"""The tunnel to one peer: lanes come and go, streams live on. With `Tunnel.streams` this is all that a driver calls.

The driver reports lanes (`join`, `lane_up`, `lane_down`), frames (`receive`) and time (`tick`), drains `next_event`
after each, and writes what `take` gives for each lane. All methods return at once. `now` is in seconds on any one
monotonic clock; methods that have no such argument, and those of `streams`, use the latest that was given.
"""

import os
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from proxy.protocol.announcements import Announcements
from proxy.protocol.codes import FATAL, FIRST_NUMBERED, LAST, Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.errors import HelloRefused, Misuse, PeerError
from proxy.protocol.events import (
    OUTLIVING,
    Event,
    LaneClosed,
    LaneDead,
    LaneSilent,
    LanesWished,
    PeerDraining,
    Resumed,
    StoreRate,
    TunnelReset,
)
from proxy.protocol.figures import TunnelFigures
from proxy.protocol.frames import (
    decode_ack,
    decode_close,
    decode_credit,
    decode_drain,
    decode_lanes,
    decode_store,
    decode_token,
)
from proxy.protocol.hello import Agreement, Hello, agree
from proxy.protocol.lanes import Lane, Lanes, smoothed
from proxy.protocol.meter import NEVER
from proxy.protocol.pairing import Pairing
from proxy.protocol.reader import Buffer, Frame, expect_of_tunnel
from proxy.protocol.scheduler import Scheduler
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.share import WIRE, WRITE_OVERHEAD
from proxy.protocol.state import TunnelState
from proxy.protocol.streams import Clock, Streams
from proxy.protocol.writes import Write, Writes


class Tunnel:
    """Everything between this site and one peer. Not thread-safe."""

    def __init__(
        self,
        settings: TunnelSettings,
        local: str,
        peer: str,
        store_identity: bytes,
        store_epochs: Sequence[bytes],
        now: float,
        *,
        random: Callable[[int], bytes] = os.urandom,
        capabilities: Collection[int] = tuple(Capability),
        software: str = "",
        needed: Collection[int] = (),
    ) -> None:
        """`local` and `peer` name the sites; without the `needed` capabilities no lane comes up."""
        self._settings = settings
        self._local = local
        self._peer = peer
        self._store = store_identity
        self._epochs = tuple(store_epochs)
        self._clock = Clock(now)
        self._capabilities = frozenset(capabilities)
        self._software = software
        self._needed = frozenset(needed)
        self.pairing = Pairing(random)
        """Which state lanes belong to."""
        self._offered = (b"", 0)  # our half, and the initial credit that each HELLO with it offers
        self._events: deque[Event] = deque()
        self._figures = TunnelFigures()
        self._announcements = Announcements()
        self.scheduler = Scheduler()
        """Shares and caps; the driver sets rates, and charges bytes that no frame accounts for. It outlives streams."""
        self.streams = Streams(peer, self._clock)
        """What the driver does with streams; also after the tunnel has begun anew."""
        self._begin()
        self.hello()  # so that a wrong name is found at once

    def _begin(self) -> None:
        if self._offered[0] != self.pairing.half:  # a dialler keeps its half where only the answerer has begun anew
            self._offered = self.pairing.half, self._settings.offered_credit
        odd = self._local.encode() < self._peer.encode()
        self.scheduler.clear()
        self._state = TunnelState(
            self._settings,
            odd,
            self._events,
            self._figures,
            self.scheduler,
            self._announcements,
            initial_credit=self._offered[1],
        )
        self.streams.renew(self._state)
        self._lanes = Lanes()
        self._alone_since: float | None = None  # since when it is paired, but without a lane
        self._acknowledged_at = float("-inf")  # when the last ACK came
        self._announcements.forget()

    @property
    def round_trip(self) -> float:
        """The round trip in seconds, averaged; 0 until it is known."""
        return self._state.round_trip

    @property
    def agreement(self) -> Agreement | None:
        """What follows from the HELLOs; None while no pair of halves is known."""
        return self._state.agreement

    def agreed(self, capability: Capability) -> bool:
        """True if both sites have that capability; False while that is not known."""
        return self._state.agreed(capability)

    def allot(self, *, memory: int, unacked_max: int, window_max: int) -> None:
        """Have that much from now on, as `TunnelSettings` says. What streams hold beyond that comes back as they use up
        their windows, rest or end. Raises Misuse."""
        self._settings = replace(self._settings, memory=memory, unacked_max=unacked_max, window_max=window_max)
        self._state.allot(self._settings)

    def pace(self, *, keepalive: float, dead_after: float, grace: float, now: float) -> None:
        """Go by these times from now on, as `TunnelSettings` says. Raises Misuse."""
        self._clock.now = now
        self._settings = replace(self._settings, keepalive=keepalive, dead_after=dead_after, grace=grace)
        self._state.pace(self._settings, now)
        for lane in self._lanes:
            lane.pace(keepalive, dead_after, now)
        self._lanes.reschedule(self._state.round_trip)

    # -- lanes ---------------------------------------------------------------------------------------------------

    def hello(self, mark: int = 0) -> Hello:
        """The HELLO to be sent now on a new lane, whose packets are to carry that DSCP mark."""
        return Hello(
            site=self._local,
            peer=self._peer,
            half=self.pairing.half,
            known_half=self.pairing.other,
            store=self._store,
            epochs=self._epochs,
            initial_credit=self._offered[1],
            streams=self._settings.streams,
            capabilities=self._capabilities,
            software=self._software,
            mark=mark,
        )

    def join(
        self, theirs: Hello, *, dialler: bool, now: float, mine: Hello | None = None, accepted: float | None = None
    ) -> Agreement:
        """The peer's HELLO has come. The answerer calls this before it sends its own.

        A dialler with several lanes under way passes the HELLO that it sent on this one as `mine`, and an answerer when
        it `accepted` the connection, so that a HELLO that another lane has overtaken is noticed. Raises HelloRefused,
        after which the lane has to be closed.
        """
        self._clock.now = now
        agreement = agree(self.hello(), theirs, self._needed)
        if dialler:
            same = self.pairing.answered(mine or self.hello(), theirs, now)
        else:
            same = self.pairing.answer(theirs, now if accepted is None else accepted)
        if not same:
            self._drop(
                ResetCode.PEER_RESTARTED,
                f"{self._peer} has lost its side of the tunnel: it began anew, or its grace was over",
            )
        if self.agreement is not None and agreement != self.agreement:
            reason = f"{self._peer} has changed its settings while streams live: {self.agreement} became {agreement}"
            raise HelloRefused(CloseCode.SETTINGS, reason)
        self._state.agreement = agreement
        if not self._lanes and self._alone_since is None:
            self._alone_since = now
        return agreement

    def lane_up(self, lane: int, now: float, mark: int = 0, began: float | None = None) -> None:
        """A joined lane may carry frames. `lane` is a number that was never used before; `mark` the lane's DSCP.

        `began`: when its connection did, at the latest when our HELLO was sent; as a rule now. Raises Misuse if none
        has joined yet, or the lane is up already.
        """
        if self.agreement is None or lane in self._lanes:
            raise Misuse(f"lane {lane} came up without having joined, or twice")
        self._clock.now = now
        if not self._lanes and self._state.lanes_seen:
            self._events.append(Resumed(lane))
        self._alone_since = None
        self._state.lanes_seen += 1
        since = now if began is None else began
        link = Lane(lane, mark, self._settings.keepalive, self._settings.dead_after, now, since)
        link.tick(now)
        self._lanes.add(link, self._state.round_trip)

    def lane_down(self, lane: int, now: float) -> None:
        """The lane's connection is gone: what it may not have delivered goes by other lanes. May be called twice."""
        self._clock.now = now
        if not self._lanes.remove(lane, self._state.round_trip):
            return
        self._state.lane_lost(lane, now)
        self._announcements.repeat()
        if not self._lanes:
            self._alone_since = now
            self._figures.outages += 1

    def heard(self, lane: int, now: float) -> None:
        """Bytes have come on the lane, but perhaps no whole frame: on a slow link a long one takes its time."""
        if (link := self._lanes.get(lane)) is not None:
            self._lanes.hears(link, now)

    def copy(self, line: float) -> None:
        """Send copies of urgent frames by several lanes, since packets are lost: the line takes `line` bytes a second.

        0: send no copies.
        """
        self._state.copies.want(line, self._clock.now)

    def reserve(self, lanes: int) -> None:
        """Keep up to `lanes` lanes of each mark for urgent frames, as far as one is left for bulk."""
        self._lanes.reserve(lanes)

    @property
    def express(self) -> Collection[int]:
        """Numbers of the lanes that are kept for urgent frames."""
        return self._lanes.express

    def wish(self, counts: Mapping[int, int]) -> None:
        """Tell the peer how many lanes of each mark this side needs for what it sends; the dialler brings them up."""
        self._announcements.wish(counts, bool(self._lanes))

    def tell_store_rate(self, rate: int) -> None:
        """Tell the peer how many bytes a second our store gives of what is referred to; 0: it holds nobody up."""
        self._announcements.tell_store_rate(rate, bool(self._lanes))

    def abandon(self, code: ResetCode, reason: str, now: float) -> None:
        """Give up all streams and lanes; lanes can join the tunnel anew. StreamReset tells of each stream."""
        self._clock.now = now
        if self.agreement is not None:
            self.pairing.renew()
            self._drop(code, reason)

    def _drop(self, code: ResetCode, reason: str) -> None:
        """End all streams and lanes on this side; events about the streams that wait to be given are dropped."""
        kept = [event for event in self._events if isinstance(event, OUTLIVING)]
        self._events.clear()
        self._events.extend(kept)
        self._state.lose(code, reason)
        self._events.extend(LaneDead(lane.number, reason) for lane in self._lanes)
        self._events.append(TunnelReset(reason))
        self._figures.outages += bool(self._lanes)
        self._begin()

    # -- frames in -----------------------------------------------------------------------------------------------

    def receive(self, lane: int, frame: Frame, now: float) -> None:
        """A frame other than HELLO has come on a lane. Frames of a lane that is no longer up are ignored.

        Raises PeerError if the peer broke the protocol. All streams have ended then (events tell), and the lane is to
        be closed with CLOSE 6.
        """
        if (link := self._lanes.get(lane)) is None:
            return
        self._clock.now = now
        self._lanes.hears(link, now)
        try:
            self._receive(link, frame)
        except PeerError as error:
            error = PeerError.of(frame, error.reason)
            self.lane_down(lane, now)
            self.abandon(ResetCode.PROTOCOL_ERROR, str(error), now)
            raise error from None

    def _receive(self, lane: Lane, frame: Frame) -> None:
        kind = frame.type
        if kind > LAST:
            raise PeerError.of(frame, "no such type")
        if not lane.ready and kind not in (FrameType.ACK, FrameType.CLOSE):
            raise PeerError.of(frame, "a lane begins with ACK")
        if kind >= FIRST_NUMBERED:
            self._lanes.note_traffic(lane, self._clock.now)
            self._state.receive(frame, self._clock.now)
            return
        if (handle := _HANDLERS.get(kind)) is None:
            raise PeerError.of(frame, "it may not come here")
        expect_of_tunnel(frame)
        handle(self, lane, frame.payload)

    def _receive_ack(self, lane: Lane, payload: Buffer) -> None:
        if not lane.ready:
            if self._acknowledged_at < lane.began:  # what an ACK of another lane says may be younger than this one
                self._state.recognise(decode_ack(payload))
            lane.begin(self._clock.now)
            self._lanes.assign()
        self._acknowledged_at = self._clock.now
        for number, next_ in decode_ack(payload):
            self._lanes.brought(self._state.acknowledged(number, next_), self._clock.now)
        self._state.after_acks(self._clock.now)

    def _receive_credit(self, lane: Lane, payload: Buffer) -> None:
        for number, consumed, limit in decode_credit(payload):
            self._state.credited(number, consumed, limit)
        self._state.after_credits()

    def _receive_ping(self, lane: Lane, payload: Buffer) -> None:
        lane.pinged(decode_token("PING", payload))
        self._lanes.speaking = True

    def _receive_pong(self, lane: Lane, payload: Buffer) -> None:
        sample = lane.ponged(decode_token("PONG", payload), self._clock.now)
        self._figures.round_trip = smoothed(self._figures.round_trip, sample)
        self._lanes.reschedule(self._state.round_trip)

    def _receive_drain(self, lane: Lane, payload: Buffer) -> None:
        reason = decode_drain(payload)
        if not self._state.admission.peer_refusing:
            self._state.admission.peer_refusing = f"{self._peer} drains: {reason}"
            self._events.append(PeerDraining(reason))

    def _receive_lanes(self, lane: Lane, payload: Buffer) -> None:
        if not self.agreed(Capability.LANES):
            raise PeerError("LANES", "it was not agreed on")
        self._events.append(LanesWished(decode_lanes(payload)))

    def _receive_store(self, lane: Lane, payload: Buffer) -> None:
        if not self.agreed(Capability.STORE_RATE):
            raise PeerError("STORE", "it was not agreed on")
        self._events.append(StoreRate(decode_store(payload)))

    def _receive_close(self, lane: Lane, payload: Buffer) -> None:
        code, reason = decode_close(payload)
        self._events.append(LaneClosed(lane.number, code, reason))
        self.lane_down(lane.number, self._clock.now)
        if code in FATAL:
            self.abandon(FATAL[code], f"{self._peer} closed the tunnel: {reason}", self._clock.now)

    def next_event(self) -> Event | None:
        """The next event, in the order in which they happened; None if that was all."""
        return self._events.popleft() if self._events else None

    # -- frames out ----------------------------------------------------------------------------------------------

    def take(self, rooms: Mapping[int, int], now: float) -> dict[int, list[bytes]]:
        """What to write next, by lane: pieces of whole frames, in order. A frame is one piece or two.

        `rooms`: about how many bytes each lane takes, preferred lanes first. Frames of the tunnel go first, then what
        `Scheduler` gives, each by the first lane that may carry it. There may be events afterwards.
        """
        self._clock.now = now
        lanes = [lane for number in rooms if (lane := self._lanes.get(number)) is not None]
        writes = [self._begin_write(lane, rooms[lane.number]) for lane in lanes]
        if self.scheduler:
            self._state.take(Writes(writes), now)
            for lane, write in zip(lanes, writes, strict=True):
                if write.used:
                    self._lanes.note_traffic(lane, now)
        return {write.lane: write.pieces for write in writes if write.pieces}

    def _begin_write(self, lane: Lane, room: int) -> Write:
        """The lane's write, with frames of the tunnel alone; frames of streams come behind them."""
        lanes, own = self._lanes, self._take_own(lane)
        marks = lanes.marks_of(lane, self.scheduler.accounts)
        write = Write(lane.number, room * lane.ready, own, marks, bulk=lane.number not in lanes.express)
        if self._state.copies.wanted:
            write.copy_lanes = lanes.copy_lanes(lane)
        return write

    def _take_own(self, lane: Lane) -> list[bytes]:
        """Frames of the tunnel. A lane begins with our state, and carries nothing else until the peer's has come on it:
        until then the peer may not know that the lane is up."""
        frames: list[bytes] = []
        state = self._state
        if not lane.greeted:
            lane.greeted = True
            frames += state.greeting()
            frames += self._announcements.greeting()
            self._lanes.note_speaking()
        if lane.ready:
            if lane.outbox:
                frames += lane.outbox
                lane.outbox.clear()
                self._lanes.note_speaking()
            if state.notices.due:
                frames += state.notices.frames(state.live)
            if self._announcements.due:
                frames += self._announcements.frames(self.agreed)
        if frames:
            self.scheduler.charge((sum(map(len, frames)) + WRITE_OVERHEAD) * WIRE, self._clock.now)
        return frames

    @property
    def quiet(self) -> bool:
        """True if `take` has nothing for any lane; cheaper than `wanting`."""
        speaking = self._lanes.speaking or self._state.notices.due or self._announcements.due
        return not (speaking or self.scheduler)

    @property
    def wanting(self) -> Collection[int]:
        """Numbers of the lanes for which `take` has something, though that may have to wait for a cap."""
        bulk = bool(self.scheduler)
        urgent = bulk and self.scheduler.urgent
        any_lane = urgent or self._state.notices.due or bool(self._announcements.due)
        return self._lanes.wanting(any_lane=any_lane, bulk=bulk)

    # -- time ----------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When `tick` has to be called at the latest; None: not before something else happens."""
        if self._alone_since is not None:
            return self._alone_since + self._settings.grace
        notices = self._state.notices
        deadline = min(self._lanes.deadline, notices.ack_at, notices.credit_at, self.scheduler.again_at)
        return None if deadline == NEVER else deadline

    def tick(self, now: float) -> None:
        """Time has passed: queue PINGs, see silent and dead lanes, make delayed frames due, see the end of grace."""
        self._clock.now = now
        for lane in self._lanes:
            if lane.is_dead(now):
                self._events.append(LaneDead(lane.number, f"nothing was heard for {round(now - lane.heard, 1):g} s"))
                self.lane_down(lane.number, now)
                continue
            lane.tick(now)
            if lane.falls_silent(now, self._state.round_trip):
                self._lanes.assign()
                self._events.append(LaneSilent(lane.number))
        self._lanes.reschedule(self._state.round_trip)
        self._lanes.note_speaking()
        self._state.tick(now)
        self.scheduler.tick(now)
        if self._alone_since is not None and now >= self._alone_since + self._settings.grace:
            reason = f"there was no lane to {self._peer} for {self._settings.grace:.0f} s"
            self.abandon(ResetCode.GRACE_EXPIRED, reason, now)

    # -- draining and figures ------------------------------------------------------------------------------------

    @property
    def peer_drains(self) -> str:
        """Why the peer takes no new stream, if it drains; otherwise empty."""
        return self._state.admission.peer_refusing

    def drain(self, reason: str) -> None:
        """Open and accept no more streams; those that live go on."""
        self._announcements.drain(reason, bool(self._lanes))

    @property
    def figures(self) -> TunnelFigures:
        """The tunnel's counters, and its sizes as of now."""
        self._state.gauge()
        return self._figures


_HANDLERS: dict[int, Callable[[Tunnel, Lane, Buffer], None]] = {
    FrameType.CLOSE: Tunnel._receive_close,
    FrameType.PING: Tunnel._receive_ping,
    FrameType.PONG: Tunnel._receive_pong,
    FrameType.ACK: Tunnel._receive_ack,
    FrameType.CREDIT: Tunnel._receive_credit,
    FrameType.DRAIN: Tunnel._receive_drain,
    FrameType.LANES: Tunnel._receive_lanes,
    FrameType.STORE: Tunnel._receive_store,
}
