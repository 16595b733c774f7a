"""A relay whose array is connected, and that has a peer which does what a test says."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import MagicMock

from proxy.net.coders import Coders
from proxy.net.misses import Misses
from proxy.net.relay import Relay
from proxy.net.rounds import Rounds
from proxy.reduction.encoder import READ_BYTES
from proxy.reduction.windows import ContextMemory
from tests.unit.net.tcp import tcp_pair
from tests.unit.reduction.sites import Site, decoder_of, encoder_of, noise


@dataclass
class Connected:
    """A relay whose array is connected, and what it sees of the rest."""

    relay: Relay
    owner: Any
    transport: Any
    near: socket.socket
    """Its end of the array's connection."""
    far: socket.socket
    """The array's."""

    def read(self, n: int = 0) -> None:
        """So many bytes, or as many as it asks for."""
        self.relay.buffer_updated(n or len(self.relay.get_buffer(0)))


@contextmanager
def connection(here: Site, memory: ContextMemory | None = None, without: str = "") -> Iterator[Connected]:
    """At that site, with that memory for contexts; the loop is the tests'. `without`: what was not agreed on."""
    decoder = decoder_of(here, memory, without=without)
    owner, coders = MagicMock(), Coders(encoder_of(here), decoder)
    owner.worker.congested = owner.turns.spend.return_value = owner.streams.credit_due.return_value = False
    owner.rounds = Rounds(lambda: 0.0)
    owner.grain = owner.streams.grain.return_value = 16 << 10
    owner.streams.sendable.return_value, owner.streams.send_data.return_value = 1 << 20, 1
    relay = Relay(owner, 1, "array", "here", coders, opener=True)
    owner.misses = Misses(owner.streams.send_miss, owner.pump)
    with tcp_pair() as (near, far):
        transport = MagicMock(spec=asyncio.Transport)
        transport.get_extra_info.return_value = near
        relay.connection_made(transport)
        yield Connected(relay, owner, transport, near, far)


def resting(connected: Connected) -> None:
    """The tunnel has no credit."""
    connected.owner.streams.sendable.return_value = 0
    connected.owner.streams.flow.return_value = None
    connected.relay.get_buffer(0)[:] = noise(READ_BYTES)
    connected.read()
    connected.transport.pause_reading.assert_called_once_with()


def ended(connected: Connected) -> None:
    """The array has said all it had to."""
    connected.relay.eof_received()
