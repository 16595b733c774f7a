"""Pauses, for whose length something that failed, or was looked at, is not tried again."""

from collections.abc import Callable


class Pause:
    """A pause that is twice as long each time in a row. A clock that is set back ends it. Not thread-safe."""

    def __init__(self, clock: Callable[[], float], first: float, longest: float) -> None:
        """`first`, `longest`: seconds, as `clock` tells them. The pause has not begun yet."""
        self._clock = clock
        self._first = first
        self._longest = longest
        self._since = self._seconds = 0.0

    @property
    def holds(self) -> bool:
        """True from the pause's beginning until it is over."""
        return 0 <= self._clock() - self._since < self._seconds

    def begin(self) -> None:
        """Begin the pause now, twice as long as the one before."""
        self._seconds = min(2 * self._seconds or self._first, self._longest)
        self._since = self._clock()

    def repeat(self) -> None:
        """Begin the pause anew, as long as the one before."""
        self._since = self._clock()

    def end(self) -> None:
        """End the pause: the next one is the first in a row."""
        self._seconds = 0.0
