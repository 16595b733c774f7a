"""What an operator grants to the streams of one forward or export, and what a frame costs on the wire."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

from proxy.protocol.errors import Misuse
from proxy.protocol.reader import MARK_MAX

RECORD = 16 << 10
RECORD_OVERHEAD = 22
"""TLS 1.3 seals at most 16 KiB at once, and adds a header (5), the inner type (1) and a tag (16)."""
SEGMENT = 1448
SEGMENT_OVERHEAD = 52
"""TCP payload of a packet of 1500 bytes; headers of IPv4 (20), of TCP (20) and its timestamps (12)."""
WIRE = (1 + RECORD_OVERHEAD / RECORD) * (1 + SEGMENT_OVERHEAD / SEGMENT)
"""Bytes on the wire for each byte of a frame. IPv6 adds 1.3 %, which is less than shaping promises to keep to."""
WRITE_OVERHEAD = RECORD_OVERHEAD + SEGMENT_OVERHEAD
"""Bytes on the wire that each write costs beyond WIRE: it begins a record, and its last packet is not full."""

BURST_SECONDS = 0.1
"""Default burst, in seconds of the maximum, so that a share loses nothing while another one's frame goes."""


class Priority(IntEnum):
    """Which shares go first, once guarantees are served. LOW gets what the others leave, and its own guarantee."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


@dataclass(frozen=True)
class Share:
    """Rates in bytes of the wire a second. Raises Misuse for what contradicts itself.

    The streams of one share divide evenly what it gets. Shares of one priority divide evenly what guarantees leave.
    """

    name: str
    priority: Priority = Priority.NORMAL
    guarantee: float | None = None
    """This rate is served before anything that is not guaranteed. While it is not used, others have it."""
    maximum: float | None = None
    burst: float | None = None
    """Bytes of the wire that may go at once, above the maximum, after a rest. Default: 100 ms of the maximum."""
    mark: int = 0
    """DSCP of its packets; 0 is that of all others."""

    def __post_init__(self) -> None:
        if any(figure is not None and figure <= 0 for figure in (self.guarantee, self.maximum, self.burst)):
            raise Misuse(f"guarantee, maximum and burst of share {self.name!r} are more than 0")
        if self.guarantee is not None and self.maximum is not None and self.guarantee > self.maximum:
            raise Misuse(f"share {self.name!r} is guaranteed more than its maximum")
        if not 0 <= self.mark <= MARK_MAX:
            raise Misuse(f"a mark is 0 to {MARK_MAX}, not {self.mark}")

    @property
    def ruled(self) -> bool:
        """True if it has any rule of its own. If no share has, all are alike."""
        return (self.priority, self.guarantee, self.maximum, self.mark) != (Priority.NORMAL, None, None, 0)


Marks = Collection[int]
"""DSCP marks of shares."""

PLAIN = Share("")
"""The share of streams that were assigned none, and of those that were refused."""
