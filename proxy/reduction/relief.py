"""How much of what a peer's store has to read may be under way to it: where that store leaves the line room.

A store on one hard disk gives a hundred chunks a second where they come in another order than they were stored in, some
megabytes. References to more would only wait there, and the line stand empty. So no more than the store gives in a
moment is under way as references; what comes then goes literally, as if the peer did not hold it, and the line carries
it beside. (Capping, which leaves part of what repeats to be written again: Lillibridge, Eshghi and Bhagwat, FAST 2013,
does it for the order on the disk; here nothing is written again.)
"""

_QUEUE = 0.1
"""Seconds of the store's work that may be under way, beside a round trip. CREDIT says up to 200 ms late what was read,
so a disk rests now and then; but what goes literally waits behind it, and with 0.3 1 Gb/s was a third less full."""
LEAST = 256 << 10
"""Bytes that a stream may have under way in any case, and a batch more: a disk is told of some dozen chunks at once."""
_TRIAL = 10
"""Seconds of relief after which it has to have been worth it."""
_WORTH = 0.3
"""Of the store's rate: where the line carries less, it is left to what is new. References wait behind what goes
literally, so below that a stream is rather slower than without."""
_REST = 60
"""Seconds without relief where it was not worth it."""


class Relief:
    """One peer's, of all streams that send to it. Loop thread. Its seconds are its ticks."""

    def __init__(self, least: int = LEAST) -> None:
        """`least`: bytes that a stream may have under way in any case."""
        self._least = least
        self._round_trip = 0.0
        self.rate = 0
        """Bytes a second that the peer's store gives, as the peer says; 0: it holds nobody up."""
        self.active = False
        """What is under way has a limit."""
        self._streams = 0  # that have references under way
        self._relieved = 0  # bytes, since the last tick
        self._trial = 0  # bytes, since the last judgement
        self._due = 0.0  # bytes that this should be, at least
        self._seconds = 0  # of these, in which there were any
        self._rest = 0  # seconds that are left of one without relief

    def told(self, rate: int) -> None:
        """What the peer says of its store."""
        self.rate = rate
        self.active = rate > 0 and not self._rest

    def note(self, before: int, after: int) -> None:
        """A stream had so many bytes of references under way, and has so many now."""
        self._streams += (after > 0) - (before > 0)

    @property
    def idle(self) -> bool:
        """No stream has references under way."""
        return not self._streams

    def admits(self, known: int) -> bool:
        """True if a stream may have so many bytes of references under way."""
        limit = self.rate * (self._round_trip + _QUEUE) / max(1, self._streams)
        return known <= max(self._least, limit)

    def relieved(self, length: int) -> None:
        """So many bytes went literally that the peer holds."""
        self._relieved += length

    def tick(self, round_trip: float) -> None:
        """Once a second: whether the line carries so much that it is worth it. `round_trip` in seconds."""
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
