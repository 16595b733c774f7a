"""How long the rest of a run takes, by the guesses for its trials and the time that earlier ones have taken."""

from collections.abc import Sequence


class TimeLeft:
    """Guesses for trials, corrected by how long finished ones took. The clock is an argument, in seconds."""

    def __init__(self, guesses: Sequence[float]) -> None:
        """`guesses`: seconds of the trials that are to be measured, in their order."""
        self._rest = list(guesses)
        self._guessed = self._taken = 0.0
        self._began = 0.0

    def begin(self, now: float) -> None:
        """The next trial begins."""
        self._began = now

    def end(self, now: float) -> None:
        """The trial has ended."""
        self._guessed += self._rest.pop(0)
        self._taken += now - self._began

    def seconds(self, now: float) -> float:
        """Seconds until all trials are done."""
        if not self._rest:
            return 0.0
        factor = self._taken / self._guessed if self._guessed else 1.0
        current, *later = (guess * factor for guess in self._rest)
        return max(0.0, current - (now - self._began)) + sum(later)
