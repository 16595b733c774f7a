"""A forward stops to accept; what it has accepted goes on."""

import asyncio
import gc
import socket
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvloop

from proxy.config.addresses import Address
from proxy.net import forward as forwarding
from proxy.net.forward import FEW, Forward
from proxy.net.listener import bind
from proxy.net.peer import Peer
from tests.patience import PATIENCE, eventually
from tests.unit.config.contract import EAST, site_of

ARRIVED = 24
ROUNDS = 25
"""Of the loop, in which all of them are to be joined to their streams. One after the other they took five each."""


class FakeRelay(asyncio.Protocol):
    when_closed: Callable[["FakeRelay"], None]


def peer_that(opens: Callable[..., tuple[FakeRelay | None, str]], **more: Any) -> Peer:
    """A peer that opens streams so: a relay, or why there is none."""
    return cast(Peer, SimpleNamespace(relays=SimpleNamespace(open=opens), **more))


@dataclass
class Accepting:
    """A forward at work."""

    forward: Forward
    address: tuple[str, int]
    task: "asyncio.Task[None]"

    def connect(self) -> socket.socket:
        """An array's connection, which is made by the kernel alone."""
        return socket.create_connection(self.address, PATIENCE)

    async def stop(self) -> None:
        """Accept no more."""
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def accepting(peer: Peer, more: str = "", *, portal: Address | None = None) -> AsyncIterator[Accepting]:
    """A forward like east's to that peer, with `more` keys; it accepts until the end, or until it is stopped."""
    (config,) = site_of(EAST + more).forwards
    with bind(Address("127.0.0.1", 0)) as listener:
        forward = Forward(config, peer, listener, lambda _: None, portal=portal)
        running = Accepting(forward, listener.getsockname(), asyncio.create_task(forward.run()))
        try:
            yield running
        finally:
            await running.stop()


def test_a_connection_that_is_being_joined_outlives_its_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to its relay already, so whoever ends accepting must not take it away."""
    joined = []

    async def ending() -> None:
        begun, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def join(_: Any, connection: socket.socket) -> None:
            begun.set()
            await go.wait()
            joined.append(connection.fileno())
            connection.close()
            done.set()

        monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", join)
        async with accepting(peer_that(lambda *_: (FakeRelay(), ""))) as site:
            with site.connect():
                await asyncio.wait_for(begun.wait(), PATIENCE)
                await site.stop()
                go.set()
                await asyncio.wait_for(done.wait(), PATIENCE)
                assert site.forward.streams == 1

    asyncio.run(ending())
    assert joined
    assert joined[0] > 0


def test_a_connection_that_is_accepted_as_its_forward_ends_is_reset() -> None:
    """Nobody takes it any more. An orderly end would say that the far array had nothing to say."""

    async def ending() -> bytes:
        async with accepting(peer_that(lambda *_: (None, "it is too late"))) as site:
            await asyncio.sleep(0)
            with site.connect() as array:
                await eventually(site.task._fut_waiter.done, 0.0)  # type: ignore[attr-defined]
                await site.stop()
                gc.collect()
                return array.recv(1)

    with pytest.warns(ResourceWarning), pytest.raises(ConnectionResetError):
        uvloop.run(ending())


def test_what_has_ended_is_let_go_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds that ended together were held until another connection came, with all that they are made of."""
    relays = [FakeRelay(), FakeRelay()]
    waiting = list(relays)

    async def accept_all() -> Forward:
        joined = asyncio.Semaphore(0)

        async def join(_: Any, connection: socket.socket) -> None:
            connection.close()
            joined.release()

        monkeypatch.setattr(asyncio.get_running_loop(), "connect_accepted_socket", join)
        async with accepting(peer_that(lambda *_: (waiting.pop(), ""))) as site:
            for _ in relays:
                with site.connect():
                    await asyncio.wait_for(joined.acquire(), PATIENCE)
        return site.forward

    forward = asyncio.run(accept_all())
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
    joined: list[asyncio.Transport] = []

    class Joined(FakeRelay):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            joined.append(cast(asyncio.Transport, transport))

    async def scene() -> None:
        async with accepting(peer_that(lambda *_: (Joined(), ""))) as site:
            with ExitStack() as stack:
                for _ in range(live):
                    stack.enter_context(site.connect())
                await eventually(lambda: len(joined) == live)
                monkeypatch.setattr(forwarding, "LONG", long)
                for _ in range(ARRIVED):
                    stack.enter_context(site.connect())
                for _ in range(ROUNDS):
                    await asyncio.sleep(0)
                assert least <= len(joined) - live <= most
                assert len(joined) - live <= site.forward.accepted - live <= most
                await site.stop()
                for transport in joined:
                    transport.abort()
                await asyncio.sleep(0)

    uvloop.run(scene())


@pytest.mark.parametrize("knows", [True, False])
def test_a_peer_that_knows_no_ranges_any_more_is_not_asked_for_an_address(
    caplog: pytest.LogCaptureFixture, knows: bool
) -> None:
    """It may have gone back to an older version since the forward was opened on demand."""
    asked: list[str] = []

    def opened(name: str, export: str, *_: object) -> tuple[None, str]:
        asked.append(export)
        return None, "it is only asked"

    async def connecting() -> None:
        tunnel = SimpleNamespace(agreement=object(), agreed=lambda _: knows)
        more = 'range = "10.1.0.0/24"\nports = "3300-3310"\n'
        async with accepting(peer_that(opened, tunnel=tunnel), more, portal=Address("10.1.0.77", 3260)) as site:
            with site.connect():
                await eventually(lambda: bool(asked or caplog.messages))

    asyncio.run(connecting())
    assert asked == (["array@10.1.0.77:3260"] if knows else [])
    assert knows or "the peer's version knows no ranges" in caplog.text
