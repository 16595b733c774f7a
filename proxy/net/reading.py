"""What one peer's streams have from the store, how long its disk was read meanwhile, and so what rate it gives."""

_FADES = 0.5
"""Part of what was counted that is kept for the next second while it is too little to say anything."""
_WAITED = 0.25
"""Seconds of waiting from which on the store may be called slow, or slower: a few loads say little."""
_GAVE = 1 << 20
"""Bytes from which on it may be called fast, or faster."""
_LEAST = 64 << 10
"""Bytes a second: less is not said, since then the disk does not answer at all."""
FAST = 32e6
"""Bytes a second from which on a store counts as holding nobody up: a disk that is read in order gives more."""
_NEWS = 0.2
"""Part of the rate that was said last by which another one has to differ to be said."""
_AGAIN = 10.0
"""Seconds after which it is said again all the same: of two that went by different lanes the first may come last."""


class Reading:
    """One peer's. Loop thread.

    `disk`: for how many seconds the reader has been at the store's disk so far, for whomever. Only that counts of the
    time that loads wait: while it rests they wait for the loop, and a fast disk would seem slow where many streams keep
    the loop busy, since there is always a load that it has not been told of.
    """

    def __init__(self) -> None:
        self._loads = 0  # that wait, or are under way
        self._since = 0.0  # `disk`, when the first of these began to wait, or was last counted
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
        """Once a second: at what rate it gives, 0 if it holds nobody up; None if that is not known, or was said lately.

        All that streams were given, by the time for which loads waited: so a stream that is held up by something else
        does not make the store seem slow, but one that has much from memory may make it seem fast for all. `now` in
        seconds, monotonic.
        """
        self._count(disk)
        rate, known = self._rate, self._known
        kept = 0.0 if known else _FADES  # what came in order says nothing of what comes in another one, nor conversely
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
        """What was counted is enough to say so."""
        rate, said = self._rate or FAST, self._said or FAST
        return (rate <= said and self._waited >= _WAITED) or (rate >= said and self._gave >= _GAVE)

    def _count(self, disk: float) -> None:
        if self._loads:
            self._waited += max(0.0, disk - self._since)
            self._since = disk
