"""Who the peers of a site are, while its file changes. The peers are not real: only what is had of them."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from proxy.config.loading import parse
from proxy.net import peers as module
from proxy.net.environment import Environment
from proxy.net.peers import Peers
from proxy.protocol.codes import CloseCode
from tests.unit.config.contract import EAST

NORTH = EAST + '[[peer]]\nname = "north"\naddress = "192.0.2.9:4500"\ncertificate = "north.crt"\n'


class Leaving:
    """A relay whose array has not taken the last bytes: once a second it is seen to that this has an end."""

    def __init__(self) -> None:
        self.looked = 0

    def sample(self) -> None:
        self.looked += 1


class Bench:
    """A site's peers, by the text of its file."""

    def __init__(self, text: str) -> None:
        self.environment = cast(Environment, MagicMock(config=_parsed(text)))
        self.peers = Peers(self.environment, MagicMock(), self._run)
        self.peers.begin()

    def _run(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        return asyncio.get_running_loop().create_task(work)

    def change(self, text: str) -> None:
        self.environment.config = _parsed(text)
        self.peers.change()


def _parsed(text: str) -> Any:
    return parse(text.encode(), Path("nowhere/site.toml"), files=False)


def peer_in_name(environment: Environment, own: Any) -> Any:
    """In place of a Peer."""
    relays = MagicMock(leaving=set())
    peer = MagicMock(address=own.address, relays=relays)
    peer.name = own.name
    type(peer).busy = property(lambda _: bool(relays.leaving))
    peer.lanes.wanted = asyncio.Event()
    return peer


def play(monkeypatch: pytest.MonkeyPatch, scene: Callable[[Bench], Coroutine[Any, Any, None]], text: str) -> None:
    async def played() -> None:
        await scene(Bench(text))

    monkeypatch.setattr(module, "Peer", peer_in_name)
    asyncio.run(played())


def test_arrays_take_their_last_bytes_of_a_peer_that_was_dismissed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without limit of time otherwise; and a site that drained did not wait for them."""

    async def scene(bench: Bench) -> None:
        north, relay = bench.peers["north"], Leaving()
        north.relays.leaving.add(cast(Any, relay))
        bench.change(EAST)
        assert [*bench.peers] == ["west"]
        assert cast(Any, north).end.call_args.args[0] is CloseCode.SHUTDOWN
        bench.peers.sample()
        assert (relay.looked, bench.peers.busy) == (1, True)
        north.relays.leaving.clear()
        bench.peers.sample()
        bench.peers.sample()
        assert (relay.looked, bench.peers.busy) == (1, False)

    play(monkeypatch, scene, NORTH)
