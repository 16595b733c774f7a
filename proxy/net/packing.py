"""Has frames of bulk that do not fill a packet wait a little for others: a batch of known data takes a hundred bytes.

If each of them went in a packet of its own, each could be lost by itself, and a loss stops the stream for a round trip
and more. Each would also cost both sites a TLS record, a write and a read.
"""

import asyncio
from collections.abc import Callable

PACKET = 1300
"""Bytes of frames that fill a packet, or nearly: one more batch of known data, and TLS, still fit into it."""
PATIENCE = 0.008
"""Seconds that frames wait at most; a fast source of known data fills a packet in that time."""


class Packing:
    """Decides when the frames that one relay has queued are sent. Loop thread."""

    def __init__(self, pump: Callable[[], None]) -> None:
        """`pump` writes to the lanes what the tunnel wants sent."""
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, n: int) -> None:
        """So many bytes of bulk were queued, with headers: send them when they fill a packet, or after `PATIENCE`."""
        self._waiting += n
        if self._waiting >= PACKET:
            self.go()
        elif self._timer is None:
            self._timer = self._loop.call_later(PATIENCE, self.go)

    def hurry(self) -> None:
        """No more bulk will come for now: send what waits."""
        if self._waiting:
            self.go()

    def go(self) -> None:
        """Send everything."""
        self.close()
        self._pump()

    def close(self) -> None:
        """Wait no more."""
        self._waiting = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
