"""Over which ranges of time history is kept, and in which steps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """A range of time, in seconds, and the length of each of its steps."""

    seconds: int
    step: int

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.seconds // self.step


RANGES = {
    "5m": Range(300, 1),
    "1h": Range(3600, 10),
    "6h": Range(6 * 3600, 60),
    "1d": Range(86400, 300),
    "7d": Range(7 * 86400, 1800),
    "30d": Range(30 * 86400, 7200),
}
"""288 to 360 steps each: as many as a chart can show. Every step holds a whole number of those of the range before."""
