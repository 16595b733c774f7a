"""Connecting to a name with several addresses."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

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
