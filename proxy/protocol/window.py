"""What the peer may send on a stream, and how that grows (PROTOCOL.md, "Flow control").

A `ReceiveWindow` grows as the array takes the data, out of a `WindowBudget` that all streams of a tunnel share, so that
what can be in flight towards us is bounded whatever the arrays do. Costs and plain costs are as of `credit`.
"""

from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.hello import CREDIT_MIN

GROWTH_PART = 2
"""One part in so many of the memory is for windows beyond the initial credit; the rest is for streams to come."""
OPENING_PART = 4
"""One part in so many of the memory is for windows that are wide from the beginning."""
STEP = 4
"""A window grows to so many times its size at once, or to twice where that does not fit."""
CREDIT_PART = 4
"""CREDIT goes when one part in so many of the window was consumed."""
REST_PART = 4
"""A stream is at rest if it has used, within `TunnelSettings.rest`, no more than one part in so many of the initial
credit: signs of life."""
ROUND_TRIP_MIN = 0.005
"""Seconds: on a LAN the event loops take longer than the wire, so windows grow as if the round trip were this."""
SMALL_WINDOW = 512 << 10
"""Less does not take a turn of known data, 2 MiB, and the read after it: where many streams take turns the sender would
rest in each, or read less and less at a time."""
SMALL_PACE = 0.2
"""Seconds in which a small window has to be used up to be widened: a turn comes round only so often."""
SPARED_PART = 8
"""One part in so many of the memory is not for that: many that send little would keep it from one that needs it."""


class WindowBudget:
    """The credit, in costs, that all streams of a tunnel may have been given together.

    Half of it at most serves growth, so that however much the first streams have grown there is room for new ones. What
    the next stream is to begin with beyond the initial credit is growth, too.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.reserved = 0
        """What has been given, initial credit and growth."""
        self.grown = 0
        """Of that, growth."""
        self.growers = 0
        """Streams whose use calls for larger windows, whether there was room or not."""
        self.opening = 0
        """Of the growth, what had not to be shared out: given when streams were opened, or while windows were small."""
        self.streams = 0
        self.short = False
        """Growth was denied, and nothing has been given back since."""
        self.denied = False
        """Growth was denied since streams at rest were last asked to give credit back (`Recall` clears it)."""
        self.peer_window = CREDIT_MIN
        """The largest window that the peer has granted on any stream, or 64 KiB, since none has less. So much it
        may have under way itself by its own settings, but perhaps not more, whatever we grant."""

    @property
    def share(self) -> int:
        """An even part of the growth for each stream that grows by use."""
        return self.total // GROWTH_PART // max(1, self.growers)

    @property
    def spare(self) -> int:
        """What may be given to a stream that has just been opened: half of what is left of a quarter of the memory.

        Not more, since many streams never send much, and credit that the peer was told of cannot be taken back: it can
        only be asked for, and not of a stream that has sent nothing.
        """
        return max(0, min(self.total // OPENING_PART - self.opening, self.room)) // 2

    @property
    def room(self) -> int:
        """What windows may still grow by."""
        return min(self.total // GROWTH_PART - self.grown, self.total - self.reserved)

    @property
    def plenty(self) -> int:
        """What small windows may grow by although a line of this round trip does not call for it."""
        return self.room - self.total // SPARED_PART

    def reserve(self, n: int) -> bool:
        """Reserve a new stream's initial credit. False if it does not fit: the stream has to be refused."""
        if self.reserved + n > self.total:
            return False
        self.reserved += n
        self.streams += 1
        return True

    def grow(self, n: int) -> bool:
        """Reserve `n` beyond a stream's initial credit. False if that does not fit."""
        if n > self.room:
            self.short = self.denied = True
            return False
        self.grown += n
        self.reserved += n
        return True

    def advance(self, n: int) -> None:
        """Reserve `n` beyond the initial credit: no more than `spare` for a stream that has just been opened, or is to
        come, and than `plenty` for a small window."""
        self.grown += n
        self.reserved += n
        self.opening += n

    def withdraw(self, n: int) -> None:
        """Undo that much of `advance`."""
        self.shrink(n)
        self.opening -= n

    def shrink(self, n: int) -> None:
        """Undo that much of `grow`."""
        self.grown -= n
        self.reserved -= n
        self.short = False

    def release(self, n: int) -> None:
        """Undo one `reserve`."""
        self.reserved -= n
        self.streams -= 1


class ReceiveWindow:
    """What the peer may send on one stream, and when it has to be told.

    `arrived` and `consumed` are totals of costs; `limit` is the total that the peer has been told. The budget is
    charged with all that the peer may still send or has sent and the array has not taken: limit - consumed, at least.
    """

    __slots__ = (
        "_budget",
        "_grower",
        "_grown",
        "_initial",
        "_last",
        "_mark",
        "_mark_time",
        "_maximum",
        "_opened",
        "_pressed",
        "_seen",
        "_told",
        "_untold",
        "_widened",
        "arrived",
        "consumed",
        "ended",
        "limit",
        "size",
    )

    def __init__(self, budget: WindowBudget, initial: int, maximum: int, foretold: int = 0) -> None:
        """The caller has had `initial`, and what was `foretold`, reserved from the budget; `close` gives both back."""
        self._budget = budget
        self._initial = initial
        self._maximum = max(initial + foretold, maximum)
        self._grown = self._opened = foretold
        self._grower = self.ended = False
        self._pressed = False  # it has grown by `press`, and the peer has not been told
        self._widened = False  # it has grown by `widen`, and the peer has not been told
        self.size = self.limit = initial + foretold
        self.arrived = 0
        self.consumed = 0
        self._told = 0  # `consumed`, as the peer was last told
        self._untold = 0  # plain costs consumed since then
        self._mark = 0  # growth is judged by how long the array takes for one window beyond this `consumed`
        self._mark_time = float("-inf")
        self._last = float("-inf")  # when DATA came last
        self._seen = float("-inf")  # `arrived`, when `rests` was last asked

    def arrive(self, cost: int, now: float, round_trip: float) -> None:
        """DATA has come. Raises PeerError if it exceeds the credit. Times in seconds."""
        if self.arrived + cost > self.limit:
            raise PeerError("DATA", f"{cost} exceed the credit: {self.arrived} of {self.limit} were used")
        self.arrived += cost
        pause = max(_pace(round_trip), SMALL_PACE if self.size < SMALL_WINDOW else 0.0)
        if now - self._last > pause:  # it says nothing of the array
            self._mark, self._mark_time = self.consumed, now
        self._last = now

    def widen(self, size: int) -> bool:
        """The stream is open: give it at once a window of up to that size, as far as there is credit to spare.

        Otherwise a stream over a long line would gather speed for many round trips. True if it has grown.
        """
        more = min(min(size, self._maximum) - self.size, self._budget.spare)
        if more < self.size - self._opened:
            return False
        self._advance(more)
        self._widened = True
        return True

    def press(self, kept: int) -> bool:
        """Grow if the peer has nearly used up its credit, and the array nearly all that came; True if it has grown.

        `kept`: costs of what waits behind a gap. The array cannot have that, and it is the line that is slow then, so
        more has to be under way.
        """
        if (
            self.ended
            or self._pressed
            or (self._widened and self._budget.streams > 1)  # otherwise the first of many would take all
            or self.limit - self.arrived > self.size // 8
            or self.arrived - self.consumed - kept > self.size // 8
        ):
            return False
        size = self.size
        self._tune(fast=True)
        self._pressed = self.size > size
        return self._pressed

    def consume(self, cost: int, plain_cost: int, now: float, round_trip: float) -> None:
        """The array was given a DATA frame of these costs. Raises Misuse if it has not come."""
        if self.consumed + cost > self.arrived:
            raise Misuse(f"{cost} consumed, but only {self.arrived - self.consumed} arrived")
        self.consumed += cost
        self._untold += plain_cost
        if self.consumed - self._mark >= self.size and not self.ended:
            took = now - self._mark_time
            fast = took < _pace(round_trip)
            if fast or took >= SMALL_PACE or not self._swell():
                self._tune(fast)
            self._mark, self._mark_time = self.consumed, now
        if self._grown:
            self._settle()

    @property
    def idle(self) -> bool:
        """True if the array has taken all that has arrived."""
        return self.consumed == self.arrived

    @property
    def untold(self) -> bool:
        """True if the peer does not know all that was consumed."""
        return self.consumed != self._told

    @property
    def due(self) -> bool:
        """True if a CREDIT should go now: a quarter of the window that the peer knows was consumed since the last one.

        That is counted in plain costs, since the peer may keep less known data under way than its credit would allow;
        and of the window that the peer knows, since it may be four times as large by now: before a quarter of that had
        been consumed the peer would have used up its credit, and rest.
        """
        return self._untold >= (self.limit - self._told) // CREDIT_PART

    @property
    def due_soon(self) -> bool:
        """True if a CREDIT should go soon: the peer may rest, though by our credit it need not (`peer_window`)."""
        return self._untold >= self._budget.peer_window // CREDIT_PART

    def tell(self) -> tuple[int, int]:
        """(consumed, limit) for a CREDIT, which the caller has to send."""
        self._told = self.consumed
        self._untold = 0
        self._pressed = self._widened = False
        if not self.ended:
            self.limit = max(self.limit, self.consumed + self.size)
        return self.consumed, self.limit

    def rests(self) -> bool:
        """True if the stream has more credit than it began with, and has used next to nothing since the last call.

        A stream at rest no longer counts among those that grow by use, until it has used a whole window again.
        """
        rests = self.idle and self.arrived - self._seen <= self._initial // REST_PART
        self._seen = self.arrived
        if rests:
            self._note_grower(False)
        answers = self.consumed > 0 and not self.ended  # a peer that has sent nothing does not (`SendCredit.recalled`)
        return answers and rests and self.limit - self.consumed > self._initial

    def recall(self) -> tuple[int, int]:
        """(consumed, limit) for a CREDIT that asks for all beyond the initial credit; `waive` takes the answer."""
        return self.consumed, self.consumed + self._initial

    def waive(self, amount: int) -> None:
        """The peer gives that much credit back: it counts as sent and consumed. Raises PeerError if it had less."""
        if self.arrived + amount > self.limit:
            raise PeerError("WAIVE", f"{amount} exceed the credit: {self.arrived} of {self.limit} were used")
        self.arrived += amount
        self.consumed += amount
        self._told = self._mark = self.consumed
        self._untold = 0
        self.size = min(self.size, max(self._initial, self.limit - self.consumed))
        self._settle()

    @property
    def bare(self) -> bool:
        """True if the peer has given back more than it was asked for: it may have nothing to go on with."""
        return self.limit - self.consumed < self.size

    def end(self) -> None:
        """All has come: what is left of the window goes back to the budget, though the stream may live for long."""
        self.ended = True
        self._settle()

    def close(self) -> None:
        """The stream is over: everything goes back to the budget."""
        self._budget.shrink(self._grown)
        self._budget.release(self._initial)
        self._budget.opening -= self._opened
        self._note_grower(False)
        self._grown = self._opened = 0

    def _swell(self) -> bool:
        """Be small no longer, if there is plenty: as if the stream had just been opened, which gives it no part in
        growth by use. True if it has grown."""
        more = min(SMALL_WINDOW, self._maximum) - self.size
        if not 0 < more <= self._budget.plenty:
            return False
        self._advance(more)
        return True

    def _advance(self, more: int) -> None:
        self._budget.advance(more)
        self._opened += more
        self._grown += more
        self.size += more

    def _tune(self, fast: bool) -> None:
        """Grow while the array takes a window in less than two round trips; where growth is short, share it."""
        if self._grown > self._opened:
            self._note_grower(True)  # also after a rest, if the peer has kept what it was asked for
        most = self._maximum
        if self._budget.short:
            most = min(most, self._initial + self._budget.share)
            self._budget.denied |= fast and most <= self.size < self._maximum
        if self.size > most:
            self.size = max(most, self.size // 2)
        elif fast and self.size < most:
            most -= self.size
            more = min((STEP - 1) * self.size, most)
            if more > self._budget.room:
                more = min(self.size, most)
            self._note_grower(True)
            if self._budget.grow(more):
                self._grown += more
                self.size += more

    def _settle(self) -> None:
        """Give back growth that neither the window nor the peer's credit nor what has come still needs."""
        held = self.arrived - self.consumed if self.ended else max(self.size, self.limit - self.consumed)
        needed = max(0, held - self._initial)
        if needed < self._grown:
            self._budget.shrink(self._grown - needed)
            self._grown = needed
            opened = min(self._opened, needed)
            self._budget.opening -= self._opened - opened
            self._opened = opened
            self._note_grower(self._grower and needed > opened)

    def _note_grower(self, grower: bool) -> None:
        self._budget.growers += grower - self._grower
        self._grower = grower


def _pace(round_trip: float) -> float:
    """Seconds in which the array has to take a window for it to grow by use."""
    return 2 * max(round_trip, ROUND_TRIP_MIN)
