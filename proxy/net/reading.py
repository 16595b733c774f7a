"""Measures at what rate the store gives chunks to one peer's streams: bytes given, by the time its disk was read."""

_FADES = 0.5
"""Part of the counts that is kept for the next second, as long as they are too small to tell a rate."""
_WAITED = 0.25
"""Seconds of waiting that it takes to call the store slow, or slower than before: a few loads say little."""
_GAVE = 1 << 20
"""Bytes that it takes to call the store fast, or faster than before."""
_LEAST = 64 << 10
"""Bytes a second: the lowest rate that the peer is told, since below it the disk does not answer at all."""
FAST = 32e6
"""Bytes a second from which on a store counts as holding nobody up: a disk that is read in order gives more."""
_NEWS = 0.2
"""Part of the rate that the peer was told last, by which a new rate has to differ to be told."""
_AGAIN = 10.0
"""Seconds after which a rate is told all the same: of two STORE frames by different lanes the first may come last."""


class Reading:
    """The rate for one peer. Loop thread.

    `disk`: for how many seconds the reader's thread has been at the store's disk so far, for any peer. Of the time that
    loads wait only these seconds count. While the thread rests, loads wait for the loop: where many streams keep the
    loop busy there is always a load that the thread has not been given yet, and a fast disk would seem slow.
    """

    def __init__(self) -> None:
        self._loads = 0  # loads that wait, or are under way
        self._since = 0.0  # `disk`, when the first of these loads began to wait, or when waiting was last counted
        self._waited = 0.0
        self._gave = 0.0
        self._said = 0
        self._say_again = float("inf")

    @property
    def idle(self) -> bool:
        """No load waits, or is under way."""
        return not self._loads

    def begins(self, disk: float) -> None:
        """A load is asked for."""
        if not self._loads:
            self._since = disk
        self._loads += 1

    def ended(self, disk: float) -> None:
        """A load has ended."""
        self._count(disk)
        self._loads -= 1

    def gave(self, length: int) -> None:
        """So many bytes came from the store, from its memory or its disk."""
        self._gave += length

    def rate(self, disk: float, now: float) -> int | None:
        """Once a second: the store's rate in bytes a second, 0 if it holds nobody up. None if the rate is not known, or
        the peer was lately told about the same.

        The rate is all bytes that streams were given, by the time for which loads waited. So a stream that is held up
        by something else does not make the store seem slow, but one that is given much from memory may make it seem
        fast for all. `now` in seconds, monotonic.
        """
        self._count(disk)
        rate, known = self._rate, self._known
        kept = 0.0 if known else _FADES  # reads in order say nothing of scattered reads, nor conversely
        self._gave *= kept
        self._waited *= kept
        if not known or (abs(rate - self._said) <= _NEWS * self._said and now < self._say_again):
            return None
        self._said, self._say_again = rate, now + _AGAIN
        return rate

    @property
    def _rate(self) -> int:
        if self._gave >= FAST * self._waited:
            return 0
        return max(_LEAST, round(self._gave / self._waited))

    @property
    def _known(self) -> bool:
        """True if the counts are large enough to tell `_rate`."""
        rate, said = self._rate or FAST, self._said or FAST
        return (rate <= said and self._waited >= _WAITED) or (rate >= said and self._gave >= _GAVE)

    def _count(self, disk: float) -> None:
        if self._loads:
            self._waited += max(0.0, disk - self._since)
            self._since = disk
