"""How long what is to be sent waits for lanes: not for a cap, and not when it was taken."""

import asyncio
from collections.abc import Mapping
from typing import cast

import pytest

from proxy.net.lane import Lane
from proxy.net.lanes import Lanes
from proxy.net.tcpinfo import TcpInfo
from proxy.protocol.tunnel import Tunnel, TunnelSettings


class Scene(Tunnel):
    """Something waits, until a lane takes it or the tunnel finds, when it is asked for it, that a cap holds it back."""

    wanting = (1,)
    quiet = False

    def __init__(self, found: str) -> None:
        super().__init__(TunnelSettings(), "east", "west", bytes(16), [bytes(8)], 0.0)
        self.found = found

    def take(self, rooms: Mapping[int, int], now: float) -> dict[int, list[bytes]]:
        self.quiet = self.found != "nothing"
        return {lane: [b"frame"] for lane in rooms if self.found == "a frame"}


class FakeLane:
    """With room, or without."""

    number, mark, up, silent, clogged, grain = 1, 0, True, False, False, 16 << 10

    def __init__(self, room: int) -> None:
        self._room = room
        self.written: list[bytes] = []

    def room(self) -> int:
        return self._room

    def write(self, frames: list[bytes]) -> None:
        self.written += frames

    def tcp_info(self) -> TcpInfo:
        return TcpInfo()


@pytest.mark.parametrize(
    ("found", "room", "blocked"),
    [("a frame", 1000, False), ("a cap", 1000, False), ("nothing", 1000, True), ("a frame", 0, True)],
)
def test_what_counts_as_blocked(found: str, room: int, blocked: bool) -> None:
    async def run() -> float:
        lanes, lane = Lanes(Scene(found), None), FakeLane(room)
        lanes.add(cast(Lane, lane))
        lanes.pump(asyncio.get_running_loop().time() - 1)
        assert bool(lane.written) == (found == "a frame" and room > 0)
        return lanes.blocked_seconds

    assert (asyncio.run(run()) > 0) == blocked
