"""An array that has answered is not out of reach because the site stood still meanwhile."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import cast

import pytest
import uvloop

from proxy.config.addresses import Address
from proxy.net.arrays import Arrays
from proxy.net.relay import Relay
from proxy.net.within import Within
from proxy.observe.refusals import Refusals
from proxy.protocol.codes import ResetCode
from tests.patience import PATIENCE
from tests.simulation.clockwork import Clockwork, played

TIMEOUT = 0.3
ADD_WRITER = uvloop.Loop.add_writer


class Stream(asyncio.Protocol):
    """As much of a relay as a connection to an array needs."""

    stream, name, share, destination = 1, "array", "export array", "array"

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.came.set_result("connected")
        cast(asyncio.Transport, transport).abort()

    def close(self, code: ResetCode, reason: str) -> None:
        self.came.set_result(reason)


def interrupted(loop: uvloop.Loop, connection: socket.socket, told: Callable[[], None]) -> None:
    """Await the answer of a connection; before it the site stands still, as a process that was stopped."""
    time.sleep(3 * TIMEOUT)
    ADD_WRITER(loop, connection, told)


def test_an_array_that_answered_while_the_site_stood_still_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(listener: socket.socket) -> str:
        stream = Stream()
        Arrays(Refusals(time.monotonic), lambda: TIMEOUT).connect(cast(Relay, stream), Address(*listener.getsockname()))
        return await stream.came

    monkeypatch.setattr(uvloop.Loop, "add_writer", interrupted)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert uvloop.run(scene(listener)) == "connected"


def test_a_defect_ends_the_stream(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody else would: the other array waited until it lost patience, and its place was taken for as long."""

    async def scene() -> str:
        stream = Stream()
        arrays = Arrays(Refusals(time.monotonic), lambda: TIMEOUT)
        arrays.connect(cast(Relay, stream), Address("127.0.0.1", 1))
        async with asyncio.timeout(PATIENCE):
            return await stream.came

    async def broken(*_: object, **__: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr("proxy.net.arrays.connect", broken)
    assert uvloop.run(scene()) == "a defect: ArithmeticError"
    (record,) = caplog.records
    assert record.exc_info is not None


@pytest.mark.parametrize(("still", "blamed"), [(True, []), (False, ["no answer in 0 s, then it was given up"])])
def test_what_the_other_array_waited_while_the_site_stood_still_is_not_its_fault(
    still: bool, blamed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(listener: socket.socket) -> list[str]:
        refusals, relay = Refusals(time.monotonic), cast(Relay, Stream())
        arrays = Arrays(refusals, lambda: TIMEOUT)
        arrays.connect(relay, Address(*listener.getsockname()))
        await asyncio.sleep(0 if still else TIMEOUT / 2)
        if still:
            cast(Clockwork, asyncio.get_running_loop()).spend(3 * TIMEOUT)
        arrays.give_up(relay)
        await asyncio.sleep(0)
        return [each.words.rpartition(": ")[2] for each in refusals.status()]

    monkeypatch.setattr("proxy.net.arrays.ADDRESS_SECONDS", TIMEOUT / 4)
    monkeypatch.setattr(Clockwork, "add_writer", lambda *_: None)  # the answer does not come
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert played(scene(listener)) == blamed


def test_one_that_does_not_answer_is_given_up_in_time() -> None:
    async def scene() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(TimeoutError):
            async with Within(TIMEOUT):
                await asyncio.Event().wait()
        return loop.time() - began

    assert played(scene()) == pytest.approx(TIMEOUT)


def test_an_address_that_does_not_answer_hides_no_other_in_a_short_time(
    monkeypatch: pytest.MonkeyPatch, deaf: tuple[str, int]
) -> None:
    """Whatever `tunnel.connect_timeout` is: a controller's port that is down was all that was ever tried."""

    async def scene() -> str:
        stream = Stream()
        Arrays(Refusals(time.monotonic), lambda: 2.0).connect(cast(Relay, stream), Address("two.example", 1))
        return await stream.came

    with socket.create_server(("127.0.0.1", 0)) as good:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", each) for each in (deaf, good.getsockname())]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        assert uvloop.run(scene()) == "connected"
