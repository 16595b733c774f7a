"""What a tunnel's streams lack, asked for by a few of them at once: what is filled is kept until its batch is decoded.

A batch may need `KEPT_MAX` bytes of fills, and a tunnel has many streams: were all of them to ask, a peer that answers
all but one MISS of each could have gigabytes kept. What is asked for ahead has a bound of its own (`AheadMemory`). The
sending side's counterpart is `Fills`.
"""

import asyncio
from collections.abc import Callable, Sequence

AT_ONCE = 16
"""Streams. Of 1024 that lack something a good peer fills thousands of chunks a round trip, all the same."""


class Misses:
    """Of one tunnel. Loop thread."""

    def __init__(self, send: Callable[[int, Sequence[bytes]], None], pump: Callable[[], None]) -> None:
        """`send`: a MISS on that stream, of these; `pump` writes to the lanes what the tunnel wants sent."""
        self._send = send
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._asking: set[int] = set()
        self._waiting: dict[int, Sequence[bytes]] = {}

    def ask(self, stream: int, names: Sequence[bytes]) -> None:
        """Ask now or in its turn; a stream that is asking may ask for more."""
        if stream in self._asking or (self._room and not self._waiting):
            self._ask(stream, names)
        else:
            self._waiting[stream] = names

    def asking(self, stream: int) -> bool:
        """A MISS has been sent for a batch of the stream that is not decoded yet."""
        return stream in self._asking

    def settle(self, stream: int) -> None:
        """The stream has decoded its batch, or ended: others may ask, once it is known whether they have ended, too."""
        self._waiting.pop(stream, None)
        if stream in self._asking:
            self._asking.remove(stream)
            if self._waiting:
                self._loop.call_soon(self._go_on)

    @property
    def _room(self) -> bool:
        return len(self._asking) < AT_ONCE

    def _go_on(self) -> None:
        if self._waiting and self._room:
            stream = next(iter(self._waiting))
            self._ask(stream, self._waiting.pop(stream))

    def _ask(self, stream: int, names: Sequence[bytes]) -> None:
        self._asking.add(stream)
        self._send(stream, names)
        self._pump()
