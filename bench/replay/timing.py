"""How long the rest of a run takes, by what was guessed and what has proved to be."""

from collections.abc import Sequence


class TimeLeft:
    """Guesses of trials, corrected by those that are done. The clock is an argument."""

    def __init__(self, guesses: Sequence[float]) -> None:
        """`guesses`: seconds, in the order of the trials; those that need not be measured have none."""
        self._rest = list(guesses)
        self._guessed = self._taken = 0.0
        self._began = 0.0

    def begin(self, now: float) -> None:
        """The next trial begins."""
        self._began = now

    def end(self, now: float) -> None:
        """It has ended."""
        self._guessed += self._rest.pop(0)
        self._taken += now - self._began

    def seconds(self, now: float) -> float:
        """Until all are done."""
        if not self._rest:
            return 0.0
        factor = self._taken / self._guessed if self._guessed else 1.0
        current, *later = (guess * factor for guess in self._rest)
        return max(0.0, current - (now - self._began)) + sum(later)
