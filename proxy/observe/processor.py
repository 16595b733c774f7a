"""How busy the thread of the event loop is."""

from collections import deque

from proxy.observe.waiting import RECENT


class Processor:
    """Fed with clock readings about once a second."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, float]] = deque(maxlen=RECENT + 1)

    def note(self, used: float, now: float) -> None:
        """CPU seconds that the thread has used so far, at a time of a monotonic clock."""
        self._readings.append((used, now))

    @property
    def share(self) -> float:
        """Share of a core that the thread used over the last ten seconds; 0 before there are two readings."""
        seconds = self.seconds
        return (self._readings[-1][0] - self._readings[0][0]) / seconds if seconds > 0 else 0.0

    @property
    def seconds(self) -> float:
        """Seconds over which `share` is an average."""
        return self._readings[-1][1] - self._readings[0][1] if self._readings else 0.0
