"""How long what is to be sent waits for lanes: not for a cap, and not when it was taken."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.frames import encode_token
from proxy.protocol.streams import Streams
from tests.unit.net.lanes import FakeLane, IdleTunnel, lanes_of
from tests.unit.protocol.playbook import ALL, Script


class Scene(IdleTunnel):
    """Something waits, until a lane takes it or the tunnel finds, when it is asked for it, that a cap holds it back."""

    wanting = (1,)
    quiet = False

    def __init__(self, found: str) -> None:
        super().__init__()
        self.found = found
        self.waiting = SimpleNamespace(backlog=True)
        self.streams = cast(Streams, self.waiting)

    def take(self, rooms: Mapping[int, int], now: float) -> dict[int, list[bytes]]:
        self.quiet = self.found != "nothing"
        self.waiting.backlog = not self.quiet
        return {lane: [b"frame"] for lane in rooms if self.found == "a frame"}


@pytest.mark.parametrize(
    ("found", "room", "blocked"),
    [("a frame", 1000, False), ("a cap", 1000, False), ("nothing", 1000, True), ("a frame", 0, True)],
)
def test_what_counts_as_blocked(found: str, room: int, blocked: bool) -> None:
    async def run() -> float:
        lane = FakeLane(free=room)
        lanes = lanes_of(Scene(found), lane)
        lanes.pump(asyncio.get_running_loop().time() - 1)
        assert bool(lane.written) == (found == "a frame" and room > 0)
        return lanes.blocked_seconds

    assert (asyncio.run(run()) > 0) == blocked


def test_a_ping_that_a_silent_lane_did_not_take_is_no_data_that_waits() -> None:
    """Else a tunnel with nothing to do wished for more lanes, as what the dead one repeats looks like a lossy line."""

    async def run() -> float:
        script = Script(keepalive=5.0, dead_after=60.0)
        script.join(2)
        script.take_all({1: ALL, 2: ALL})
        script.give(FrameType.PONG, 0, 0, encode_token(1), lane=1)
        script.give(FrameType.PONG, 0, 0, encode_token(1), lane=2)
        stuck, other = FakeLane(1), FakeLane(2, free=1000)
        lanes = lanes_of(script.tunnel, stuck, other)
        script.at(5.0)
        lanes.silence(1)
        lanes.pump(asyncio.get_running_loop().time() - 1)
        assert other.written
        assert not stuck.written
        assert not script.tunnel.quiet, "the PING is still there"
        return lanes.blocked_seconds

    assert asyncio.run(run()) == 0
