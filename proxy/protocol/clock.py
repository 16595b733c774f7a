"""The time inside a tunnel."""

from dataclasses import dataclass


@dataclass(slots=True)
class Clock:
    """`Tunnel` sets it, for methods that have no argument `now`."""

    now: float
    """Seconds on any one monotonic clock: the latest that the driver gave."""
