"""Connections to a listener, whatever becomes of single ones."""

import asyncio
import errno
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing

import pytest

from proxy.config.addresses import Address
from proxy.net import listener as listening
from proxy.net.listener import bind, connections, waiting
from tests.patience import PATIENCE


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(scene(), PATIENCE)

    asyncio.run(limited())


def call(listener: socket.socket) -> socket.socket:
    return socket.create_connection(listener.getsockname())


async def first(found: AsyncGenerator[tuple[socket.socket, str]]) -> str:
    connection, other = await anext(found)
    connection.close()
    return other


def name(caller: socket.socket) -> str:
    host, port = caller.getsockname()
    return f"{host}:{port}"


def test_each_comes_with_its_other_end(listener: socket.socket) -> None:
    async def scene() -> None:
        with call(listener) as one, call(listener) as other:
            async with aclosing(connections(listener, "it")) as found:
                assert [await first(found), await first(found)] == [name(one), name(other)]

    play(scene)


def test_it_ends_when_the_listener_is_closed(listener: socket.socket) -> None:
    async def scene() -> None:
        seen = 0
        with call(listener):
            async for connection, _ in connections(listener, "it"):
                seen += 1
                connection.close()
                listener.close()
        assert seen == 1

    play(scene)


@pytest.mark.parametrize(("minute", "told"), [(3600.0, 1), (0.0, 3)])
def test_what_goes_wrong_is_told_once_a_minute_and_tried_again(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, minute: float, told: int
) -> None:
    """But nobody is told of a connection that was gone before it was accepted."""
    monkeypatch.setattr(listening, "_AGAIN", 0.0)
    monkeypatch.setattr(listening, "_TOLD_AGAIN", minute)
    wrong: list[OSError] = [OSError(errno.EMFILE, "Too many open files") for _ in range(3)]
    wrong.append(ConnectionAbortedError(errno.ECONNABORTED, "aborted"))

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        accept = loop.sock_accept

        async def failing(which: socket.socket) -> tuple[socket.socket, object]:
            if wrong:
                raise wrong.pop(0)
            return await accept(which)

        monkeypatch.setattr(loop, "sock_accept", failing)
        with call(listener) as caller:
            async with aclosing(connections(listener, "forward f")) as found:
                assert await first(found) == name(caller)

    play(scene)
    assert caplog.messages == ["forward f cannot accept: [Errno 24] Too many open files"] * told


def test_an_urgent_byte_of_who_connects_at_once_is_read_in_its_place() -> None:
    """An array tries all the time, and connects as soon as there is a listener, before there is its forward."""
    with bind(Address("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as array:
        connection, _ = listener.accept()
        with connection:
            array.send(b"X", socket.MSG_OOB)
            connection.settimeout(PATIENCE)
            assert connection.recv(1) == b"X"


def test_those_that_wait_are_taken_without_waiting_and_not_more_than_asked_for(listener: socket.socket) -> None:
    assert list(waiting(listener, 3)) == []
    with call(listener) as one, call(listener) as other, call(listener):
        found = list(waiting(listener, 2))
        assert [origin for _, origin in found] == [name(one), name(other)]
        for connection, _ in found:
            assert not connection.getblocking()
            connection.close()
    listener.close()
    assert list(waiting(listener, 3)) == []
