"""What streams wait for, and leave behind if they end meanwhile: real peers and relays in a loop whose time jumps."""

import asyncio
import gc
import weakref
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest

from proxy.net.misses import AT_ONCE
from proxy.net.relay import Relay
from proxy.protocol.settings import TunnelSettings
from tests.simulation.relayed import Array, Sites, tell
from tests.unit.reduction.sites import noise

KIB, MIB = 1 << 10, 1 << 20
SAID = noise(64 * KIB, 7)


class Passed(NamedTuple):
    """A stream that has passed."""

    relay: Relay
    seconds: float


async def connected(sites: Sites) -> tuple[Array, Array, Relay]:
    """Both arrays of one more stream."""
    near, relay = sites.open()
    return near, await sites.target(), relay


async def out_of_step(sites: Sites) -> None:
    """The near site refers to all of SAID, and the far one has lost it."""
    near, far, _ = await connected(sites)
    near.say(SAID)
    await asyncio.sleep(1)
    near.end()
    far.end()
    await asyncio.sleep(1)
    assert far.got == SAID
    sites.far_store.lose(sites.loop.rng, 1.0)


def asking(sites: Sites) -> int:
    """How many streams of the far site have asked for what it lacks."""
    return sum(relay.traffic.misses > 0 for relay in sites.far.relays)


def test_streams_that_are_reset_while_they_ask_let_others_ask() -> None:
    async def story(sites: Sites) -> None:
        await out_of_step(sites)
        answers = sites.links[0].other
        quick, answers.delay = answers.delay, 10.0
        for _ in range(AT_ONCE):
            near, _, _ = await connected(sites)
            near.say(SAID)
        await asyncio.sleep(1)
        assert asking(sites) == AT_ONCE
        for relay in sites.near.relays:
            relay.connection_lost(ConnectionResetError())
        answers.delay = quick
        await asyncio.sleep(20)
        assert not sites.far.relays
        near, far, relay = await connected(sites)
        near.say(SAID)
        await asyncio.sleep(1)
        assert relay.traffic.fills
        assert far.got == SAID

    tell(story, TunnelSettings())


def test_what_is_asked_for_at_once_is_no_flood() -> None:
    """One chunk in thirty, of four streams that all have a window of references under way: they went on as literals."""
    said = [noise(16 * MIB, seed) for seed in range(4)]

    async def pass_over(sites: Sites) -> list[Relay]:
        streams = [await connected(sites) for _ in said]
        for (near, _, _), data in zip(streams, said, strict=True):
            near.say(data)
        await asyncio.sleep(10)
        for (near, far, _), data in zip(streams, said, strict=True):
            assert far.got == data
            near.end()
            far.end()
            near.forget()
            far.forget()
        await asyncio.sleep(1)
        return [relay for _, _, relay in streams]

    async def story(sites: Sites) -> None:
        await pass_over(sites)
        sites.far_store.lose(sites.loop.rng, 1 / 30)
        relays = await pass_over(sites)
        assert sum(relay.traffic.fills for relay in relays) > 64, "so few are forgiven"
        assert not sites.near.relays.references_suspended
        assert sum(relay.traffic.literal for relay in relays) < MIB

    tell(story, TunnelSettings(), delay=0.05, stored=128 * MIB)


def test_a_far_store_that_is_slower_than_the_line_is_given_what_it_can_read_and_the_line_the_rest() -> None:
    """2,000 chunks at 4 ms each are 7 s; the second stream knows of it from its beginning."""
    said = [noise(32 * MIB, seed) for seed in range(2)]

    async def story(sites: Sites) -> None:
        for data in said:
            await pass_over(sites, data)
        sites.far_store.cold, sites.far_store.sought = True, partial(sites.loop.spend, 0.004)
        first, second = [await pass_over(sites, data) for data in said]
        assert first.seconds > 7
        assert first.relay.traffic.relieved < 8 * MIB, "most was under way before the far site could say anything"
        assert second.seconds < 3
        assert 24 * MIB < second.relay.traffic.relieved < 32 * MIB

    async def pass_over(sites: Sites, data: bytes) -> Passed:
        began = sites.loop.time()
        near, far, relay = await connected(sites)
        near.say(data)
        while len(far.got) < len(data):
            await asyncio.sleep(1)
            for peer in (sites.near, sites.far):
                peer.relays.sample(sites.loop.time())
        assert far.got == data
        near.end()
        far.end()
        near.forget()
        far.forget()
        passed = Passed(relay, sites.loop.time() - began)
        await asyncio.sleep(1)
        return passed

    tell(story, TunnelSettings(), stored=128 * MIB)


@pytest.mark.parametrize("trips", [0.0, 0.02, 0.1])
@pytest.mark.parametrize(("near", "far"), [(MIB, 96 * MIB), (96 * MIB, MIB), (MIB, MIB)])
def test_the_smaller_one_of_two_windows_is_used_up_in_each_round_trip(near: int, far: int, trips: float) -> None:
    """Where the sender has it the 200 ms went by each time after which CREDIT is told in any case."""
    said = noise(8 * MIB, 8)

    async def story(sites: Sites) -> None:
        source, target, _ = await connected(sites)
        began, whole = sites.loop.time(), asyncio.Event()
        target.heard = lambda: whole.set() if len(target.got) == len(said) else None
        source.say(said)
        await whole.wait()
        assert sites.loop.time() - began < 10 * (trips + 0.01), "two to begin with"
        assert target.got == said

    settings, theirs = (TunnelSettings(window_max=window) for window in (near, far))
    tell(story, settings, delay=trips / 2, far=theirs)


def test_nothing_is_kept_of_a_stream_that_ended_before_the_disk_had_what_its_peer_missed() -> None:
    async def story(sites: Sites) -> None:
        await out_of_step(sites)
        sites.near_store.cold, sites.loop.delays = True, (1.0,)
        near, _, relay = await connected(sites)
        near.say(SAID)
        await asyncio.sleep(0.5)
        assert asking(sites)
        assert not relay.traffic.fills, "the disk has not answered"
        relay.connection_lost(ConnectionResetError())
        seen = weakref.ref(relay)
        del near, relay
        await asyncio.sleep(20)
        gc.collect()
        assert seen() is None

    tell(story, TunnelSettings())


def test_who_has_ended_stays_until_the_far_site_can_ask_for_nothing_more() -> None:
    """Also if the other array has ended long before."""

    async def story(sites: Sites) -> None:
        await out_of_step(sites)
        near, far, relay = await connected(sites)
        far.end()
        await asyncio.sleep(1)
        near.say(SAID)
        near.end()
        await asyncio.sleep(1)
        assert relay.traffic.fills
        assert (bytes(far.got), far.ended, relay.in_order) == (SAID, True, True)

    tell(story, TunnelSettings())


def test_a_source_is_read_again_when_what_it_sent_has_left() -> None:
    """Though nothing comes from the peer that would wake anybody: it was the queue that was full, not the window."""
    window, said = 640 * KIB, noise(560 * KIB)
    settings = TunnelSettings(
        initial_credit=window, opening_window=window, window_max=window, keepalive=1e6, dead_after=2e6
    )

    async def story(sites: Sites) -> None:
        near, far, _ = await connected(sites)
        sites.links[0].other.delay = 1e6
        near.say(said)
        await asyncio.sleep(0.5)
        assert near.unread, "it rests"
        await asyncio.sleep(10)
        assert near.reading
        assert far.got == said

    tell(story, settings, "1Mbit")


def test_a_source_is_read_again_when_more_may_be_unacknowledged() -> None:
    """A reload says so, and nothing comes from the peer that would wake anybody."""
    settings = TunnelSettings(unacked_max=256 * KIB, keepalive=1e6, dead_after=2e6)

    async def story(sites: Sites) -> None:
        near, _, _ = await connected(sites)
        await asyncio.sleep(1)
        sites.links[0].other.delay = 1e6
        near.say(noise(MIB))
        await asyncio.sleep(10)
        assert near.unread, "it rests"
        sites.allot_near(replace(settings, unacked_max=64 * MIB))
        await asyncio.sleep(0.5)
        assert not near.unread

    tell(story, settings)
