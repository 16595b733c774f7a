"""What the service manager is told: by datagrams to the socket that it names, and nothing where it names none."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.net.supervisor import Supervisor
from tests.patience import PATIENCE


@pytest.fixture
def listener(site_directory: Path) -> Iterator[socket.socket]:
    """The service manager's end; an "@" further on makes no abstract name of its path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(site_directory / "notify@east"))
        listener.settimeout(PATIENCE)
        yield listener


def test_its_life_is_told(listener: socket.socket) -> None:
    async def live() -> None:
        supervisor = Supervisor.of({"NOTIFY_SOCKET": listener.getsockname()})
        supervisor.ready("site east")
        supervisor.reloading()
        supervisor.ready("site east\nand more")
        supervisor.stopping(95.5)
        await supervisor.close()

    asyncio.run(live())
    assert listener.recv(4096) == b"READY=1\nSTATUS=site east"
    reloading, _, clock = listener.recv(4096).partition(b"\n")
    assert reloading == b"RELOADING=1"
    assert clock.removeprefix(b"MONOTONIC_USEC=").isdigit()
    assert listener.recv(4096) == b"READY=1\nSTATUS=site east and more"
    assert listener.recv(4096) == b"STOPPING=1\nSTATUS=drains\nEXTEND_TIMEOUT_USEC=95500000"


def test_what_is_told_may_name_a_path_of_any_bytes(listener: socket.socket) -> None:
    """An alarm of a store beside a file in a directory called in Latin-1: the site did not start, for a defect."""
    Supervisor.of({"NOTIFY_SOCKET": listener.getsockname()}).ready(
        f"delete copies in {os.fsdecode(b'caf' + bytes([0xE9]))}"
    )
    assert listener.recv(4096) == b"READY=1\nSTATUS=delete copies in caf\\udce9"


def test_a_start_that_takes_long_asks_for_time(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """And for no more when it is over."""
    monkeypatch.setattr("proxy.net.supervisor._STARTING", 0.02)

    async def start() -> None:
        supervisor = Supervisor.of({"NOTIFY_SOCKET": listener.getsockname()})
        async with supervisor.starting("opens its store"):
            for _ in range(2):
                told = await asyncio.to_thread(listener.recv, 4096)
                assert told == b"STATUS=opens its store\nEXTEND_TIMEOUT_USEC=90000000"
        await asyncio.sleep(0.05)
        listener.setblocking(False)
        while True:  # what was told meanwhile
            try:
                listener.recv(4096)
            except BlockingIOError:
                break
        await asyncio.sleep(0.1)
        with pytest.raises(BlockingIOError):
            listener.recv(4096)

    asyncio.run(start())


def test_an_abstract_name() -> None:
    name = f"isthmus-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(PATIENCE)
        Supervisor.of({"NOTIFY_SOCKET": f"@{name}"}).stopping(1.0)
        assert listener.recv(4096).startswith(b"STOPPING=1")


def test_signs_of_life_until_it_is_closed(listener: socket.socket) -> None:
    async def live() -> None:
        watched = {"WATCHDOG_USEC": "20000", "WATCHDOG_PID": str(os.getpid())}
        supervisor = Supervisor.of({"NOTIFY_SOCKET": listener.getsockname(), **watched})
        supervisor.ready("site east")
        for expected in (b"READY=1\nSTATUS=site east", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"):
            assert await asyncio.to_thread(listener.recv, 4096) == expected
        await supervisor.close()

    asyncio.run(live())


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nobody asks"),
        pytest.param({"NOTIFY_SOCKET": "relative"}, id="not a path"),
        pytest.param({"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "20000"}, id="nobody listens"),
    ],
)
def test_nothing_depends_on_it(environment: dict[str, str]) -> None:
    async def live() -> None:
        supervisor = Supervisor.of(environment)
        supervisor.ready("site east")
        await asyncio.sleep(0)
        supervisor.stopping(95.5)
        await supervisor.close()

    asyncio.run(live())


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param({"WATCHDOG_USEC": "0"}, id="none"),
        pytest.param({"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}, id="of another process"),
        pytest.param({"WATCHDOG_USEC": "soon"}, id="no number"),
    ],
)
def test_signs_that_nobody_wants_are_not_given(listener: socket.socket, wanted: dict[str, str]) -> None:
    async def live() -> None:
        supervisor = Supervisor.of({"NOTIFY_SOCKET": listener.getsockname(), **wanted})
        supervisor.ready("site east")
        for _ in range(10):
            await asyncio.sleep(0)
        supervisor.stopping(95.5)
        await supervisor.close()

    asyncio.run(live())
    assert listener.recv(4096).startswith(b"READY=1")
    assert listener.recv(4096).startswith(b"STOPPING=1")
