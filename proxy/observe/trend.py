"""What has changed of late: counters of the last minute, second by second, and of a longer time in coarser steps."""

from bisect import bisect_left
from collections.abc import Mapping

Counters = Mapping[str, float]

A_MINUTE = 60.0
"""Seconds for which every reading is remembered."""


class _Readings:
    """The newest readings, at most so many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._times: list[float] = []
        self._counters: list[Counters] = []

    def add(self, counters: Counters, now: float) -> None:
        """Add a reading; the oldest goes if there are too many."""
        self._times.append(now)
        self._counters.append(counters)
        if len(self._times) > self._most:
            del self._times[0], self._counters[0]

    def at(self, time: float) -> tuple[float, Counters]:
        """The first reading from that time on (if there is none, the last one), and when it was. Needs a reading."""
        place = min(bisect_left(self._times, time), len(self._times) - 1)
        return self._times[place], self._counters[place]

    def due(self, now: float, seconds: float) -> bool:
        """Whether the last reading is so many seconds old, or there is none."""
        return not self._times or now - self._times[-1] >= seconds


class Trend:
    """Fed about once a second with counters that rise from 0. Names may come and go.

    A counter that has fallen goes on from where it was: it is the sum of several, of which one is gone, or has begun
    anew.
    """

    def __init__(self, seconds: float) -> None:
        """Remembers so many seconds; what is older than a minute only in steps of a sixtieth of them."""
        self._step = seconds / 60
        self._fine = _Readings(round(A_MINUTE) + 1)
        self._coarse = _Readings(61)
        self._now = 0.0
        self._last: Counters = {}
        self._fallen: dict[str, float] = {}  # by how much, since it is there

    def note(self, counters: Counters, now: float) -> None:
        """A reading at a time of a monotonic clock, in seconds."""
        counters = self._rising(counters)
        self._now, self._last = now, counters
        self._fine.add(counters, now)
        if self._coarse.due(now, self._step):
            self._coarse.add(counters, now)

    def _rising(self, counters: Counters) -> Counters:
        """The counters, each with all by which it has fallen."""
        fallen = self._fallen = {name: by for name, by in self._fallen.items() if name in counters}
        rising = {**counters, **{name: counters[name] + by for name, by in fallen.items()}}
        for name, before in self._last.items():
            if name in rising and rising[name] < before:
                fallen[name], rising[name] = before - counters[name], before
        return rising

    def last(self, name: str) -> float:
        """The newest reading; 0 before the first."""
        return self._last.get(name, 0.0)

    def rise(self, name: str, seconds: float) -> float:
        """By how much a counter rose over so many seconds. If it was not there before, it began at 0."""
        return self.last(name) - self._then(seconds)[1].get(name, 0.0) if name in self._last else 0.0

    def rate(self, name: str, seconds: float) -> float:
        """By how much it rose a second, in that time."""
        passed = self._now - self._then(seconds)[0] if self._last else 0.0
        return self.rise(name, seconds) / passed if passed else 0.0

    def _then(self, seconds: float) -> tuple[float, Counters]:
        return (self._fine if seconds <= A_MINUTE else self._coarse).at(self._now - seconds)
