"""What has changed over the last seconds: counters of the snapshots of the last ten minutes, by name."""

from collections import deque
from collections.abc import Mapping

Counters = Mapping[str, float]


class Trend:
    """Fed once a second with counters that rise. Names may come and go; a counter that fell has begun anew."""

    def __init__(self, seconds: int) -> None:
        """Remembers so many readings."""
        self._readings: deque[tuple[float, Counters]] = deque(maxlen=seconds + 1)

    def note(self, counters: Counters, now: float) -> None:
        """A reading at a time of a monotonic clock, in seconds."""
        self._readings.append((now, counters))

    def last(self, name: str) -> float:
        """The newest reading; 0 before the first."""
        return self._readings[-1][1].get(name, 0.0) if self._readings else 0.0

    def rise(self, name: str, seconds: float) -> float:
        """By how much a counter rose over the last seconds, or as long as it is known."""
        return self._over(name, seconds)[0]

    def rate(self, name: str, seconds: float) -> float:
        """The same, for each second of that time."""
        risen, passed = self._over(name, seconds)
        return risen / passed if passed else 0.0

    def _over(self, name: str, seconds: float) -> tuple[float, float]:
        if not self._readings:
            return 0.0, 0.0
        now, counters = self._readings[-1]
        last = counters.get(name, 0.0)
        since, first = now, last
        for when, earlier in reversed(self._readings):
            value = earlier.get(name)
            if now - when > seconds or value is None or value > first:
                break
            since, first = when, value
        return last - first, now - since
