"""What goes by a second lane as well while packets are lost: whichever brings it first will do.

TCP brings a lost packet again after a round trip at the least, after two or more if nothing was sent behind it, and
until then holds back all that came on that connection. So a question of 512 bytes waits for a round trip more as often
as a packet is lost on its way, and known data, a hundred bytes for each 384 KiB, stands still although the line is
nearly empty. That both lanes lose the same frame is as rare as the square of the loss. A receiver takes each frame
once (PROTOCOL.md, "Streams"), so it need not know.

Only urgent frames that fit a packet are copied: freely while nothing waits for the lanes, otherwise within a part of
what is sent.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from proxy.protocol.figures import TunnelFigures
from proxy.protocol.scheduler import Scheduler
from proxy.protocol.share import WRITE_OVERHEAD

if TYPE_CHECKING:
    from proxy.protocol.stream import Stream

COPY_MAX = 1280
"""Bytes of a frame that fits a packet."""
PART = 1 / 8
"""Of all that is sent, what copies may be while data waits for the lanes."""
_SAVED_MAX = 32 << 10
_WAITING_MAX = 64
"""Frames for one lane: of more that it does not take the oldest are dropped."""


class Copies:
    """Of one tunnel."""

    def __init__(self, scheduler: Scheduler, figures: TunnelFigures) -> None:
        self.wanted = False
        """Packets are lost. Set by the driver."""
        self._scheduler = scheduler
        self._figures = figures
        self._sent: list[tuple[Stream, bytes]] = []  # by one lane, and may go by another one
        self._waiting: dict[int, deque[bytes]] = {}  # by lane
        self._saved = 0.0

    def sent(self, stream: Stream, frame: bytes, size: int) -> None:
        """What `scheduler.next` gave has been sent; if it is short, it is `frame`."""
        self._saved = min(_SAVED_MAX, self._saved + size * PART)
        if size <= COPY_MAX and self._scheduler.gave_urgent:
            self._sent.append((stream, frame))

    def send(self, lane: int, now: float) -> None:
        """Have that go by this lane as well."""
        idle = self._scheduler.idle
        overhead = WRITE_OVERHEAD
        for stream, frame in self._sent:
            if not idle:
                if self._saved < len(frame):
                    break
                self._saved -= len(frame)
            self._waiting.setdefault(lane, deque(maxlen=_WAITING_MAX)).append(frame)
            self._scheduler.copied(stream, len(frame) + overhead, now)
            overhead = 0
        self._sent.clear()

    def wait(self, lane: int | None = None) -> bool:
        """True if some wait for the lane, or for any."""
        return bool(self._waiting) if lane is None else lane in self._waiting

    def take(self, lane: int) -> list[bytes]:
        """What the lane is to write."""
        frames = list(self._waiting.pop(lane, ()))
        self._figures.copies += len(frames)
        self._figures.copied_bytes += sum(map(len, frames))
        return frames

    def drop(self, lane: int) -> None:
        """The lane is gone."""
        self._waiting.pop(lane, None)
