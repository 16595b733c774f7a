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
from proxy.protocol.share import WIRE, WRITE_OVERHEAD

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
        self._fresh: dict[int, list[tuple[Stream, bytes]]] = {}  # by lane

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

    def begin(self) -> None:
        """All lanes that have room are asked anew: what another one did not take is no longer fresh."""
        self._fresh.clear()

    def sent(self, lane: int, stream: Stream, frame: bytes, size: int) -> None:
        """What `scheduler.next` gave has been sent, and may go by this lane as well. If it is short, it is `frame`."""
        if size <= COPY_MAX and self._scheduler.gave_urgent and not _works(stream, frame[0]):
            self._fresh.setdefault(lane, []).append((stream, frame))

    def take(self, lane: int, limit: int, now: float) -> list[bytes]:
        """What the lane is to write now, at most so much."""
        fresh = self._fresh.pop(lane, None)
        if fresh is None:
            return []
        frames: list[bytes] = []
        overhead = WRITE_OVERHEAD
        for stream, frame in fresh:
            limit -= len(frame)
            if limit < 0 or self._meter is None or self._meter.paid > now:
                break
            self._meter.charge((len(frame) + overhead) * WIRE, now)
            self._scheduler.copied(stream, len(frame) + overhead, now)
            overhead = 0
            frames.append(frame)
        self._figures.copies += len(frames)
        self._figures.copied_bytes += sum(map(len, frames))
        return frames


def _works(stream: Stream, kind: int) -> bool:
    """True if nobody waits for that frame alone."""
    return kind == FrameType.DATA and stream.outgoing.credit.under_way >= MUCH
