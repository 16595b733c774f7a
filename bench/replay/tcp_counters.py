"""TCP segments of a network namespace, as the kernel counts them: how many were sent, and how many of these again."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

COUNTERS = Path("/proc/thread-self/net/snmp")


@dataclass(frozen=True)
class Segments:
    """Counts of segments; `sent` includes those that were sent again."""

    sent: int
    again: int

    @classmethod
    def here(cls) -> Self:
        """The counts of the network namespace that this thread is in."""
        return cls.parse(COUNTERS.read_text())

    @classmethod
    def parse(cls, text: str) -> Self:
        """The counts in two lines "Tcp: ...", of which one has the names and one the numbers."""
        names, numbers = (line.split()[1:] for line in text.splitlines() if line.startswith("Tcp:"))
        counted = dict(zip(names, map(int, numbers), strict=True))
        return cls(counted["OutSegs"] + counted["RetransSegs"], counted["RetransSegs"])

    def __add__(self, other: "Segments") -> "Segments":
        return Segments(self.sent + other.sent, self.again + other.again)

    def __sub__(self, other: "Segments") -> "Segments":
        return Segments(self.sent - other.sent, self.again - other.again)

    @property
    def percent(self) -> float:
        """Percent of the segments that were sent again."""
        return 100 * self.again / self.sent if self.sent else 0.0
