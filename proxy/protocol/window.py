"""What the peer may send on a stream, and how that grows (PROTOCOL.md, "Flow control").

A `ReceiveWindow` grows as the array takes the data, out of a `WindowBudget` that all streams of a tunnel share. So what
can be in flight towards us is bounded, whatever the arrays do. `credit` defines costs and plain costs.
"""

from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.hello import CREDIT_MIN

GROWTH_PART = 2
"""The memory divided by this is for windows beyond the initial credit; the rest is for streams to come."""
OPENING_PART = 4
"""The memory divided by this bounds what windows are given when streams are opened (`WindowBudget.spare`)."""
STEP = 4
"""A window grows to so many times its size at once, or to twice where that does not fit."""
CREDIT_PART = 4
"""CREDIT goes when the window divided by this was consumed."""
REST_PART = 4
"""A stream is at rest if within `TunnelSettings.rest` it has used no more than the initial credit divided by this:
mere signs of life."""
ROUND_TRIP_MIN = 0.005
"""Seconds: on a LAN the event loops take longer than the wire, so windows grow as if the round trip were this."""
SMALL_WINDOW = 512 << 10
"""A smaller window does not hold the known data of one turn (2 MiB) and the read after it: where many streams take
turns the sender would rest in each turn, or read less and less at a time."""
SMALL_PACE = 0.2
"""Seconds in which a small window has to be used up to be widened. Not less, since a stream that takes turns with many
others gets its turn only so often."""
SPARED_PART = 8
"""The memory divided by this is kept from small windows: many streams that send little would keep it from one that
needs it."""


class WindowBudget:
    """The credit, in costs, that all streams of a tunnel may be given together.

    At most half of it serves growth, so that there is room for new streams however much the first ones have grown. What
    is foretold for the next stream beyond the initial credit is growth, too.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        """May be changed: what is overdrawn then comes back as streams use up their windows, rest or end."""
        self.reserved = 0
        """What has been given, initial credit and growth."""
        self.grown = 0
        """The part of `reserved` that is growth."""
        self.growers = 0
        """Streams whose use calls for larger windows, whether there was room or not."""
        self.opening = 0
        """The part of `grown` that is not growth by use: foretold, or given to new streams or small windows."""
        self.streams = 0
        self._short = False  # growth was denied, and nothing has been given back since
        self.denied = False
        """Growth was denied since streams at rest were last asked to give credit back (`Recall` clears it)."""
        self.peer_window = CREDIT_MIN
        """The largest window that the peer has granted on any stream, or 64 KiB, since none has less. Its own settings
        let the peer have that much under way as well, but perhaps no more, whatever we grant."""

    @property
    def overdrawn(self) -> bool:
        """More was given than there is: `total` has become less since then."""
        return self.room < 0

    @property
    def short(self) -> bool:
        """Windows have to share the growth evenly: there is not enough for all."""
        return self._short or self.overdrawn

    @property
    def share(self) -> int:
        """An even part of the growth for each stream that grows by use; for each stream if it is overdrawn."""
        return self.total // GROWTH_PART // max(1, self.streams if self.overdrawn else self.growers)

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
        """What small windows may grow by although the round trip does not call for growth."""
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
            self._short = self.denied = True
            return False
        self.grown += n
        self.reserved += n
        return True

    def advance(self, n: int) -> None:
        """Reserve `n` beyond the initial credit, before use calls for it.

        The caller keeps to `spare` for a stream just opened or still to come, and to `plenty` for a small window.
        """
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
        self._short = False

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
        """The caller has reserved `initial` and what was `foretold` from the budget; `close` gives both back. Together
        they may be beyond `maximum`, if that has become less meanwhile."""
        self._budget = budget
        self._initial = initial
        self._maximum = max(initial, maximum)
        self._grown = self._opened = foretold
        self._grower = self.ended = False
        self._pressed = False  # it has grown by `press`, and the peer has not been told
        self._widened = False  # it has grown by `widen`, and the peer has not been told
        self.size = self.limit = initial + foretold
        self.arrived = 0
        self.consumed = 0
        self._told = 0  # `consumed`, as the peer was last told
        self._untold = 0  # plain costs consumed since then
        self._mark = 0  # `consumed` where the window began whose consumption is timed to judge growth
        self._mark_time = float("-inf")  # when that was
        self._last = float("-inf")  # when DATA came last
        self._seen = float("-inf")  # `arrived`, when `rests` was last asked

    def allow(self, maximum: int) -> None:
        """It may grow so large from now on; what has grown beyond that comes down as it is used up."""
        self._maximum = max(self._initial, maximum)

    def arrive(self, cost: int, now: float, round_trip: float) -> None:
        """DATA has come. Raises PeerError if it exceeds the credit. Times in seconds."""
        if self.arrived + cost > self.limit:
            raise PeerError("DATA", f"{cost} exceed the credit: {self.arrived} of {self.limit} were used")
        self.arrived += cost
        pause = now - self._last
        if (pause > SMALL_PACE or self.size >= SMALL_WINDOW) and pause > _pace(round_trip):
            # the time that passed without DATA says nothing about the array
            self._mark, self._mark_time = self.consumed, now
        self._last = now

    def widen(self, size: int) -> bool:
        """The stream is open: grow its window at once up to `size`, as far as there is credit to spare.

        Otherwise a stream over a long line would need many round trips to gather speed. True if the window has grown.
        """
        more = min(min(size, self._maximum) - self.size, self._budget.spare)
        if more < self.size - self._opened:
            return False
        self._advance(more)
        self._widened = True
        return True

    def press(self, kept: int) -> bool:
        """Grow if the peer has nearly used up its credit, and the array has taken nearly all that came.

        `kept`: costs of what waits behind a gap. The array cannot take that yet, so it does not count: then it is the
        line that is slow, and more has to be under way. True if the window has grown.
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
        if self.ended or self.size < self._initial + self._grown:
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

        What was consumed is counted in plain costs, since the peer may keep less known data under way than its credit
        would allow. The window is the one that the peer knows, since ours may be four times as large by now: before a
        quarter of that was consumed, the peer would have used up its credit, and rest.
        """
        return self._untold >= (self.limit - self._told) // CREDIT_PART

    @property
    def due_soon(self) -> bool:
        """True if a CREDIT should go soon: by its own settings the peer may rest, though we gave it credit."""
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
        answers = self.consumed > 0 and not self.ended  # a peer that sent nothing will not (`SendCredit.recalled`)
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
        """True if the peer has given back more than it was asked for: it may have no credit left to send with."""
        return self.limit - self.consumed < self.size

    def end(self) -> None:
        """The peer's END has come: give back what is not needed any more, though the stream may live for long."""
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
        """Grow a small window to SMALL_WINDOW if there is `plenty`. True if it has grown.

        That counts like growth at the opening, and does not make the stream one that grows by use.
        """
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
        """Grow if `fast`: the array took a window in less than two round trips. Where growth is short, share it."""
        if self._grown > self._opened:
            self._note_grower(True)  # as well after a rest, if the peer has not waived what it was asked for
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
