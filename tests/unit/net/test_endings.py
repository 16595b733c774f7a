"""What an array sees of a stream that has ended in order: all of it and an end, or a reset; never an end too early."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from proxy.net.endings import LEAVE_SECONDS, Leaving, reset_connection, socket_of
from tests.patience import PATIENCE
from tests.unit.net.tcp import tcp_pair

LAST = bytes(8 << 20)
"""More than the kernel takes from us and for the array."""
END = b""


class Side(asyncio.Protocol):
    """Our end of the array's connection, as a relay has it."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()
        self.leaving: Leaving | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        reset_connection(socket_of(transport))  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.leaving is not None
        self.leaving.lost(exc)
        self.lost.set()


async def leave(then: Callable[[Side, socket.socket], Awaitable[None]]) -> None:
    """The stream has ended, and the array has not read its last bytes yet."""
    loop = asyncio.get_running_loop()
    with tcp_pair() as (array, ours):
        ours.setblocking(False)
        transport, side = await loop.connect_accepted_socket(Side, ours)
        transport.write(LAST)
        assert transport.get_write_buffer_size() > 0
        side.leaving = Leaving(transport, 0.0)
        array.settimeout(PATIENCE)
        await then(side, array)


def all_of(array: socket.socket) -> int:
    """Bytes until the end."""
    read = 0
    while (data := array.recv(1 << 20)) != END:
        read += len(data)
    return read


def pass_seconds(leaving: Leaving, seconds: float) -> None:
    for second in range(round(seconds)):
        leaving.sample(second + 1.0)


def test_while_the_site_is_stopped_an_array_is_not_slow() -> None:
    """It is to get all that it has not taken yet, for it could not."""

    async def then(side: Side, array: socket.socket) -> None:
        assert side.leaving is not None
        side.leaving.sample(10 * LEAVE_SECONDS)
        reading = asyncio.to_thread(all_of, array)
        assert await asyncio.wait_for(reading, PATIENCE) == len(LAST)
        await asyncio.wait_for(side.lost.wait(), PATIENCE)

    uvloop.run(leave(then))


def test_who_is_slow_gets_all_and_then_the_end() -> None:
    async def then(side: Side, array: socket.socket) -> None:
        assert side.leaving is not None
        pass_seconds(side.leaving, LEAVE_SECONDS - 1)
        reading = asyncio.to_thread(all_of, array)
        assert await asyncio.wait_for(reading, PATIENCE) == len(LAST)
        await asyncio.wait_for(side.lost.wait(), PATIENCE)

    uvloop.run(leave(then))


def test_who_does_not_take_the_last_bytes_is_reset(caplog: pytest.LogCaptureFixture) -> None:
    async def then(side: Side, array: socket.socket) -> None:
        assert side.leaving is not None
        pass_seconds(side.leaving, LEAVE_SECONDS + 1)
        await asyncio.wait_for(side.lost.wait(), PATIENCE)
        with pytest.raises(ConnectionResetError):
            all_of(array)

    uvloop.run(leave(then))
    assert "did not take the last bytes in 120 s" in caplog.text
