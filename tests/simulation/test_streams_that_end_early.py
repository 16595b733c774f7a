"""A stream may be over before everything of it has begun: what was said arrives all the same."""

import asyncio

import pytest

from dedupstore.chunker import Chunker
from proxy.protocol.tunnel import TunnelSettings
from tests.simulation.clockwork import Clockwork
from tests.simulation.relayed import Sites

KIB, MIB = 1 << 10, 1 << 20


def test_both_arrays_end_while_the_far_one_is_being_connected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relay has the connection before the event loop says so; the stream ends in between."""
    loop = Clockwork(1)

    async def story() -> None:
        sites = Sites(loop, TunnelSettings(), Chunker(4 * KIB, 16 * KIB, 64 * KIB), "tcp", "")
        monkeypatch.setattr("proxy.net.peer.connect", sites.connect)
        sites.dial(0.0, 16 * MIB)
        await asyncio.sleep(1)
        loop.delays = (1.0,)
        near, relay = sites.open()
        near.say(b"the last words")
        near.end()
        far = await sites.target()
        far.end()
        await asyncio.sleep(5)
        assert relay.in_order
        assert (bytes(far.got), far.ended, far.broken) == (b"the last words", True, False)
        assert (near.ended, near.broken) == (True, False)
        assert not sites.far.leaving
        sites.close()

    try:
        loop.run_until_complete(story())
    finally:
        loop.close()
    assert loop.errors == []
