"""What goes by other lanes as well while packets are lost: whichever brings it first will do.

TCP brings a lost packet again after a round trip at the least, after two or more if nothing was sent behind it, and
until then holds back all that came on that connection. So a question of 512 bytes waits for a round trip more as often
as a packet is lost on its way, and so does a command of known data, which is as short. Two lanes at once are hit often
enough to be felt, since each stands still for so long; three hardly ever. A receiver takes each frame once
(PROTOCOL.md, "Frames of a stream"), so it need not know.

Only urgent frames that fit a packet are copied, and only if the other lanes take them at once: a copy that has to wait
comes too late, and holds up what is new. Known data of a stream that has much under way is not: nobody waits for one
frame of it, and copies would cost the sites more time than they save. All together have a part of the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.protocol.codes import FrameType
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
"""Plain bytes under way of a stream that nobody waits for frame by frame: sixteen commands of 1 MiB."""
PART = 1 / 8
"""Of what the line takes, what copies may be."""
BURST = 8 << 10


class Copies:
    """Of one tunnel. Sizes in bytes."""

    def __init__(self, scheduler: Scheduler, figures: TunnelFigures) -> None:
        self._scheduler = scheduler
        self._figures = figures
        self._meter: Meter | None = None

    @property
    def wanted(self) -> bool:
        """Packets are lost."""
        return self._meter is not None

    def want(self, line: float, now: float) -> None:
        """The line takes so many bytes a second, and loses packets; 0: it loses none."""
        if not line:
            self._meter = None
        elif self._meter is None:
            self._meter = Meter(line * PART, BURST)
        else:
            self._meter.change(line * PART, BURST, now)

    def place(self, writes: Writes, write: Write, stream: Stream, size: int, now: float) -> None:
        """An urgent frame of so many bytes has just gone into that write: into those beside it, too, if they have room.

        It is one piece if it is short.
        """
        if self._meter is None or size > COPY_MAX:
            return
        frame = write.pieces[-1]
        if _works(stream, frame[0]):
            return
        for other in writes.beside(write):
            if other.room < size or self._meter.paid > now:
                continue
            cost = size + other.overhead
            self._meter.charge(cost * WIRE, now)
            self._scheduler.copied(stream, cost, now)
            other.pieces.append(frame)
            writes.took(other, size)
            self._figures.copies += 1
            self._figures.copied_bytes += size


def _works(stream: Stream, kind: int) -> bool:
    """True if nobody waits for that frame alone."""
    return kind == FrameType.DATA and stream.outgoing.credit.under_way >= MUCH
