"""How long a site that drains waits for its streams."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from proxy.net.site import Site
from tests.simulation.clockwork import Clockwork, played

DRAIN, STOPPED = 30.0, 600.0
BUSY = cast(Site, SimpleNamespace(peers=SimpleNamespace(busy=True)))


@pytest.mark.parametrize("stopped", [0.0, STOPPED])
def test_time_in_which_the_site_is_stopped_does_not_count(stopped: float) -> None:
    """Its streams were reset as soon as it went on."""

    async def drain() -> float:
        loop = cast(Clockwork, asyncio.get_running_loop())
        loop.call_later(1.0, loop.spend, stopped)
        began = loop.time()
        await Site._rest_of_streams(BUSY, DRAIN, asyncio.Event())
        return loop.time() - began

    assert played(drain()) == pytest.approx(DRAIN + stopped, abs=DRAIN / 10)


def test_who_is_in_a_hurry_does_not_wait() -> None:
    async def drain() -> None:
        hurry = asyncio.Event()
        asyncio.get_running_loop().call_soon(hurry.set)
        await asyncio.wait_for(Site._rest_of_streams(BUSY, DRAIN, hurry), DRAIN / 2)

    played(drain())
