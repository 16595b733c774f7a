"""How many lanes are wished for, and whether what is urgent goes by several, where packets are lost one way only."""

import asyncio
from typing import cast

import pytest

from proxy.net.lanes import EXPRESS, Lanes
from proxy.net.loss import AGAIN
from proxy.net.sockets import BBR
from proxy.net.tcpinfo import TcpInfo
from proxy.protocol.frames import LANES_MAX
from proxy.protocol.lanes import COPIES
from tests.unit.net.lanes import FakeLane, IdleTunnel, lanes_of

QUIET, LOSSY = {0: 1 + EXPRESS}, {0: 1 + EXPRESS + COPIES}


class Scene(IdleTunnel):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.copying = False
        self.wished = QUIET
        self.reserved = 0

    def copy(self, line: float) -> None:
        self.copying = bool(line)

    def reserve(self, lanes: int) -> None:
        self.reserved = lanes

    def wish(self, counts: object) -> None:
        self.wished = cast(dict[int, int], counts)


def told(control: str, *wishes: dict[int, int]) -> list[bool]:
    """Whether short frames go by several lanes after each of the other side's wishes; this side sees no loss."""

    async def run() -> list[bool]:
        scene, found = Scene(), []
        lanes = lanes_of(scene, FakeLane(congestion_control=control, info=TcpInfo(delivery_rate=1000)))
        for now, wish in enumerate(wishes, 1):
            lanes.wish_of_peer(wish)
            lanes.sample(float(now))
            found.append(scene.copying)
        assert scene.wished == QUIET, "or each side would take the other's word for ever"
        return found

    return asyncio.run(run())


def test_who_sees_no_loss_believes_the_other_side() -> None:
    assert told(BBR, QUIET, LOSSY, LOSSY, QUIET) == [False, True, True, False]


def test_a_number_that_never_changes_says_nothing() -> None:
    """It may be configured."""
    assert told(BBR, LOSSY, LOSSY, {}, LOSSY) == [False] * 4


def test_other_congestion_controls_want_more_lanes_for_other_reasons() -> None:
    assert told("cubic", QUIET, LOSSY) == [False, False]


@pytest.mark.parametrize("fixed", [None, 1, 8])
def test_its_own_loss_has_a_side_wish_for_more_if_the_number_is_not_fixed(fixed: int | None) -> None:
    async def run() -> Scene:
        scene, lane = Scene(), FakeLane()
        lanes = lanes_of(scene, lane, fixed=fixed)
        for now, lost in ((1.0, 3), (1.0 + AGAIN[0], 6)):
            lane.info = TcpInfo(delivery_rate=1000, packets=100 * lost, packets_lost=lost)
            lanes.sample(now)
        return scene

    scene = asyncio.run(run())
    assert scene.copying
    assert scene.wished == ({0: fixed} if fixed else LOSSY)


@pytest.mark.parametrize(("marks", "wished"), [([], {0: 1}), ([0], {0: 1}), ([0, 46], {0: 1, 46: 1})])
def test_a_single_lane_is_wished_for_as_well(marks: list[int], wished: dict[int, int]) -> None:
    """Who dials may have marked lanes only: what has no mark went by them, and carried theirs."""

    async def run() -> Scene:
        scene = Scene()
        Lanes(scene, 1, marks)
        return scene

    assert asyncio.run(run()).wished == wished


def test_other_marks_have_lanes_of_their_own() -> None:
    async def run() -> None:
        scene = Scene()
        lanes = Lanes(scene, None, [0, 10])
        assert scene.wished == {0: 1 + EXPRESS, 10: 1 + EXPRESS}
        scene.wished = QUIET
        lanes.change(None, [10, 0])
        assert scene.wished is QUIET, "they are the same"
        lanes.change(None, [0, 46])
        assert scene.wished == {0: 1 + EXPRESS, 46: 1 + EXPRESS}
        assert sorted(lanes.missing()) == [0] * (1 + EXPRESS) + [46] * (1 + EXPRESS)
        lanes.change(None, [])
        assert scene.wished == QUIET
        scene.wished = {}
        lanes.change(None, [])
        assert not scene.wished, "without any there is that of all others"

    asyncio.run(run())


def test_another_number_counts_at_once_and_none_begins_from_the_start() -> None:
    async def run() -> None:
        scene = Scene()
        lanes = Lanes(scene, None)
        scene.reserve(LANES_MAX)  # as with BBR
        lanes.change(8, [])
        assert scene.wished == {0: 8}
        assert scene.reserved == EXPRESS, "all but the newest are for bulk"
        scene.wished = QUIET
        lanes.change(8, [])
        assert scene.wished is QUIET, "it is the same"
        scene.wished = {}
        lanes.change(None, [])
        assert scene.wished == QUIET

    asyncio.run(run())
