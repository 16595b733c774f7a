"""Why a lane could not be had is told, and logged, each time that one is missing: of the last time nothing is left."""

import asyncio
from functools import partial
from typing import Any, cast

from proxy.config.model import Peer as PeerConfig
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


def test_why_a_peer_was_not_reached_where_it_was_says_nothing_of_where_it_is() -> None:
    """A reload takes over another address; a peer that dials from now on would keep the old reason for good."""

    async def story(sites: Sites) -> None:
        peer = sites.near
        peer.failed(REASON)
        own = PeerConfig.model_validate({"name": peer.name, "address": str(peer.address)})
        peer.change(own)
        assert told(peer) == REASON
        peer.change(own.model_copy(update={"address": None}))
        assert told(peer) == ""

    tell(story, TunnelSettings())


def test_a_lane_lives_while_bytes_come_though_no_whole_frame_does() -> None:
    """On a slow line a long frame takes its time."""

    async def story(sites: Sites) -> None:
        sites.dial(0.01, 16 << 20)
        await asyncio.sleep(1)
        ends = [(peer, cast(Any, lane)) for peer in (sites.near, sites.far) for lane in peer.lanes]
        for _, lane in ends:
            lane.lost = True  # no frame arrives any more
        for _ in range(6):
            await asyncio.sleep(5)
            for peer, lane in ends:
                peer.heard(lane)
        for peer, lane in ends:
            assert peer.tunnel.figures.outages == 0
            assert not lane.silent

    tell(story, TunnelSettings(keepalive=1, dead_after=10))


def test_what_waits_goes_by_a_silent_lane_as_soon_as_it_is_heard() -> None:
    async def story(sites: Sites) -> None:
        peer, written = sites.near, list[bytes]()
        sites.dial(0.01, 16 << 20)
        await asyncio.sleep(1)
        for lane in peer.lanes:
            peer.lanes.silence(lane.number)
            cast(Any, lane).write = written.extend
        peer.tunnel.drain("as announced")
        assert not written, "nobody has pumped"
        peer.heard(next(iter(peer.lanes)))
        assert any(frame.endswith(b"as announced") for frame in written)

    tell(story, TunnelSettings(keepalive=1e6, dead_after=2e6))


def test_a_lane_that_has_ended_and_does_not_know_is_given_up() -> None:
    """Once a second each lane looks whether the other side has ended it."""

    async def story(sites: Sites) -> None:
        peer = sites.near
        sites.dial(0.01, 16 << 20)
        await asyncio.sleep(1)
        lane, *others = peer.lanes
        cast(Any, lane).look = partial(lane.abort, "the other side closed the connection")
        peer.sample()
        await asyncio.sleep(1)
        assert list(peer.lanes) == others
        assert told(peer) == "the other side closed the connection"

    tell(story, TunnelSettings(keepalive=1e6, dead_after=2e6))


def told(peer: Peer) -> str:
    return peer.last_error
