"""What one peer's streams have from the store, how long they wait for its disk, and so what rate it gives."""

_HALVED = 0.5
"""What was counted before weighs so much in each second that adds to it."""
_WAITED = 0.25
"""Seconds of waiting from which on a rate is known; with less, all that came from the store has to be `_GAVE`."""
_GAVE = 8 << 20
"""Bytes."""
_LEAST = 64 << 10
"""Bytes a second: less is not said, since then the disk does not answer at all."""
FAST = 64e6
"""Bytes a second from which on a store counts as holding nobody up: a disk that is read in order gives more."""
_NEWS = 0.2
"""Part of the rate that was said last by which another one has to differ to be said."""
_AGAIN = 10.0
"""Seconds after which it is said again all the same: of two that went by different lanes the first may come last."""


class Reading:
    """One peer's. Times in seconds, monotonic. Loop thread."""

    def __init__(self) -> None:
        self._loads = 0  # that wait, or are under way
        self._since = 0.0  # when the first of these began to wait; or up to when that was counted
        self._waited = 0.0
        self._gave = 0
        self._said = 0
        self._say_again = float("inf")

    @property
    def idle(self) -> bool:
        """No load waits, or is under way."""
        return not self._loads

    def begins(self, now: float) -> None:
        """A load is asked for."""
        if not self._loads:
            self._since = now
        self._loads += 1

    def ended(self) -> None:
        """A load has ended; that may be told late, while the loop is busy."""
        self._loads -= 1

    def read(self, began: float, ended: float) -> None:
        """The disk was read meanwhile, for whomever, and this peer's loads waited for it.

        While the disk rests they wait for the loop. Were that counted, a fast disk would seem slow where many streams
        keep the loop busy, since there is always a load that it has not been told of.
        """
        if self._loads:
            self._waited += max(0.0, ended - max(began, self._since))
            self._since = max(self._since, ended)

    def gave(self, length: int) -> None:
        """So many bytes came from the store, from its memory or its disk."""
        self._gave += length

    def rate(self, now: float) -> int | None:
        """Once a second: at what rate it gives, 0 if it holds nobody up; None if that is not known, or was said lately.

        While streams wait for the disk, and what they are given meanwhile: so a stream that is held up by something
        else does not make the store seem slow.
        """
        if self._waited < _WAITED and self._gave < _GAVE:
            return None
        rate = self._gave / self._waited if self._waited else FAST
        self._gave = int(self._gave * _HALVED)
        self._waited *= _HALVED
        said = 0 if rate >= FAST else max(_LEAST, round(rate))
        if abs(said - self._said) <= _NEWS * self._said and now < self._say_again:
            return None
        self._said, self._say_again = said, now + _AGAIN
        return said
