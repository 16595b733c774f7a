"""Windows and their budget under any order of events: what is promised stays within the memory, nobody stands still,
and nothing leaks.

A stream's two directions are the product's (`Outgoing`, `Incoming`), and what joins them is the test's: frames and
CREDIT wait until a rule has them arrive, late ones among them, and what the tunnel would do then is done here.
"""

from collections import deque

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from proxy.protocol.codes import FrameType
from proxy.protocol.credit import TRUST_PART, WIDE, SendCredit, Trust
from proxy.protocol.frames import BATCH_MIN, decode_waive
from proxy.protocol.incoming import Incoming, KeptLedger
from proxy.protocol.outgoing import Outgoing, SendLedger
from proxy.protocol.reader import Frame
from proxy.protocol.window import GROWTH_PART, OPENING_PART, SPARED_PART, ReceiveWindow, WindowBudget
from tests.unit.protocol.playbook import batch

INITIAL = 64 << 10
MAXIMUM = 512 << 10
TOTAL = 1536 << 10
STREAMS = 16
"""Their initial credit leaves less than all growth may come to."""
ROUND_TRIP = 0.01
AT_SPEED, IN_TURNS, SLOWLY = 0.001, 0.05, 0.3
"""Seconds of a turn: several make less than two round trips, or than a small window may take; or one is more."""

SHARES = st.floats(0.0, 1.0)
PACES = st.sampled_from([AT_SPEED, AT_SPEED, IN_TURNS, SLOWLY])
WHICH = st.integers(0, STREAMS)
LATE = st.integers(0, 2)


class Flow:
    """A sender and a receiver, and what is between them."""

    def __init__(
        self, ledgers: tuple[SendLedger, KeptLedger], credit: SendCredit, window: ReceiveWindow, trust: Trust, most: int
    ) -> None:
        self.trust, self.most = trust, most
        self.outgoing = Outgoing(ledgers[0], credit, lean=True)
        self.incoming = Incoming(ledgers[1], window, lean=True)
        self.credit, self.window = credit, window
        self.line: deque[Frame] = deque()
        self.arrived = 0  # frames of DATA that the array has not taken
        self.told: deque[tuple[int, int]] = deque()  # CREDIT on its way
        self.known = 0, credit.limit  # what the sender has heard or was told at the beginning

    # -- the sender

    def send(self, plain: int, length: int) -> None:
        window = self.credit.limit - self.credit.consumed
        most = max(window, WIDE * self.most) if self.trust.wide else window
        self.outgoing.push_data(batch(plain, max(0, length - BATCH_MIN)), plain)
        assert self.credit.under_way <= most, "however well it is reduced"
        self.ship()

    def ship(self) -> None:
        while (sent := self.outgoing.take_new(1)) is not None:
            self.line.append(Frame(sent.kind, 1, sent.number, sent.payload))

    def fill(self, reduced: float, now: float) -> None:
        """Send until it has to rest; the line is faster than the array."""
        self.pass_on(now)
        while not self.rests:
            plain = self.outgoing.room
            self.send(plain, int(plain * reduced))
            self.pass_on(now)

    @property
    def rests(self) -> bool:
        return self.outgoing.room == 0 or self.outgoing.credit_due

    def hear(self, late: int, *, gives: bool) -> None:
        """A CREDIT comes, before so many older ones. `gives`: what it asks for is given back."""
        consumed, limit = self.told[late % len(self.told)]
        del self.told[late % len(self.told)]
        self.credit.update(consumed, limit)
        if gives and self.outgoing.waive(consumed, limit):
            self.ship()

    # -- the receiver

    def arrive(self, frame: Frame, now: float) -> None:
        plain = self.incoming.charge(frame, now, ROUND_TRIP)
        if frame.number != self.incoming.expected:
            self.incoming.keep(frame, plain)
            self.tell(due=self.incoming.press())
            return
        self.deliver(frame, plain)
        while (kept := self.incoming.next_kept()) is not None:
            self.deliver(*kept)

    def deliver(self, frame: Frame, plain: int) -> None:
        assert not self.window.ended, "nothing follows END"
        self.incoming.expected += 1
        if frame.type == FrameType.DATA:
            self.incoming.deliver(frame, plain)
            self.arrived += 1
        elif frame.type == FrameType.WAIVE:
            self.incoming.waive(decode_waive(frame.payload))
            self.tell(due=self.window.bare)
        else:
            self.window.end()

    def take(self, frames: int, now: float) -> None:
        """The array takes so many."""
        for _ in range(frames):
            self.arrived -= 1
            self.incoming.consume(now, ROUND_TRIP)
            self.tell(due=self.incoming.press() or self.window.due)

    def tell(self, *, due: bool) -> None:
        if due:
            self.told.append(self.window.tell())

    # -- both

    def pass_on(self, now: float) -> None:
        """All that is on the line arrives and is acknowledged."""
        while self.line:
            self.arrive(self.line.popleft(), now)
        self.outgoing.acknowledge(self.incoming.expected)

    def drain(self, now: float, late: int = 0, *, gives: bool = True) -> None:
        """The array takes all, and the sender hears of it; see `hear`."""
        self.take(self.arrived, now)
        while self.told:
            self.hear(late, gives=gives)
        self.pass_on(now)

    def close(self) -> None:
        self.outgoing.discard()
        self.incoming.close()


class Windows(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.budget = WindowBudget(TOTAL)
        self.given = 0, 0, 0  # reserved, grown and opening, as of the last step
        self.trust = Trust(TOTAL)
        self.trust.prove(TOTAL)
        self.ledgers = SendLedger(1 << 30), KeptLedger()
        self.live: list[Flow] = []
        self.now = 0.0

    def one(self, which: int) -> Flow:
        return self.live[which % len(self.live)]

    # -- streams

    @initialize(count=st.integers(1, STREAMS))
    def begin_many(self, count: int) -> None:
        for _ in range(count):
            self.begin(most=MAXIMUM, foretold=False)

    @precondition(lambda self: len(self.live) < STREAMS)
    @rule(most=st.sampled_from([MAXIMUM // 2, MAXIMUM]), foretold=st.booleans())
    def begin(self, most: int, foretold: bool) -> None:
        more = self.budget.spare if foretold else 0
        self.budget.advance(more)
        fits = self.budget.reserved + INITIAL <= self.budget.total
        assert self.budget.reserve(INITIAL) == fits
        if not fits:
            self.budget.withdraw(more)
            return
        credit = SendCredit(min(most, INITIAL + more), most, self.trust)
        window = ReceiveWindow(self.budget, INITIAL, MAXIMUM, more)
        self.live.append(Flow(self.ledgers, credit, window, self.trust, most))

    @precondition(lambda self: self.live)
    @rule(which=WHICH, size=st.integers(0, 2 * MAXIMUM))
    def widen(self, which: int, size: int) -> None:
        flow = self.one(which)
        flow.tell(due=not flow.window.ended and flow.window.widen(size))

    @precondition(lambda self: self.live)
    @rule(which=WHICH)
    def end(self, which: int) -> None:
        flow = self.one(which)
        if not flow.outgoing.ended:
            flow.outgoing.push_end(b"")
            flow.ship()

    @precondition(lambda self: self.live)
    @rule(which=WHICH)
    def close(self, which: int) -> None:
        flow = self.one(which)
        flow.close()
        self.live.remove(flow)

    # -- one thing at a time

    @precondition(lambda self: self.live)
    @rule(which=WHICH, share=SHARES, reduced=SHARES)
    def send(self, which: int, share: float, reduced: float) -> None:
        flow = self.one(which)
        plain = int(flow.outgoing.room * share)
        if plain:
            flow.send(plain, int(plain * reduced))

    @precondition(lambda self: self.live)
    @rule(which=WHICH, known=st.integers(0, 512 << 10))
    def send_beside(self, which: int, known: int) -> None:
        """As much as there is room for beside what the peer knows, however badly it is reduced."""
        flow = self.one(which)
        new = flow.outgoing.room_beside(known) if flow.outgoing.room else 0
        if new > 0:
            plain = known + new
            flow.send(plain, min(plain, new + plain // 8 + 256))

    @precondition(lambda self: self.live)
    @rule(which=WHICH, gap=st.booleans(), acknowledged=st.booleans())
    def arrive(self, which: int, gap: bool, acknowledged: bool) -> None:
        """All that is on the line but, where there is a `gap`, the frame that is next in order."""
        flow = self.one(which)
        late = [flow.line.popleft()] if gap and flow.line else []
        while flow.line:
            flow.arrive(flow.line.popleft(), self.now)
        flow.line.extend(late)
        if acknowledged:
            flow.outgoing.acknowledge(flow.incoming.expected)

    @precondition(lambda self: self.live)
    @rule(which=WHICH, share=SHARES)
    def take(self, which: int, share: float) -> None:
        flow = self.one(which)
        flow.take(round(flow.arrived * share), self.now)

    @precondition(lambda self: self.live)
    @rule(which=WHICH)
    def tell(self, which: int) -> None:
        self.one(which).tell(due=True)

    @precondition(lambda self: self.live)
    @rule(which=WHICH, late=LATE, gives=st.booleans())
    def hear(self, which: int, late: int, gives: bool) -> None:
        flow = self.one(which)
        if flow.told:
            flow.hear(late, gives=gives)

    @rule(looks=st.integers(1, 2))
    def recall(self, looks: int) -> None:
        """Whoever rests, from one look to the next, is asked for what it does not use."""
        for _ in range(looks):
            resting = [flow for flow in self.live if flow.window.rests()]
        for flow in resting:
            flow.told.append(flow.window.recall())

    @rule(proven=st.integers(0, TOTAL // TRUST_PART))
    def trust_changes(self, proven: int) -> None:
        self.trust.prove(proven)

    @rule(total=st.sampled_from([INITIAL, TOTAL // 4, TOTAL // 2, TOTAL, 2 * TOTAL]))
    def allot(self, total: int) -> None:
        """The site has other peers, or its file says so."""
        self.budget.total = total

    @rule(seconds=st.sampled_from([AT_SPEED, IN_TURNS, SLOWLY, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    # -- as it goes on a line

    @precondition(lambda self: self.live)
    @rule(
        which=WHICH,
        count=st.sampled_from([1, STREAMS]),
        reduced=SHARES,
        pace=PACES,
        times=st.integers(1, 4),
        late=LATE,
        gives=st.booleans(),
    )
    def take_turns(
        self, which: int, count: int, reduced: float, pace: float, times: int, late: int, gives: bool
    ) -> None:
        """One stream, or several, use up what they have; nobody who has something to send is kept from it."""
        flows = (self.live[which % len(self.live) :] + self.live)[: min(count, len(self.live))]
        for _ in range(times):
            for flow in flows:
                flow.fill(reduced, self.now)
            self.now += pace
            for flow in flows:
                flow.drain(self.now, late, gives=gives)
                assert flow.outgoing.ended or not flow.rests, "there is nothing that it could wait for"

    # -- what always holds

    @invariant()
    def the_memory_is_kept(self) -> None:
        """And growth leaves room: to streams to come; and of what small windows and new streams get without need, to
        those that need it. What was given when there was more comes back, and is not given again."""
        budget, total = self.budget, self.budget.total
        assert sum(map(promised, self.live)) <= budget.reserved == budget.grown + INITIAL * len(self.live)
        assert 0 <= budget.opening <= budget.grown
        assert 0 <= budget.growers <= len(self.live)
        opening = max(total // OPENING_PART, total // GROWTH_PART - total // SPARED_PART)
        most = total, total // GROWTH_PART, opening
        given = budget.reserved, budget.grown, budget.opening
        assert all(now <= max(each, before) for now, each, before in zip(given, most, self.given, strict=True))
        self.given = given

    @invariant()
    def windows_stay_within_their_bounds(self) -> None:
        assert all(INITIAL <= flow.window.size <= MAXIMUM for flow in self.live)

    @invariant()
    def credit_never_shrinks(self) -> None:
        """The sender believes nothing that was not said, and forgets nothing of that."""
        for flow in self.live:
            known = flow.window.limit, flow.credit.limit
            assert flow.credit.sent <= flow.credit.limit <= flow.window.limit
            assert all(now >= before for now, before in zip(known, flow.known, strict=True))
            flow.known = known

    @invariant()
    def nobody_waits_for_ever(self) -> None:
        """A sender that rests has data at the receiver, or a CREDIT to come."""
        for flow in self.live:
            if not flow.outgoing.ended and flow.rests and not (flow.line or flow.arrived or flow.told):
                assert flow.window.due

    # -- the end

    def teardown(self) -> None:
        """Whatever has been, one that is busy gets what the others do not use; then all is given back."""
        for flow in self.live:
            flow.pass_on(self.now)
            flow.drain(self.now)
        if busy := next((flow for flow in self.live if not flow.outgoing.ended), None):
            self.be_busy(busy)
            others = [flow for flow in self.live if flow is not busy and flow.credit.sent]
            assert all(promised(flow) <= INITIAL for flow in others)
            assert busy.window.size == MAXIMUM or busy.window.size > self.budget.room
            assert not self.budget.overdrawn or busy.window.size <= INITIAL + self.budget.share
        for flow in self.live:
            flow.close()
        assert self.trust.under_way == 0
        assert (self.budget.reserved, self.budget.grown, self.budget.opening) == (0, 0, 0)
        assert (self.budget.growers, self.budget.streams) == (0, 0)

    def be_busy(self, busy: Flow) -> None:
        for _ in range(3):
            self.recall(looks=1)
            for flow in self.live:
                if flow is not busy:
                    flow.drain(self.now)
            for _ in range(6):
                busy.fill(1.0, self.now)
                self.now += AT_SPEED
                busy.drain(self.now)


def promised(flow: Flow) -> int:
    """What may still come, or has come and was not taken."""
    window = flow.window
    return (window.arrived if window.ended else window.limit) - window.consumed


TestWindows = Windows.TestCase
