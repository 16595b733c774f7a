"""Forwards that come, go and change while a site runs: who listens, and where connections lead."""

import asyncio
import socket
from collections.abc import Coroutine
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from bench.sites import free_ports
from proxy.config.model import Forward as ForwardConfig
from proxy.errors import ExitCode, OperatorError
from proxy.net.forwards import Forwards
from proxy.net.listeners import listen_for
from proxy.net.peer import Peer
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST, site_of
from tests.unit.config.texts import NORTH


def forward(name: str, port: int, export: str = "array", peer: str = "west") -> str:
    return f'[[forward]]\nname = "{name}"\nlisten = "127.0.0.1:{port}"\npeer = "{peer}"\nexport = "{export}"\n'


class Bench:
    """Forwards to two peers, which refuse each connection and note what it asked for."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[str, str, str]] = asyncio.Queue()
        self.peers = {name: self._peer(name) for name in ("west", "north")}
        self.forwards = Forwards(self.peers, [], self._run)
        self._tasks: list[asyncio.Task[None]] = []

    def _peer(self, name: str) -> Peer:
        def opened(by: str, export: str, *_: object) -> tuple[None, str]:
            self.asked.put_nowait((name, by, export))
            return None, "this is a test"

        return cast(Peer, SimpleNamespace(name=name, relays=SimpleNamespace(open=opened)))

    def _run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        self._tasks.append(asyncio.get_running_loop().create_task(work))
        return self._tasks[-1]

    def change(self, *tables: str) -> None:
        configs = read(*tables)
        self.forwards.change(configs, listen_for(self.forwards.unheard(configs)))

    async def ask(self, port: int) -> tuple[str, str, str]:
        """Where a connection leads. Raises ConnectionRefusedError if nobody listens."""
        with socket.socket() as connection, suppress(ConnectionResetError):  # it is refused, perhaps at once
            await asyncio.to_thread(connection.connect, ("127.0.0.1", port))
        return await asyncio.wait_for(self.asked.get(), PATIENCE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.forwards.close()
        if self._tasks:
            await asyncio.wait(self._tasks)


def read(*tables: str) -> tuple[ForwardConfig, ...]:
    text = EAST.partition("[[forward]]")[0] + NORTH + "".join(tables)
    return site_of(text).forwards


def test_they_come_change_and_go() -> None:
    one, two = free_ports(2)

    async def scene() -> None:
        async with Bench() as bench:
            bench.change(forward("first", one))
            assert await bench.ask(one) == ("west", "first", "array")
            bench.change(forward("first", one, "other"), forward("second", two, peer="north"))
            assert await bench.ask(one) == ("west", "first", "other")
            assert await bench.ask(two) == ("north", "second", "array")
            bench.change(forward("third", two))
            assert await bench.ask(two) == ("west", "third", "array"), "the listener goes from one to the other"
            await asyncio.sleep(0)
            with pytest.raises(ConnectionRefusedError):
                await bench.ask(one)

    asyncio.run(scene())


def test_peers_come_and_go() -> None:
    one, two = free_ports(2)

    async def scene() -> None:
        async with Bench() as bench:
            north = bench.peers.pop("north")
            bench.change(forward("first", one))
            bench.peers["north"] = north
            bench.change(forward("first", one), forward("second", two, peer="north"))
            assert await bench.ask(two) == ("north", "second", "array")
            del bench.peers["north"]
            bench.change(forward("second", two))
            assert await bench.ask(two) == ("west", "second", "array")
            assert [*bench.forwards.portals] == ["west"]

    asyncio.run(scene())


def test_an_address_that_cannot_be_had_leaves_all_as_it_was() -> None:
    one, two, taken = free_ports(3)

    async def scene() -> None:
        async with Bench() as bench:
            bench.change(forward("first", one))
            with socket.create_server(("127.0.0.1", taken)):
                told = f"forward 'third' listen = 127.0.0.1:{taken}: .*in use"
                with pytest.raises(OperatorError, match=told) as found:
                    bench.change(forward("second", two), forward("third", taken))
                assert found.value.code == ExitCode.LISTEN
            assert await bench.ask(one) == ("west", "first", "array")
            with pytest.raises(ConnectionRefusedError):
                await bench.ask(two)
            bench.change(forward("second", two), forward("third", taken))
            assert await bench.ask(taken) == ("west", "third", "array"), "once it is free"

    asyncio.run(scene())
