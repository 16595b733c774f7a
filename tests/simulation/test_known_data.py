"""What the far site knows takes no longer than what is new, in round trips: real peers and relays, a long line."""

import asyncio
from collections.abc import Sequence

import pytest

from proxy.protocol.settings import TunnelSettings
from tests.simulation.relayed import Sites, tell
from tests.unit.reduction.sites import noise

MIB = 1 << 20
ROUND_TRIP = 0.1


async def round_trips(sites: Sites, all_said: Sequence[bytes]) -> float:
    """How many it takes until all targets have what the initiators say, which is of one length."""
    pairs = [(sites.open()[0], await sites.target()) for _ in all_said]
    passed = asyncio.Event()

    def heard() -> None:
        if all(len(far.got) == len(all_said[0]) for _, far in pairs):
            passed.set()

    await asyncio.sleep(1)
    began = sites.loop.time()
    for (near, far), said in zip(pairs, all_said, strict=True):
        far.heard = heard
        near.say(said)
    await passed.wait()
    took = sites.loop.time() - began
    for near, far in pairs:
        assert far.got == near.log
        near.end()
        far.end()
    await asyncio.sleep(1)
    return took / ROUND_TRIP


@pytest.mark.parametrize(("lost", "more"), [(0.0, 1), (0.01, 4)])
def test_what_the_far_site_knows_takes_no_longer_than_what_is_new(lost: float, more: int) -> None:
    """Right after a start; hardly longer if a batch in five has to ask for something. It took 22 round trips, not 4.

    The streams begin together, and the last ones have small windows.
    """

    async def story(sites: Sites) -> None:
        said = [noise(2 * MIB, seed) for seed in range(8)]
        new = await round_trips(sites, said)
        sites.far_store.lose(sites.loop.rng, lost)
        assert await round_trips(sites, said) <= new + more

    tell(story, TunnelSettings(), delay=ROUND_TRIP / 2, stored=64 * MIB)


@pytest.mark.parametrize(("lost", "more"), [(0.01, 2), (0.03, 4)])
def test_what_is_missing_within_runs_is_seen_in_all_that_has_come(lost: float, more: int) -> None:
    """A batch in five, or in two, lacks something. It took 5.5 and 12.5 round trips more: each had its own."""

    async def story(sites: Sites) -> None:
        said = [noise(16 * MIB, 1)]
        new = await round_trips(sites, said)
        assert await round_trips(sites, said) < new, "all of it goes as runs from now on"
        sites.far_store.lose(sites.loop.rng, lost)
        assert await round_trips(sites, said) <= new + more

    tell(story, TunnelSettings(), delay=ROUND_TRIP / 2, stored=64 * MIB)
