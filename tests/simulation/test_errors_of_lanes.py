"""Why a lane could not be had is told, and logged, each time that one is missing: of the last time nothing is left."""

import asyncio

from proxy.net.peer import Peer
from proxy.protocol.settings import TunnelSettings
from tests.simulation.relayed import Sites, tell

REASON = "cannot connect to west:4500: no answer within 10 s"


def test_an_error_of_an_outage_long_ago_is_none_of_the_next_one() -> None:
    """A lane was silent, so that another one was tried beside it, in vain, and was heard again: no other has come."""

    async def story(sites: Sites) -> None:
        peer = sites.near
        sites.dial(0.01, 16 << 20)
        await asyncio.sleep(1)
        assert not peer.lanes.missing()
        for _ in range(2):
            (lane, *_) = peer.lanes
            peer.lanes.silence(lane.number)
            assert told(peer) == ""
            assert peer.failed(REASON), "it is news"
            assert told(peer) == REASON
            assert not peer.failed(REASON), "once is enough"
            peer.lanes.heard(lane)
            assert told(peer) == ""
            peer.sample()

    tell(story, TunnelSettings(keepalive=1e6, dead_after=2e6))


def told(peer: Peer) -> str:
    return peer.last_error
