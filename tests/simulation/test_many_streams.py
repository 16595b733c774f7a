"""What a second costs with many streams that rest, in calls of functions: an array keeps its connections for days."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.net.coders import Coders
from proxy.net.peer import Peer
from proxy.net.survey import busiest
from proxy.observe.waiting import Waiting
from proxy.protocol.settings import TunnelSettings
from tests.effort import calls
from tests.simulation.relayed import Sites, tell

MANY = 100


async def at_rest(sites: Sites, count: int) -> int:
    """Open so many streams more; what a second costs when they have moved nothing for one."""
    for _ in range(count):
        sites.open()
        await sites.target()
    await asyncio.sleep(1)
    second(sites.near, sites.loop.time())
    await asyncio.sleep(1)
    return calls(lambda: second(sites.near, sites.loop.time()))


def second(peer: Peer, now: float) -> None:
    """What is done each second, of all that depends on streams."""
    peer.relays.sample(now)
    peer.relays.lookout.verdict()
    peer.relays.traffic()
    assert peer.relays.lookout.waited[Waiting.SOURCE]


def test_a_second_takes_few_calls_for_each_stream_that_rests() -> None:
    """With 215 a thousand that moved nothing held up all others for 45 ms in each second."""

    async def story(sites: Sites) -> None:
        few = await at_rest(sites, 1)
        assert (await at_rest(sites, MANY) - few) / MANY <= 90

    tell(story, TunnelSettings(streams=MANY + 1))


def test_a_stream_is_described_in_few_calls() -> None:
    """And passed over in fewer: with 630 an answer that told of a thousand held up all others for 0.15 s, and with 75
    whoever only looked at the page had the busiest chosen for him for 4 ms in each second."""

    async def story(sites: Sites) -> None:
        for _ in range(10):
            await at_rest(sites, MANY // 10)
        site: Any = SimpleNamespace(peers={"east": sites.near})
        few, none = busiest(site, MANY), calls(lambda: busiest(site, 1))
        assert len(few) == MANY
        assert none / MANY <= 45
        assert (calls(lambda: busiest(site, MANY)) - none) / MANY <= 350

    tell(story, TunnelSettings(streams=MANY))


def test_coders_are_asked_what_they_count_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what all streams have moved. It was done for what each has waited for as well, 25 calls where it is iSCSI."""
    asked: list[Coders] = []
    monkeypatch.setattr(Coders, "note", lambda coders, traffic: asked.append(coders))

    async def story(sites: Sites) -> None:
        await at_rest(sites, 5)
        asked.clear()
        second(sites.near, sites.loop.time())
        assert len(asked) == len(set(asked)) == 5

    tell(story, TunnelSettings())
