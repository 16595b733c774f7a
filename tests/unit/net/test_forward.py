"""A forward stops to accept; what it has accepted goes on."""

import asyncio
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from proxy.config import Address, parse
from proxy.net.forward import Forward
from proxy.net.listener import bind
from proxy.net.peer import Peer
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST


class FakeRelay:
    closed = False


def test_a_connection_that_is_being_joined_outlives_its_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to its relay already, so whoever ends accepting must not take it away."""
    joined = []
    config = parse(EAST.encode(), Path("nowhere/site.toml"), files=False).forwards[0]
    peer = SimpleNamespace(open=lambda *_: (FakeRelay(), ""))

    async def ending() -> None:
        loop = asyncio.get_running_loop()
        begun, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def join(_: Any, connection: socket.socket) -> None:
            begun.set()
            await go.wait()
            joined.append(connection.fileno())
            connection.close()
            done.set()

        monkeypatch.setattr(loop, "connect_accepted_socket", join)
        with bind(Address("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
            forward = Forward(config, cast(Peer, peer), listener, lambda _: None)
            accepting = loop.create_task(forward.run())
            await asyncio.wait_for(begun.wait(), PATIENCE)
            accepting.cancel()
            await asyncio.wait([accepting])
            go.set()
            await asyncio.wait_for(done.wait(), PATIENCE)
            assert forward.streams == 1

    asyncio.run(ending())
    assert joined
    assert joined[0] > 0
