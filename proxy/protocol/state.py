"""A tunnel's state, named by two halves: its streams, what they receive and send, and what they hold together."""

from collections import deque
from collections.abc import Iterable, Iterator

from proxy.protocol.admission import Admission
from proxy.protocol.announcements import Announcements
from proxy.protocol.awaiting import Awaiting
from proxy.protocol.codes import DATA, RESET, WAIVE, Capability, FrameType, ResetCode
from proxy.protocol.copies import Copies
from proxy.protocol.credit import WIDE, SendCredit, Trust
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.events import Arrived, Consumed, Event, StreamReset
from proxy.protocol.figures import TunnelFigures
from proxy.protocol.foretold import Foretelling, Foretold
from proxy.protocol.frames import OVER, decode_reset, encode_reset
from proxy.protocol.hello import Agreement
from proxy.protocol.incoming import Incoming, KeptLedger
from proxy.protocol.notices import Notices
from proxy.protocol.outgoing import Outgoing, SendLedger, Sent
from proxy.protocol.reader import HEADER_BYTES, Frame
from proxy.protocol.recall import Recall
from proxy.protocol.scheduler import Scheduler
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.share import PLAIN, Share
from proxy.protocol.stream import STREAM_RESET, State, Stream
from proxy.protocol.table import StreamTable
from proxy.protocol.window import ReceiveWindow, WindowBudget
from proxy.protocol.writes import Writes


class TunnelState:
    """What two paired sites share. A new one is made whenever it is given up. `now` is in seconds, on any one clock.

    `Tunnel` hands it what the peer sends, and asks it for what lanes carry; the driver acts on it through `Streams`.
    """

    def __init__(
        self,
        settings: TunnelSettings,
        odd: bool,
        events: deque[Event],
        figures: TunnelFigures,
        scheduler: Scheduler,
        announcements: Announcements,
        *,
        initial_credit: int,
    ) -> None:
        """`odd`: our streams have odd numbers. Events are appended to `events`; `scheduler` has no streams yet.

        `initial_credit`: what each stream of the peer begins with, as HELLO offers it: it stays, whatever is allotted.
        """
        self.agreement: Agreement | None = None
        """What follows from the HELLOs; None before the first lane has joined."""
        self.lanes_seen = 0
        """How many lanes there have been: with the second one frames may come twice."""
        self.scheduler = scheduler
        self._settings = settings
        self._initial = initial_credit
        self._events = events
        self._figures = figures
        self._table = StreamTable(odd, settings.streams)
        self.live = self._table.live
        self._budget = WindowBudget(settings.memory)
        self.admission = Admission(settings.streams, initial_credit, self._table, self._budget, announcements)
        self.ledger = SendLedger(settings.unacked_max)
        self._kept = KeptLedger()
        self._foretelling = Foretelling(self._budget, self._initial, settings.opening_max)
        self.notices = Notices(self._foretelling)
        self._foretold = Foretold()
        self._recall = Recall(settings.rest, self._budget, self.live, self.notices)
        self.copies = Copies(scheduler, figures)
        self.trust = Trust(WIDE * settings.memory)
        self.awaiting = Awaiting(self.ledger, self.live, events)
        self._ask_at = 0.0
        self._held_back: set[Stream] = set()  # streams whose next frame has to wait for acknowledgements

    @property
    def round_trip(self) -> float:
        """Seconds, as far as it is known: 0 before."""
        return self._figures.round_trip or 0.0

    def agreed(self, capability: Capability) -> bool:
        """True if both sites have that capability; False while that is not known."""
        return self.agreement is not None and capability in self.agreement.capabilities

    def allot(self, settings: TunnelSettings) -> None:
        """Have so much memory, and windows so large, from now on. What streams hold beyond that comes back in time."""
        self._settings = settings
        self._budget.total = settings.memory
        self.ledger.maximum = settings.unacked_max
        self.trust.allot(WIDE * settings.memory)
        self._foretelling.allow(settings.opening_max)
        for stream in self.live.values():
            stream.incoming.window.allow(settings.window_max)
            stream.outgoing.credit.allow(settings.window_max)
        self.awaiting.look_at_all()

    def pace(self, settings: TunnelSettings, now: float) -> None:
        """Ask as often as these settings say from now on."""
        self._settings = settings
        self._ask_at = min(self._ask_at, now + settings.keepalive)

    # -- one stream ----------------------------------------------------------------------------------------------

    def find(self, number: int) -> Stream | None:
        """The stream; None if it has ended (an event tells of that). Raises Misuse if there never was one."""
        stream = self.live.get(number)
        if stream is None and self._table.was_never(number):
            raise Misuse(f"there never was a stream {number}")
        return None if stream is None or stream.state is STREAM_RESET else stream

    def find_sending(self, number: int) -> Stream | None:
        """As `find`, for a stream that is to send DATA, END or WAIVE. Raises Misuse also if it may not send yet."""
        stream = self.find(number)
        if stream is not None and not stream.may_send:
            raise Misuse(f"stream {number} is {stream.state.name.lower()}: it cannot send yet")
        return stream

    def begin(self, number: int, *, own: bool, share: Share = PLAIN, refused: bool = False) -> Stream:
        """Make a stream. `refused`: it gets no credit, since none was reserved, and the caller resets it at once."""
        assert self.agreement is not None
        lean, most = self.agreed(Capability.LEAN), self._settings.window_max
        credit = max(self.agreement.initial_credit, min(most, self._foretold.opened(number)))
        outgoing = Outgoing(self.ledger, SendCredit(credit, most, self.trust), lean=lean)
        if refused:
            self._budget.reserve(0)  # as `ReceiveWindow.close` will release it
        window = ReceiveWindow(self._budget, 0 if refused else self._initial, most, self._foretelling.met(number))
        stream = Stream(number, own, outgoing, Incoming(self._kept, window, lean=lean), self.scheduler.account(share))
        self._table.add(stream)
        self._foretell()
        return stream

    def widen(self, stream: Stream, now: float) -> None:
        """The stream is open: grant it more than it began with, if there is memory for that.

        The acceptor says so with its ACCEPT. The opener has nothing else to say then, and says it soon: many streams
        are over before, and who uses up what it began with is told when a quarter of that was taken.
        """
        if stream.incoming.window.widen(self._settings.opening_window):
            self.notices.credit(stream.number, now, due=not stream.own, soon=True)

    def push(self, stream: Stream, kind: FrameType, payload: bytes, now: float) -> None:
        """Queue a frame that costs no credit."""
        stream.outgoing.push_control(kind, payload)
        self.scheduler.add(stream, now)

    def reset(self, stream: Stream, code: ResetCode, reason: str, now: float) -> None:
        """End both directions of the stream at once, and have the peer told."""
        self._table.reset(stream, encode_reset(code, reason))
        self.scheduler.add(stream, now)
        self.awaiting.released()

    def settle(self, stream: Stream) -> None:
        """Forget the stream if nothing is left to be done for it."""
        if stream.over:
            self._forget(stream)

    def note_taken(self, stream: Stream, now: float) -> None:
        """If the peer's array has ended its side and ours has taken everything, tell the peer at once, and forget the
        stream if it is over, which it is if the peer's array has taken everything as well."""
        if stream.received_all:
            self.notices.acknowledge([stream.number])
            if stream.incoming.window.untold:
                self.notices.credit(stream.number, now)
            self.settle(stream)

    # -- the peer's side -----------------------------------------------------------------------------------------

    def receive(self, frame: Frame, now: float) -> None:
        """A numbered frame has come. Raises PeerError."""
        stream = self.live.get(frame.stream)
        if stream is None:
            stream = self._meet(frame, now)
            if stream is None:
                return
        if stream.state is STREAM_RESET:
            self._receive_after_reset(stream, frame)
        elif stream.incoming.has(frame.number):
            self._receive_again(stream, frame, now)
        elif frame.type == RESET:
            self._receive_reset(stream, frame)
            self.after_acks(now)  # what it had unacknowledged counts no more, as if it had been acknowledged
        else:
            self.notices.arrived(stream.number, len(frame.payload), now)
            self._receive_new(stream, frame, now)

    def recognise(self, acks: Iterable[tuple[int, int]]) -> None:
        """The first ACK of a lane, said after all others that have come. Raises PeerError if the peer lacks what it
        has acknowledged: its machine was set back, memory and all, and what it would send is of the past as well."""
        for number, next_ in acks:
            stream = self.live.get(number)
            if stream is not None and next_ < (before := stream.outgoing.acked):
                words = f"frames below {before} of stream {number} were acknowledged before, now those below {next_}"
                raise PeerError("ACK", f"{words}: the site was set back to a former state")

    def acknowledged(self, number: int, next_: int) -> int | None:
        """Take an entry of ACK. Returns a lane that has brought what it acknowledges, if known. Raises PeerError."""
        stream = self.live.get(number)
        if stream is None:
            self._acknowledged_unknown(number, next_)
            return None
        if next_ == OVER:
            self._told_over(stream)
            return None
        brought = stream.outgoing.acknowledge(next_)
        if stream.awaits_ack:
            stream.awaits_ack = False
            self._events.append(Arrived(number))
        self.settle(stream)
        return brought

    def after_acks(self, now: float) -> None:
        """All entries of an ACK have been taken: streams that waited for acknowledgements may go on."""
        for stream in self._held_back:
            self.scheduler.add(stream, now)
        self._held_back.clear()
        self.awaiting.released()

    def credited(self, number: int, consumed: int, limit: int) -> None:
        """Take an entry of CREDIT. Raises PeerError."""
        self._budget.peer_window = max(self._budget.peer_window, limit - consumed)
        stream = self.live.get(number)
        if stream is None:
            self._credited_unknown(number, consumed, limit)
            return
        if stream.state is STREAM_RESET:
            return
        if stream.outgoing.credit.update(consumed, limit):
            self._events.append(Consumed(number, consumed))
        if self.agreed(Capability.WAIVERS):
            self._recall.heard(stream, consumed, limit)
        self.awaiting.look(stream)
        self.settle(stream)

    def after_credits(self) -> None:
        """All entries of a CREDIT have been taken."""
        self._events.extend(self._recall.told())

    # -- lanes ---------------------------------------------------------------------------------------------------

    def take(self, writes: Writes, now: float) -> None:
        """Put the frames that go next into `writes`, until these are full, or all that is left waits for a cap."""
        scheduler = self.scheduler
        while writes.open and (stream := scheduler.next(now, writes.urgent, writes.bulk)) is not None:
            urgent = scheduler.gave_urgent
            write = writes.first(stream.account.share.mark, urgent=urgent)
            outgoing = stream.outgoing
            sent = self._next_frame(outgoing, write.lane)
            if sent is None:
                scheduler.passed(stream)
                if outgoing.waiting:
                    self._held_back.add(stream)
                continue
            overhead = write.overhead
            write.pieces += sent.pieces(stream.number)
            size = HEADER_BYTES + len(sent.payload)
            scheduler.sent(stream, size + overhead, now)
            writes.took(write, size)
            if urgent and write.copy_lanes:
                self.copies.place(writes, write, stream, size, now)
            if stream.awaits_room:
                self.awaiting.look(stream)

    def _next_frame(self, outgoing: Outgoing, lane: int) -> Sent | None:
        """The stream's next frame: what a lost lane may not have delivered goes before what is new."""
        sent = outgoing.take_again(lane) if outgoing.again else None
        if sent is None:
            return outgoing.take_new(lane)
        self._figures.retransmitted += 1
        self._figures.retransmitted_bytes += len(sent.payload)
        return sent

    def greeting(self) -> Iterator[bytes]:
        """What a new lane begins with."""
        self._foretell()
        return self.notices.greeting(self.live)

    def lane_lost(self, lane: int, now: float) -> None:
        """What went by that lane may not have arrived: send our frames again, and repeat ACK and CREDIT."""
        for stream in self.live.values():
            if stream.outgoing.lane_lost(lane):
                self.scheduler.add(stream, now)
        self.notices.repeat_all(self.live)

    def tick(self, now: float) -> None:
        """Time has passed. Among other things, ask about streams that only wait to hear that they are over.

        That word may have been lost with a lane. The peer has forgotten such a stream, and does not repeat it unasked.
        """
        if now >= self._ask_at:
            self._ask_at = now + self._settings.keepalive
            self.notices.acknowledge(number for number, stream in self.live.items() if stream.waits_for_end)
        if self.agreed(Capability.WAIVERS):
            self._recall.tick(now)
        self.notices.tick(now)

    def lose(self, code: ResetCode, reason: str) -> None:
        """Report every stream as reset; this object is dropped afterwards."""
        for number, stream in self.live.items():
            if stream.state not in (STREAM_RESET, State.IDLE):
                self._events.append(StreamReset(number, code, reason, remote=False))

    def gauge(self) -> None:
        """Bring the sizes among the figures up to date."""
        self._figures.streams = len(self.live)
        self._figures.unacked_bytes = self.ledger.held
        self._figures.kept_bytes = self._kept.total
        self._figures.credit_bytes = self._budget.reserved
        self._figures.foretold_bytes = self._foretelling.more

    # -- receiving -----------------------------------------------------------------------------------------------

    def _meet(self, frame: Frame, now: float) -> Stream | None:
        """The stream that the frame begins. None if it begins none: it is late, or a RESET. Raises PeerError."""
        number = frame.stream
        self.notices.asked(number)
        if not self._table.was_never(number):
            self._figures.late += 1
            self.notices.over(number)
            return None
        if number == 0 or self._table.is_own(number):
            raise PeerError.of(frame, "that stream was never opened")
        self._table.meet(number)
        if frame.type == FrameType.RESET:
            decode_reset(frame.payload)
            self._foretelling.never(number)
            self._foretell()
            self.notices.over(number)
            return None
        refusal = self.admission.admit_theirs()
        stream = self.begin(number, own=False, refused=refusal is not None)
        if stream.incoming.window.limit > self._initial:
            self.notices.credit(number, now)  # it begins with what was foretold, of which the peer may not have heard
        if refusal:
            self.reset(stream, *refusal, now)
        return stream

    def _receive_new(self, stream: Stream, frame: Frame, now: float) -> None:
        incoming = stream.incoming
        plain = incoming.charge(frame, now, self.round_trip)
        if frame.number != incoming.expected:
            incoming.keep(frame, plain)
            if incoming.press():
                self.notices.credit(stream.number, now)
            return
        self._deliver(stream, frame, plain, now)
        while (kept := incoming.next_kept()) is not None:
            self._deliver(stream, *kept, now)

    def _deliver(self, stream: Stream, frame: Frame, plain: int, now: float) -> None:
        if frame.type == WAIVE and not self.agreed(Capability.WAIVERS):
            raise PeerError.of(frame, "it was not agreed on")
        event = stream.deliver(frame, plain)
        if event is not None:
            self._events.append(event)
        if frame.type == DATA:
            return
        window = stream.incoming.window
        if frame.type == FrameType.END:
            window.end()
            self.note_taken(stream, now)
        elif frame.type == WAIVE:
            if window.bare:
                self.notices.credit(stream.number, now)
        elif frame.type == FrameType.ACCEPT:
            self.widen(stream, now)
            self.awaiting.look(stream)

    def _receive_again(self, stream: Stream, frame: Frame, now: float) -> None:
        if self.lanes_seen < 2:
            raise PeerError.of(frame, "it came before, and there was only one lane")
        self._figures.duplicates += 1
        self.notices.repeated(stream.number, now)

    def _receive_reset(self, stream: Stream, frame: Frame) -> None:
        code, reason = decode_reset(frame.payload)
        if stream.state is not State.IDLE:
            self._events.append(StreamReset(stream.number, code, reason, remote=True))
        self._forget(stream)

    def _receive_after_reset(self, stream: Stream, frame: Frame) -> None:
        """We have reset the stream: the peer's own RESET ends it. Anything else is dropped, since RESET answers it."""
        if frame.type == FrameType.RESET:
            decode_reset(frame.payload)
            self._forget(stream)

    def _credited_unknown(self, number: int, consumed: int, limit: int) -> None:
        if not self._table.was_never(number):
            return
        if consumed:
            raise PeerError("CREDIT", f"stream {number} was never opened")
        if self._table.is_own(number):
            self._foretold.heard(number, limit)

    def _acknowledged_unknown(self, number: int, next_: int) -> None:
        if self._table.was_never(number):
            if next_:
                raise PeerError("ACK", f"stream {number} was never opened")
        elif next_ != OVER:
            self.notices.asked(number)
            self.notices.over(number)

    def _told_over(self, stream: Stream) -> None:
        """The peer says that the stream is over: it has our RESET, or both arrays have everything."""
        credit = stream.outgoing.credit
        if stream.state is not STREAM_RESET:
            if not stream.waits_for_end:
                raise PeerError("ACK", f"stream {stream.number} is said to be over, but has not ended")
            if credit.consumed < credit.sent:
                self._events.append(Consumed(stream.number, credit.sent))
        self._forget(stream, tell=False)

    # -- common --------------------------------------------------------------------------------------------------

    def _foretell(self) -> None:
        """Set aside what the peer's next stream may begin with, and have a CREDIT say so, if there is anything new."""
        if self._foretelling.speak(self._table.next_theirs):
            self.notices.foretold()

    def _forget(self, stream: Stream, *, tell: bool = True) -> None:
        """Hold nothing of the stream any more. `tell`: tell the peer that it is over. (It may have said so itself.)"""
        self._table.forget(stream)
        self._held_back.discard(stream)
        self.scheduler.remove(stream)
        if tell:
            self.notices.over(stream.number)
        self._foretell()
        self.awaiting.released()
