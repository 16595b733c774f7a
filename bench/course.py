"""How something that only grows, such as bytes delivered, grew over time, and what follows from that."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import TracebackType
from typing import NamedTuple, Self

EVERY_SECONDS = 0.1


class Sample(NamedTuple):
    """A count at a time."""

    at: float
    """Seconds of the monotonic clock."""
    so_far: float


class Course:
    """Samples in the order of time. All rates are counts a second; between two samples the rate is taken as even."""

    def __init__(self, samples: list[Sample]) -> None:
        """`samples`: one at least."""
        self.samples = samples

    @property
    def began(self) -> float:
        """When it began to grow: the last moment with the first count."""
        first = self.samples[0].so_far
        return max(sample.at for sample in self.samples if sample.so_far == first)

    @property
    def ended(self) -> float:
        """When it grew last: the first moment with the last count."""
        return next(sample.at for sample in self.samples if sample.so_far == self.samples[-1].so_far)

    def count(self, at: float) -> float:
        """The count at that time; before the first sample that of the first, after the last one that of the last."""
        place = bisect_left(self.samples, at, key=lambda sample: sample.at)
        if place in (0, len(self.samples)):
            return self.samples[min(place, len(self.samples) - 1)].so_far
        before, after = self.samples[place - 1], self.samples[place]
        return before.so_far + (after.so_far - before.so_far) * (at - before.at) / (after.at - before.at)

    def rate(self, start: float, end: float) -> float:
        """Mean rate between two times; 0 unless `end` is later."""
        return (self.count(end) - self.count(start)) / (end - start) if end > start else 0.0

    def steady(self, settle: float, tail: float = 0.5) -> float:
        """Mean rate without the first `settle` seconds of growth, and without the last `tail` seconds."""
        return self.rate(self.began + settle, self.ended - tail)

    def since(self, start: float) -> list[list[float]]:
        """For JSON: seconds since that time, and the growth since then."""
        first = self.count(start)
        later = [sample for sample in self.samples if sample.at > start]
        return [[0.0, 0.0], *([round(sample.at - start, 3), sample.so_far - first] for sample in later)]

    def spans(self, most: int = 60) -> tuple[list[float], list[float]]:
        """The middles of spans of equal length, `most` at most, and the mean rate of each; none of a single sample."""
        start, end = self.samples[0].at, self.samples[-1].at
        count = max(1, min(most, len(self.samples) // 2))
        edges = [start + (end - start) * number / count for number in range(count + 1)] if end > start else []
        spans = [*pairwise(edges)]
        return [(low + high) / 2 for low, high in spans], [self.rate(low, high) for low, high in spans]

    def windows(self, seconds: float, start: float, end: float) -> Iterator[float]:
        """Mean rates of all windows of that length between two times, one beginning at each sample."""
        for sample in self.samples:
            if start <= sample.at and sample.at + seconds <= end:
                yield self.rate(sample.at, sample.at + seconds)

    def full_again(self, after: float, enough: float, seconds: float = 1.0) -> float | None:
        """Seconds from `after` to the first window of that length whose mean is `enough`; None if there is none."""
        found = (
            sample.at - after
            for sample in self.samples
            if sample.at >= after
            and sample.at + seconds <= self.samples[-1].at
            and self.rate(sample.at, sample.at + seconds) >= enough
        )
        return next(found, None)


class Recorder:
    """Asks for a count ten times a second, in a thread. A context manager; leaving it raises what asking has raised."""

    def __init__(self, count: Callable[[], float]) -> None:
        self._count = count
        self._samples: list[Sample] = []
        self._failure: Exception | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)

    @property
    def course(self) -> Course:
        """What has been recorded so far."""
        return Course(list(self._samples))

    def __enter__(self) -> Self:
        self._see()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None:
            if self._failure:
                raise self._failure
            self._see()

    def _see(self) -> None:
        self._samples.append(Sample(time.monotonic(), self._count()))

    def _run(self) -> None:
        try:
            while not self._stop.wait(EVERY_SECONDS):
                self._see()
        except Exception as error:
            self._failure = error
