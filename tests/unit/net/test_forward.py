"""A forward stops to accept; what it has accepted goes on."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvloop

from proxy.config.addresses import Address
from proxy.config.loading import parse
from proxy.net import forward as forwarding
from proxy.net.forward import FEW, Forward
from proxy.net.listener import bind
from proxy.net.peer import Peer
from tests.patience import PATIENCE
from tests.unit.config.contract import EAST

ARRIVED = 24
ROUNDS = 25
"""Of the loop, in which all of them are to be joined to their streams. One after the other they took five each."""


class FakeRelay(asyncio.Protocol):
    when_closed: Callable[["FakeRelay"], None]


def test_a_connection_that_is_being_joined_outlives_its_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to its relay already, so whoever ends accepting must not take it away."""
    joined = []
    config = parse(EAST.encode(), Path("nowhere/site.toml"), files=False).forwards[0]
    peer = SimpleNamespace(relays=SimpleNamespace(open=lambda *_: (FakeRelay(), "")))

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


def test_a_connection_that_is_accepted_as_its_forward_ends_is_reset() -> None:
    """Nobody takes it any more. An orderly end would say that the far array had nothing to say."""
    config = parse(EAST.encode(), Path("nowhere/site.toml"), files=False).forwards[0]

    async def ending() -> bytes:
        peer = SimpleNamespace(relays=SimpleNamespace(open=lambda *_: (None, "it is too late")))
        with bind(Address("127.0.0.1", 0)) as listener:
            accepting = asyncio.create_task(Forward(config, cast(Peer, peer), listener, lambda _: None).run())
            await asyncio.sleep(0)
            with socket.create_connection(listener.getsockname(), PATIENCE) as array:
                for _ in range(ROUNDS):
                    if accepting._fut_waiter.done():  # type: ignore[attr-defined]
                        break
                    await asyncio.sleep(0)
                accepting.cancel()
                await asyncio.wait([accepting])
                gc.collect()
                return array.recv(1)

    with pytest.warns(ResourceWarning), pytest.raises(ConnectionResetError):
        uvloop.run(ending())


def test_what_has_ended_is_let_go_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds that ended together were held until another connection came, with all that they are made of."""
    config = parse(EAST.encode(), Path("nowhere/site.toml"), files=False).forwards[0]
    relays = [FakeRelay(), FakeRelay()]
    waiting = list(relays)
    peer = SimpleNamespace(relays=SimpleNamespace(open=lambda *_: (waiting.pop(), "")))

    async def accepting() -> Forward:
        joined = asyncio.Semaphore(0)

        async def join(_: Any, connection: socket.socket) -> None:
            connection.close()
            joined.release()

        monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", join)
        with bind(Address("127.0.0.1", 0)) as listener, ExitStack() as stack:
            forward = Forward(config, cast(Peer, peer), listener, lambda _: None)
            running = asyncio.create_task(forward.run())
            for _ in relays:
                stack.enter_context(socket.create_connection(listener.getsockname()))
                await asyncio.wait_for(joined.acquire(), PATIENCE)
            running.cancel()
            await asyncio.wait([running])
        return forward

    forward = asyncio.run(accepting())
    assert forward.streams == len(relays)
    for relay in relays:
        relay.when_closed(relay)
    assert forward.streams == 0
    held = [weakref.ref(relay) for relay in relays]
    del relay, relays[:]
    assert [ref() for ref in held] == [None, None]


@pytest.mark.parametrize(
    ("long", "live", "least", "most"),
    [(-1.0, 0, ARRIVED, ARRIVED), (-1.0, FEW + 1, 1, 8), (PATIENCE, 0, 1, 8)],
    ids=["busy", "busy itself", "idle"],
)
def test_connections_that_have_come_are_joined_together_if_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, long: float, live: int, least: int, most: int
) -> None:
    """A busy loop comes round rarely: beside 30 streams of bulk to another peer 7 connections a second were let in.

    But 32 known streams that begin together took 1.4 times as long as one after the other. `live`: connections of the
    forward before, which may be what keeps the loop busy.
    """
    monkeypatch.setattr(forwarding, "LONG", PATIENCE)
    config = parse(EAST.encode(), Path("nowhere/site.toml"), files=False).forwards[0]
    joined: list[asyncio.Transport] = []

    class Joined(FakeRelay):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            joined.append(cast(asyncio.Transport, transport))

    async def accepting() -> None:
        peer = SimpleNamespace(relays=SimpleNamespace(open=lambda *_: (Joined(), "")))
        with ExitStack() as stack:
            listener = stack.enter_context(bind(Address("127.0.0.1", 0)))
            forward = Forward(config, cast(Peer, peer), listener, lambda _: None)
            running = asyncio.create_task(forward.run())
            for _ in range(live):
                stack.enter_context(socket.create_connection(listener.getsockname()))
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            assert len(joined) == live
            monkeypatch.setattr(forwarding, "LONG", long)
            for _ in range(ARRIVED):
                stack.enter_context(socket.create_connection(listener.getsockname()))
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            assert least <= len(joined) - live <= most
            assert len(joined) - live <= forward.accepted - live <= most
            running.cancel()
            await asyncio.wait([running])
            for transport in joined:
                transport.abort()
            await asyncio.sleep(0)

    uvloop.run(accepting())


@pytest.mark.parametrize("knows", [True, False])
def test_a_peer_that_knows_no_ranges_any_more_is_not_asked_for_an_address(
    caplog: pytest.LogCaptureFixture, knows: bool
) -> None:
    """It may have gone back to an older version since the forward was opened on demand."""
    range_ = 'range = "10.1.0.0/24"\nports = "3300-3310"\n'
    config = parse((EAST + range_).encode(), Path("nowhere/site.toml"), files=False).forwards[0]
    asked: list[str] = []

    def opened(name: str, export: str, *_: object) -> tuple[None, str]:
        asked.append(export)
        return None, "it is only asked"

    async def connecting() -> None:
        tunnel = SimpleNamespace(agreement=object(), agreed=lambda _: knows)
        peer = cast(Peer, SimpleNamespace(relays=SimpleNamespace(open=opened), tunnel=tunnel))
        with bind(Address("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
            forward = Forward(config, peer, listener, lambda _: None, portal=Address("10.1.0.77", 3260))
            accepting = asyncio.create_task(forward.run())
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            accepting.cancel()
            await asyncio.wait([accepting])

    asyncio.run(asyncio.wait_for(connecting(), PATIENCE))
    assert asked == (["array@10.1.0.77:3260"] if knows else [])
    assert knows or "the peer's version knows no ranges" in caplog.text
