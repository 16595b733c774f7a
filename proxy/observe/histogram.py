"""Histograms: how many values there were between bounds."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate


class Histogram:
    """Counts of values by the least bound that they do not exceed; the last count is of those beyond all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` rise; many histograms share them."""
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total: float = 0
        """Sum of all values."""

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """Their average; 0 before the first."""
        return self.total / (self.count or 1)

    def note(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: "Histogram") -> None:
        """Add another's values, counted by the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


def within(bounds: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """The least bound that this share of the values, 0 to 1, does not exceed; None without values or such a bound."""
    wanted = share * sum(counts)
    reached = (bound for bound, sofar in zip(bounds, accumulate(counts), strict=False) if sofar >= wanted)
    return next(reached, None) if wanted else None
