"""Connecting to a name with several addresses, and handing a connection to the loop."""

import asyncio
import contextlib
import gc
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import cast

import pytest
import uvloop

from proxy.config.addresses import Address
from proxy.net import connecting


@pytest.fixture
def deaf() -> Iterator[tuple[str, int]]:
    """An address whose host drops what comes: its backlog is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()


def test_an_address_that_does_not_answer_hides_no_other(deaf: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def connected() -> tuple[str, int]:
        async def two(*_: object, **__: object) -> list[tuple[object, ...]]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", where) for where in (deaf, listener.getsockname())]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two)
        with await connecting.connect(Address("two.example", 1)) as connection:
            found: tuple[str, int] = connection.getpeername()
            return found

    monkeypatch.setattr(connecting, "ADDRESS_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert asyncio.run(connected()) == listener.getsockname()


class EndedAtOnce(asyncio.Protocol):
    """Whose stream is over when its connection comes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).abort()


def test_a_connection_that_ends_while_it_is_made_closes_no_other_descriptor() -> None:
    async def meanwhile(listener: socket.socket) -> None:
        connection = await connecting.connect(Address(*listener.getsockname()))
        number = connection.fileno()
        await connecting.take_over(connection, EndedAtOnce)
        with contextlib.closing(socket.socket()) as another:
            assert another.fileno() == number
            del connection
            gc.collect()
            await asyncio.sleep(0)
            assert os.fstat(number)
            assert another.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM

    with socket.create_server(("127.0.0.1", 0)) as listener:
        uvloop.run(meanwhile(listener))
