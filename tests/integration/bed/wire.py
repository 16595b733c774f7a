"""The WAN between two sites: a forwarder of TCP connections that can be cut, stalled, and made to refuse.

It can also be slow, or long. (`bench/wan` drops, delays and delivers packets; this needs no root.)
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, cast

from bench.sites import Address
from tests.integration.bed.ends import reset_once_closed
from tests.patience import PATIENCE

_SMALL_BUFFER = 64 << 10
"""A slow wire takes little ahead of time."""


class Wire:
    """Listens on loopback and carries each connection to `far`, on an event loop in a thread. A context manager."""

    def __init__(self, far: Address, *, rate: float = 0.0, delay: float = 0.0) -> None:
        """`rate`: bytes a second of each direction, 0 for no limit; `delay`: seconds that each direction takes."""
        self.rate = rate
        self.delay = delay
        self.address: Address = ("127.0.0.1", 0)
        """Where it listens; known once it is entered."""
        self.taken = 0
        """Connections that were accepted."""
        self.carried = 0
        """Bytes, both ways together."""
        self.swallowed: tuple[type[_End], ...] = ()
        """Which ends are not read."""
        self.ends: set[_End] = set()
        self.far = far
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._server: asyncio.Server | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.refuse()
        self.cut()
        self._do(self._settle)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def accept(self) -> None:
        """Take connections (again), always at the same address."""
        self._do(self._listen)

    def refuse(self) -> None:
        """Refuse further connections; those that are there go on."""
        self._do(self._ignore)

    def cut(self) -> None:
        """Reset all connections."""
        self._do(self._cut)

    def stall(self, *, outward_only: bool = False) -> None:
        """Carry nothing more (or nothing from who dialled), and tell nobody: a black hole."""
        self._do(lambda: self._stall(outward_only))

    def forget(self) -> None:
        """As a firewall that has lost its table: connections that are there are stalled until `flow`, new ones not."""
        self._do(self._forget)

    @property
    def flowing(self) -> bool:
        """Nothing is swallowed."""
        return not self.swallowed

    def flow(self) -> None:
        """Undo `stall`."""
        self._do(self._flow)

    def touch(self, data: bytes, outward: bool) -> bytes:
        """What comes out for what goes in, from who dialled (`outward`) or to it."""
        return data

    def _do(self, work: Callable[[], Any]) -> None:
        done: Future[None] = asyncio.run_coroutine_threadsafe(work(), self._loop)
        done.result(PATIENCE)

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(lambda: _Near(self), *self.address)
        self.address = self._server.sockets[0].getsockname()[:2]
        if self.rate:
            for listener in self._server.sockets:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER)

    async def _ignore(self) -> None:
        if self._server is not None:
            for listener in self._server.sockets:
                self._loop.remove_reader(listener)
            await asyncio.sleep(0)  # whom it has just accepted asyncio would forget, with the socket open
            self._server.close()
            self._server = None

    async def _cut(self) -> None:
        for end in list(self.ends):
            end.cut()

    async def _stall(self, outward_only: bool) -> None:
        self.swallowed = (_Near,) if outward_only else (_Near, _Far)
        for end in self.ends:
            if isinstance(end, self.swallowed):
                end.transport.pause_reading()

    async def _forget(self) -> None:
        for end in self.ends:
            end.transport.pause_reading()

    async def _flow(self) -> None:
        self.swallowed = ()
        for end in self.ends:
            end.transport.resume_reading()

    async def _settle(self) -> None:
        """Nobody is being joined to the far side any more, and who was cut is gone."""
        while others := asyncio.all_tasks() - {cast(asyncio.Task[None], asyncio.current_task())}:
            await asyncio.wait(others)
        await asyncio.sleep(0)

    async def dial(self, near: "_End") -> None:
        """Join an accepted connection to a new one to the far side, or reset it."""
        try:
            _, far = await self._loop.create_connection(lambda: _Far(self), *self.far)
        except OSError:
            near.cut()
            return
        if near.transport.is_closing():  # it was cut meanwhile
            far.cut()
        else:
            near.join(far)


class _End(asyncio.Protocol):
    """One of the two connections that make a carried one."""

    transport: asyncio.Transport

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.other: _End | None = None
        self.under_way: deque[bytes] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.wire.ends.add(self)

    def join(self, other: "_End") -> None:
        """From now on what comes here goes there, and the other way round."""
        self.other, other.other = other, self
        for end in (self, other):
            end.resume()

    def resume(self) -> None:
        """Read, unless the wire swallows what comes here."""
        if not isinstance(self, self.wire.swallowed) and not self.transport.is_closing():
            self.transport.resume_reading()

    def cut(self) -> None:
        """End it by RST."""
        reset_once_closed(self.transport.get_extra_info("socket"))
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        assert self.other is not None
        self.wire.carried += len(data)
        data = self.wire.touch(data, isinstance(self, _Near))
        loop = asyncio.get_running_loop()
        if self.wire.rate:
            self.transport.pause_reading()
            loop.call_later(len(data) / self.wire.rate, self.resume)
        if self.wire.delay:
            self.under_way.append(data)
            loop.call_later(self.wire.delay, self.deliver)
        else:
            self.other.transport.write(data)

    def deliver(self) -> None:
        """What has been on its way for longest is there."""
        assert self.other is not None
        data = self.under_way.popleft()
        if not self.other.transport.is_closing():
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self.wire.ends.discard(self)
        if self.other is None or self.other not in self.wire.ends:
            return
        if exc is None:
            self.other.transport.close()  # behind all that is still to be written
        else:
            self.other.cut()


class _Far(_End):
    """The dialled one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.pause_reading()  # until it is joined


class _Near(_End):
    """The accepted one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.wire.taken += 1
        self.transport.pause_reading()  # until it is joined
        self._dialling = asyncio.ensure_future(self.wire.dial(self))
