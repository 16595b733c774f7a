"""Sends short urgent frames by several lanes while packets are lost: the copy that arrives first counts.

TCP repeats a lost packet after a round trip at the earliest, after two or more if nothing was sent behind it, and until
then holds back all that came after it on that connection. So each lost packet delays a request of 512 bytes by a round
trip, or a command of known data, which is as short. Two lanes stand still at once often enough to be felt, three hardly
ever. A receiver takes each frame once (PROTOCOL.md, "Frames of a stream"), so it need not know of copies.

Only urgent frames that fit a packet are copied, and only if the other lanes take them at once: a copy that has to wait
comes too late, and holds up what is new. DATA of a stream that has much under way is not copied: nobody waits for one
frame of it, and copies would cost the sites more time than they save. All copies together get a part of the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.protocol.codes import DATA
from proxy.protocol.figures import TunnelFigures
from proxy.protocol.meter import Meter
from proxy.protocol.scheduler import Scheduler
from proxy.protocol.share import WIRE
from proxy.protocol.writes import Write, Writes

if TYPE_CHECKING:
    from proxy.protocol.stream import Stream

COPY_MAX = 1280
"""Bytes of a frame that fits a packet."""
MUCH = 16 << 20
"""A stream with so many plain bytes under way, sixteen commands of 1 MiB, does not wait for a single frame of DATA."""
PART = 1 / 8
"""Part of the line's rate that copies may take."""
BURST = 8 << 10
"""Bytes of the wire that may go at once, beyond that rate."""


class Copies:
    """Decides which frames are copied, and by which lanes. One a tunnel. Sizes in bytes."""

    def __init__(self, scheduler: Scheduler, figures: TunnelFigures) -> None:
        self._scheduler = scheduler
        self._figures = figures
        self._meter: Meter | None = None

    @property
    def wanted(self) -> bool:
        """True if packets are lost, so that frames are copied."""
        return self._meter is not None

    def want(self, line: float, now: float) -> None:
        """`line`: the bytes a second that the line takes, if it loses packets; 0 if it loses none."""
        if not line:
            self._meter = None
        elif self._meter is None:
            self._meter = Meter(line * PART, BURST)
        else:
            self._meter.change(line * PART, BURST, now)

    def place(self, writes: Writes, write: Write, stream: Stream, size: int, now: float) -> None:
        """Copy the urgent frame of `size` bytes, just put into `write`, into those of its copy lanes' writes that have
        room."""
        if self._meter is None or size > COPY_MAX:
            return
        frame = write.pieces[-1]  # the whole frame: short ones are one piece (`Sent.pieces`)
        if _is_bulk(stream, frame[0]):
            return
        for other in writes.for_copies(write):
            if other.room < size or self._meter.paid > now:
                continue
            cost = size + other.overhead
            self._meter.charge(cost * WIRE, now)
            self._scheduler.copied(stream, cost, now)
            other.pieces.append(frame)
            writes.took(other, size)
            self._figures.copies += 1
            self._figures.copied_bytes += size


def _is_bulk(stream: Stream, kind: int) -> bool:
    """True if nobody waits for that one frame: it is DATA of a stream that has much under way."""
    return kind == DATA and stream.outgoing.credit.under_way >= MUCH
