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
        """Of a core, over the last ten seconds; 0 before there are two readings."""
        if len(self._readings) < 2:
            return 0.0
        (used_before, before), (used, now) = self._readings[0], self._readings[-1]
        return (used - used_before) / (now - before) if now > before else 0.0
