"""Has a tunnel's streams take turns in asking the peer for chunks that they lack.

Fills are kept until the batch that needs them is decoded, and one batch may need up to `KEPT_MAX` bytes of them. If all
streams asked at once, a peer that leaves one MISS of each unanswered could make this site keep gigabytes. Chunks that
are asked for ahead have a bound of their own (`AheadMemory`). The counterpart at the sending side is `Fills`.
"""

import asyncio
from collections.abc import Callable, Sequence

AT_ONCE = 16
"""Streams that may ask at once. If 1024 lack something, that still lets thousands of chunks come in a round trip."""


class Misses:
    """The MISSes of one tunnel. Loop thread."""

    def __init__(self, send: Callable[[int, Sequence[bytes]], None], pump: Callable[[], None]) -> None:
        """`send` queues a MISS of these names on that stream; `pump` writes to the lanes what the tunnel wants sent."""
        self._send = send
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._asking: set[int] = set()
        self._waiting: dict[int, Sequence[bytes]] = {}

    def ask(self, stream: int, names: Sequence[bytes]) -> None:
        """Send the MISS now, or when it is the stream's turn; a stream that is `asking` already may ask for more."""
        if stream in self._asking or (self._room and not self._waiting):
            self._ask(stream, names)
        else:
            self._waiting[stream] = names

    def asking(self, stream: int) -> bool:
        """True if the stream has sent a MISS for a batch that is not decoded yet."""
        return stream in self._asking

    def settle(self, stream: int) -> None:
        """The stream has decoded its batch, or ended: one that waits may ask, but only in the loop's next round, since
        it may be about to end as well."""
        if stream in self._waiting:
            del self._waiting[stream]
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
