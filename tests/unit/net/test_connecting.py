"""Connecting to a name with several addresses, and handing a connection to the loop."""

import asyncio
import contextlib
import errno
import gc
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import uvloop

from proxy.config.addresses import Address
from proxy.doctor.facts import Contact
from proxy.net import connecting
from proxy.net.endings import reset_connection
from proxy.net.probing import reach_address
from tests.patience import eventually
from tests.unit.net.tcp import tcp_pair


def test_an_address_that_does_not_answer_hides_no_other(deaf: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    async def connected() -> tuple[str, int]:
        def two(*_: object, **__: object) -> list[tuple[object, ...]]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", where) for where in (deaf, listener.getsockname())]

        monkeypatch.setattr(socket, "getaddrinfo", two)
        with await connecting.connect(Address("two.example", 1)) as connection:
            found: tuple[str, int] = connection.getpeername()
            return found

    monkeypatch.setattr(connecting, "ADDRESS_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert asyncio.run(connected()) == listener.getsockname()


def link_local() -> Iterator[str]:
    """Those of this host, with their scopes."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text().splitlines():
            digits, *_, interface = line.split()
            if (address := ipaddress.IPv6Address(int(digits, 16))).is_link_local:
                yield f"{address}%{interface}"


def test_a_link_local_address_is_reached_by_its_interface() -> None:
    if (host := next(link_local(), None)) is None:
        pytest.skip("this host has no link-local address")
    *_, where = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with (
        socket.create_server(where, family=socket.AF_INET6) as listener,
        uvloop.run(connecting.connect(Address(host, listener.getsockname()[1]))) as connection,
    ):
        assert connection.getpeername() == listener.getsockname()


NO_FAMILY = 99
"""As IPv6 where the kernel was told to have none: EAFNOSUPPORT, before there is a socket."""


@pytest.mark.parametrize("family", [socket.AF_INET, NO_FAMILY])
@pytest.mark.parametrize("first", [True, False])
def test_what_an_address_says_is_told_where_others_have_no_way(
    first: bool, family: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of IPv4 and IPv6, and a host without IPv6: that the peer does not listen was told as a missing route."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    nowhere = ("255.255.255.255", 1)  # as IPv6 where nothing leads: ENETUNREACH
    ways = [(socket.AF_INET, closed), (family, nowhere)]
    found = [(each, socket.SOCK_STREAM, 0, "", where) for each, where in ways]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found if first else found[::-1])
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(connecting.connect(Address("two.example", 1)))
    assert reach_address(Address("two.example", 1), 1.0).contact is Contact.REFUSED


def test_where_there_is_no_way_at_all_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("255.255.255.255", 1))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(OSError, match="unreachable"):
        asyncio.run(connecting.connect(Address("one.example", 1)))
    assert reach_address(Address("one.example", 1), 1.0).contact is Contact.UNREACHABLE


def test_for_an_ip_address_nobody_is_asked() -> None:
    """Each connection to an export made a task for that, and went round the loop once more."""
    made: list[object] = []

    def noted(loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> Any:
        made.append(work)
        return asyncio.Task(work, loop=loop, **more)

    async def connected() -> None:
        asyncio.get_running_loop().set_task_factory(noted)
        with await connecting.connect(Address(*listener.getsockname())):
            assert made == []

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(connected())


class NameServer:
    """Answers a question when it is told to: nobody knows the name."""

    def __init__(self) -> None:
        self.questions = 0
        self._answers = threading.Semaphore(0)

    def getaddrinfo(self, *_: object, **__: object) -> list[object]:
        self.questions += 1
        self._answers.acquire()
        raise socket.gaierror("nobody knows it")

    def answer(self) -> None:
        self._answers.release()

    async def asked(self, questions: int) -> None:
        """Wait until so many have come: by threads, which a busy machine lets run when it likes."""
        await eventually(lambda: self.questions >= questions)


@pytest.fixture
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    server = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", server.getaddrinfo)
    yield server
    for _ in range(server.questions):
        server.answer()


NAME = Address("two.example", 1)


def test_those_who_ask_for_a_name_at_once_share_the_question(name_server: NameServer) -> None:
    """Also those who come when the first one has given up; the next question is asked when that one is answered."""

    async def scene() -> None:
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(connecting.connect(NAME), 0.01)
        await name_server.asked(1)
        waiting = [asyncio.create_task(connecting.connect(NAME)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert name_server.questions == 1
        name_server.answer()
        assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [socket.gaierror] * 3
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connecting.connect(NAME), 0.01)
        await name_server.asked(2)
        assert name_server.questions == 2

    asyncio.run(scene())


def test_a_loop_that_ends_waits_for_no_name_server(name_server: NameServer) -> None:
    """A site that has stopped is gone at once, though the line to the name servers is out as well."""

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(connecting.connect(NAME), 0.01)
        await name_server.asked(1)

    uvloop.run(scene())


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


@pytest.mark.parametrize("again_after", [None, 0, 1, 2, 3])
def test_a_handshake_that_is_given_up_while_the_other_side_resets_leaves_no_error_to_nobody(
    again_after: int | None,
) -> None:
    """At whatever moment: one of them was logged as a defect, when both sites of a pair ended at once.

    And however often: another one was where its time was over just when the site stopped.
    """
    unheard: list[str] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def given_up(cancelled_in: int, reset_in: int) -> None:
        with tcp_pair() as (near, far):
            near.setblocking(False)
            making = asyncio.ensure_future(
                connecting.take_over(near, asyncio.Protocol, ssl=context, server_hostname="west")
            )
            again_in = None if again_after is None else cancelled_in + again_after
            for round_ in range(9):
                if round_ == reset_in:
                    reset_connection(far)
                    far.close()
                if round_ in (cancelled_in, again_in):
                    making.cancel()
                await asyncio.sleep(0)
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await making

    async def at_all_moments() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unheard.append(str(context)))
        for cancelled_in in range(1, 6):
            for reset_in in range(7):
                await given_up(cancelled_in, reset_in)
        await asyncio.sleep(0.05)
        gc.collect()
        loop.set_exception_handler(None)

    uvloop.run(at_all_moments())
    assert unheard == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)"), "Connection refused"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "Broken pipe"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
        (OSError("array has no address"), "array has no address"),
        (TimeoutError(), ""),
    ],
)
def test_failures_are_told_in_the_systems_words(error: Exception, words: str) -> None:
    assert connecting.in_words(error) == words
