"""Names and meanings of what `stats` says of each way of a line. A netem line has those of `MEANINGS` only."""

from collections.abc import Mapping
from typing import Any

SETTINGS = {
    "rate": "bits a second",
    "delay": "seconds, one way",
    "jitter": "seconds more, at most",
    "loss": "share of the packets",
    "burst": "packets, mean length of a run of losses",
    "reorder": "share of the packets",
    "duplicate": "share of the packets",
    "queue": "bytes that may wait; 0: by rate and delay",
    "path_mtu": "bytes; 0: none",
}
"""Names of the settings, with their units."""

MEANINGS = {
    "packets": "packets that came in",
    "delivered": "packets that arrived, each copy counted",
    "delivered_bytes": "their bytes, IP headers included",
    "loss": "packets lost on the line",
    "queue": "packets that found the queue full",
    "outage": "packets lost by an outage",
    "out": "the way is out",
    "on_the_way": "packets that wait or are on their way",
    "waiting_bytes": "bytes that wait for the rate",
}
"""Names that both backends have, with what they mean."""

OF_TUN = {
    "size": "bytes that came in",
    "path_mtu": "packets longer than the path MTU",
    "duplicated": "packets sent twice",
    "reordered": "packets sent ahead of those before them",
    "overrun": "packets that the emulator was too slow to take",
    "late_p99": "seconds late, or more, of one in a hundred packets",
    "late_max": "seconds late, at most",
    "rate": "bits a second that arrived, in the last second",
    "cpu": "share of a core that was used in the last second",
    "cpu_seconds": "of a core that were used so far",
}
"""Names that the emulator over TUN devices has besides."""


def late(ways: Mapping[str, Mapping[str, Any]]) -> float:
    """Seconds by which 1 % of the packets of the worse way were late, or more; as far as is known."""
    return max(float(way.get("late_p99", 0.0)) for way in ways.values())


def overrun(ways: Mapping[str, Mapping[str, Any]]) -> int:
    """Packets that the emulator did not take in time, both ways together; as far as is known."""
    return sum(int(way.get("overrun", 0)) for way in ways.values())
