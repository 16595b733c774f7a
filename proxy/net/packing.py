"""Frames of bulk that fill no packet wait a little for others: what is known takes a hundred bytes a batch.

Each packet of its own may be lost by itself, and the stream then stands for a round trip and more; and it costs both
sites a record of TLS, a write and a read.
"""

import asyncio
from collections.abc import Callable

PACKET = 1280
"""Bytes that fill a packet, or nearly."""
PATIENCE = 0.008
"""Seconds: a fast source that is known fills a packet in that time."""


class Packing:
    """Of one relay. Loop thread."""

    def __init__(self, pump: Callable[[], None]) -> None:
        """`pump` writes to the lanes what the tunnel wants sent."""
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, n: int) -> None:
        """So many bytes of bulk may be sent."""
        self._waiting += n
        if self._waiting >= PACKET:
            self.go()
        elif self._timer is None:
            self._timer = self._loop.call_later(PATIENCE, self.go)

    def hurry(self) -> None:
        """No more will come for now."""
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
