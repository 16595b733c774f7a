"""What a site has to announce goes within a second, also where nothing else is sent and PINGs are rare."""

import asyncio

from proxy.protocol.settings import TunnelSettings
from tests.simulation.relayed import Sites, tell


def test_a_wish_for_lanes_does_not_wait_for_the_next_ping() -> None:
    async def story(sites: Sites) -> None:
        already = len(sites.far.lanes.missing())
        sites.near.tunnel.wish({0: 7})
        sites.near.sample()
        await asyncio.sleep(1)
        assert len(sites.far.lanes.missing()) == 7 - len(sites.far.lanes) > already

    tell(story, TunnelSettings(keepalive=1e6, dead_after=2e6))
