"""Limits how many bytes may be under way as references to a peer whose store is slower than the line.

A store on one hard disk gives a hundred chunks a second, some megabytes, if they are wanted in another order than they
were stored in. References to more would only wait there, while the line is empty. So no more than the store gives in a
moment is under way as references; the rest goes literally, as if the peer did not hold it, and the line carries both.
(Capping by Lillibridge, Eshghi and Bhagwat, FAST 2013, writes a part of what repeats again, for the sake of the order
on the disk; here nothing is written again.)
"""

_QUEUE = 0.1
"""Seconds of the store's work that may be under way, besides a round trip. CREDIT says up to 200 ms late what was read,
so a disk rests now and then; but literals wait behind references, and with 0.3 a line of 1 Gb/s was a third less full.
"""
LEAST = 256 << 10
"""Bytes that a stream may have under way in any case, and a batch more: a disk is told of some dozen chunks at once."""
_TRIAL = 10
"""Seconds of relief after which it is judged."""
_WORTH = 0.3
"""Share of the store's rate that literals have to add for relief to be worth it; otherwise the line is left to what is
new. References wait behind literals, so with less a stream would rather be slower than without relief."""
_REST = 60
"""Seconds without relief after it was not worth it."""


class Relief:
    """The relief of one peer's store, for all streams that send to it. Loop thread. Its seconds are its ticks."""

    def __init__(self, least: int = LEAST) -> None:
        """`least`: bytes that a stream may have under way in any case."""
        self._least = least
        self._round_trip = 0.0
        self.rate = 0
        """Bytes a second that the peer's store gives, as the peer says; 0: it holds nobody up."""
        self.active = False
        """Whether references under way are limited."""
        self._streams = 0  # streams that have references under way
        self._relieved = 0  # bytes that went literally since the last tick
        self._trial = 0  # the same since the last judgement
        self._due = 0.0  # what `_trial` has to be, at least
        self._seconds = 0  # seconds since the last judgement in which any did
        self._rest = 0  # seconds that are left without relief

    def told(self, rate: int) -> None:
        """What the peer says of its store."""
        self.rate = rate
        self.active = rate > 0 and not self._rest

    def note(self, before: int, after: int) -> None:
        """A stream had `before` bytes of references under way, and has `after` now."""
        self._streams += (after > 0) - (before > 0)

    @property
    def idle(self) -> bool:
        """No stream has references under way."""
        return not self._streams

    def admits(self, known: int) -> bool:
        """True if a stream may have `known` bytes of references under way."""
        limit = self.rate * (self._round_trip + _QUEUE) / max(1, self._streams)
        return known <= max(self._least, limit)

    def relieved(self, length: int) -> None:
        """`length` bytes that the peer holds went literally."""
        self._relieved += length

    def tick(self, round_trip: float) -> None:
        """To be called once a second: judge whether relief is worth it. `round_trip` in seconds."""
        self._round_trip = round_trip
        self._rest = max(0, self._rest - 1)
        if self._relieved:
            self._seconds += 1
            self._trial += self._relieved
            self._due += _WORTH * self.rate
            self._relieved = 0
        if self._seconds >= _TRIAL:
            if self._trial < self._due:
                self._rest = _REST
            self._trial, self._due, self._seconds = 0, 0.0, 0
        self.told(self.rate)
