"""Whether a source that has nothing more at the moment has paused, or is only slower than we are."""

HOLD = 0.02
"""Seconds that the bytes of a one-way source may be held, so that chunks complete and batches fill."""

READ_MIN = 16 << 10
"""A smaller read is no bulk: whoever sends it may wait for an answer."""

_EARLY = 8
"""A source is one-way after so many flushes that were each followed by more within HOLD. A real pause halves the count.
"""

_SURE = 64
"""The count goes no higher."""

_IN_VAIN = 256
"""How many more such flushes it takes after a hold that brought nothing."""


class Pace:
    """One stream's source. `now` in seconds, monotonic.

    A flush in the middle of a chunk costs both sides a chunk's verification and some tokens. It must not be put off
    while an array may wait for an answer to what was flushed; where bulk flows one way, nobody does.
    """

    __slots__ = ("_early", "_flushed")

    def __init__(self) -> None:
        self._early = 0  # the count of flushes that came too early; below 0 after a hold in vain
        self._flushed: float | None = None

    @property
    def holds(self) -> bool:
        """True if what has come may wait for more, for HOLD at most."""
        return self._early >= _EARLY

    def received(self, now: float, *, bulk: bool) -> None:
        """The source has sent more."""
        if not bulk:
            self.answered()
        elif self._flushed is not None:
            early = now - self._flushed < HOLD
            self._early = min(self._early + 1, _SURE) if early else min(self._early, self._early // 2)
        self._flushed = None

    def flushed(self, now: float) -> None:
        """Everything that had come was sent."""
        self._flushed = now

    def waits(self, now: float) -> None:
        """Until now there was nothing more to read, so the time without data counts from now."""
        if self._flushed is not None:
            self._flushed = now

    def answered(self) -> None:
        """The far array has sent something: this is a conversation."""
        if self._early > 0:  # noqa: PLR1730 (each answer passes here twice, and a call of min is slow)
            self._early = 0

    def held_in_vain(self) -> None:
        """Nothing came while bytes were held."""
        self._early = -_IN_VAIN
