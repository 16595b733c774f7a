"""The time that a tunnel goes by."""

from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """Kept by `Tunnel` for all that is not told the time."""

    now: float
    """Seconds on any one monotonic clock: the latest that the driver gave."""
