"""What tests of the network layer share."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.unit.net.connected import Connected, connection
from tests.unit.net.loop import Loop
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import site


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    """The running loop, as far as what is tested knows."""
    loop = Loop()
    monkeypatch.setattr(asyncio, "get_running_loop", lambda: loop)
    return loop


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


@pytest.fixture
def connected(loop: Loop) -> Iterator[Connected]:
    with connection(site(ShelfStore())) as made:
        yield made
