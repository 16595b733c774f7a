"""For how long something that failed, or was looked at, is not tried again."""

from collections.abc import Callable


class Pause:
    """Twice as long each time in a row. A clock that is set back ends it. Not safe by itself."""

    def __init__(self, clock: Callable[[], float], first: float, longest: float) -> None:
        """Seconds, as `clock` tells them. It has not begun."""
        self._clock = clock
        self._first = first
        self._longest = longest
        self._since = self._seconds = 0.0

    @property
    def holds(self) -> bool:
        """True until it is over."""
        return 0 <= self._clock() - self._since < self._seconds

    def begin(self) -> None:
        """It begins, now."""
        self._seconds = min(2 * self._seconds or self._first, self._longest)
        self._since = self._clock()

    def repeat(self) -> None:
        """It begins anew, as long as it was."""
        self._since = self._clock()

    def end(self) -> None:
        """All is well: the next one is the first in a row."""
        self._seconds = 0.0
