"""A stream may be over before everything of it has begun: what was said arrives all the same."""

import asyncio
import gc
import random
from weakref import ReferenceType, ref

import pytest

from proxy.net.relay import Relay
from proxy.protocol.settings import TunnelSettings
from tests.simulation.relayed import Array, Sites, tell


def test_both_arrays_end_while_the_far_one_is_being_connected() -> None:
    """The relay has the connection before the event loop says so; the stream ends in between."""

    async def story(sites: Sites) -> None:
        sites.loop.delays = (1.0,)
        near, relay = sites.open()
        near.say(b"the last words")
        near.end()
        far = await sites.target()
        far.end()
        await asyncio.sleep(5)
        assert relay.in_order
        assert (bytes(far.got), far.ended, far.broken) == (b"the last words", True, False)
        assert (near.ended, near.broken) == (True, False)
        assert not sites.far.relays.leaving

    tell(story, TunnelSettings(), delay=0.0)


@pytest.mark.parametrize("side", ["near", "far"])
def test_arrays_that_do_not_take_their_last_bytes_are_no_more_than_streams_may_be(side: str) -> None:
    """Each keeps a socket and up to a megabyte for two minutes, and its stream has ended: so they came by hundreds."""

    async def story(sites: Sites) -> None:
        kept: list[Array] = []
        for _ in range(2):
            near, relay = sites.open()
            far = await sites.target()
            kept.append(near if side == "near" else far)
            kept[-1].close = lambda: None  # type: ignore[method-assign]
            near.end()
            far.end()
            await asyncio.sleep(5)
            assert relay.in_order
        another, refusal = sites.near.relays.open("replication", "array", "there")
        await asyncio.sleep(5)
        reason = refusal if another is None else another.reason
        assert "the arrays of 2 streams that have ended have not taken their last bytes yet" in reason
        for array in kept:
            array.let_go()
        near, relay = sites.open()
        near.say(b"again")
        await asyncio.sleep(5)
        assert bytes((await sites.target()).got) == b"again"

    tell(story, TunnelSettings(streams=2))


@pytest.mark.parametrize("looked_at", [True, False])
def test_streams_that_end_while_the_store_reads_for_them_are_no_more_than_streams_may_be(looked_at: bool) -> None:
    """A disk reads less in a second than a peer can open streams, have each wait for a chunk, and reset them.

    Once it has read, they are forgotten in the next second, and keep no stream from beginning before that.
    """

    async def story(sites: Sites) -> None:
        content = random.Random(1).randbytes(1 << 20)
        near, relay = sites.open()
        near.say(content)
        await asyncio.sleep(5)
        sites.far_store.cold, sites.loop.delays = True, (10.0,)
        reasons, ended = list[str](), list[ReferenceType[Relay]]()
        for _ in range(3):
            await sites.target()
            ended += map(ref, sites.far.relays)
            relay.array_lost()
            near, relay = sites.open()
            near.say(content)
            await asyncio.sleep(1)
            reasons.append(relay.reason)
        assert reasons[:2] == ["", ""]
        assert "2 streams that have ended still wait for the store" in reasons[2]
        await asyncio.sleep(20)
        if looked_at:
            sites.far.sample()
            gc.collect()
            assert [relay() for relay in ended] == [None, None, None]
        sites.loop.delays = (0.0,)
        near, relay = sites.open()
        near.say(content)
        await asyncio.sleep(5)
        assert not relay.reason
        assert bytes((await sites.target()).got) == content

    tell(story, TunnelSettings(streams=2))
