"""Server-sent events, encoded once, the same for all listeners. A listener that lags behind is dropped.

A frame goes out once a second, and at most one more in between, however much happens: the first new event of a second
goes out at once; further ones, and counts that have risen, go with the next frame. So a stranger who causes events
(refusals, above all) cannot make listeners lag.
"""

import asyncio
from collections.abc import Callable

from aiohttp import web

from proxy.observe.answers import Event
from proxy.web.answering import HEADERS, encode, failure
from proxy.web.gate import Visit

LISTENERS_MAX = 32
PENDING_MAX = 64
"""Events that wait for the next frame; the oldest are dropped, and `/api/v1/events` has them."""
_FRAMES_MAX = 8
"""Frames that may wait for one listener."""
_WRITE_SECONDS = 10.0
"""Seconds in which a listener has to take a frame."""


def frame(name: str, value: object) -> bytes:
    """An event as it goes out."""
    return b"event: " + name.encode() + b"\ndata: " + encode(value) + b"\n\n"


class Live:
    """Loop thread."""

    def __init__(self, take: Callable[[], object]) -> None:
        """`take`: what a "live" event says, asked for at most once a second, and only if somebody listens."""
        self._take = take
        self._queues: dict[asyncio.Queue[bytes | None], asyncio.Transport | None] = {}
        self._latest = b""
        self._told = False
        """An event has gone out in this second."""
        self._later: dict[int, Event] = {}
        """Events that wait, by number."""

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._queues)

    def tick(self) -> None:
        """A second has passed: send the next frame."""
        self._latest, self._told = b"", False
        later, self._later = self._later, {}
        if self._queues:
            self._send(b"".join(frame("event", event) for event in later.values()) + self._frame())

    def tell(self, event: Event) -> None:
        """An event was noted, or happened again: send it at once or with the next frame."""
        if self._told or event.count > 1:
            self._later[event.number] = event
            if len(self._later) > PENDING_MAX:
                del self._later[next(iter(self._later))]
        elif self._queues:
            self._told = True
            self._send(frame("event", event))

    def close(self) -> None:
        """End the answers to all listeners."""
        for queue in self._queues:
            _end(queue)

    async def serve(self, request: web.Request, visit: Visit | None) -> web.StreamResponse:
        """Send frames to one listener, until either side ends."""
        if len(self._queues) >= LISTENERS_MAX:
            answer = failure(429, f"{LISTENERS_MAX} listen already", "close a page, or ask /api/v1/health instead")
            answer.headers["Retry-After"] = "30"
            return answer
        response = web.StreamResponse(headers=HEADERS | {"Content-Type": "text/event-stream"})
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_FRAMES_MAX)
        queue.put_nowait(self._frame())
        self._queues[queue] = request.transport
        if visit is not None:
            visit.lasting = True
        try:
            await response.prepare(request)
            while (data := await queue.get()) is not None:
                async with asyncio.timeout(_WRITE_SECONDS):
                    await response.write(data)
        except (TimeoutError, ConnectionError):
            _drop(request.transport)
        finally:
            self._queues.pop(queue, None)
            if visit is not None:
                visit.lasting = False
        return response

    def _frame(self) -> bytes:
        if not self._latest:
            self._latest = frame("live", self._take())
        return self._latest

    def _send(self, data: bytes) -> None:
        for queue, transport in self._queues.items():
            if queue.full():
                _drop(transport)
            else:
                queue.put_nowait(data)


def _drop(transport: asyncio.Transport | None) -> None:
    """End the connection at once, and drop what waits to be sent."""
    if transport is not None:
        transport.abort()


def _end(queue: "asyncio.Queue[bytes | None]") -> None:
    """End a listener's answer at once: frames that wait are dropped."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)
