"""BBR is begun anew on the lane for what is urgent, and under caps, before it would send next to nothing."""

import asyncio
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest

from proxy.net.lanes import CALM
from proxy.net.renewing import EVERY, Renewing
from proxy.net.sockets import BBR, begin_bbr_anew, choose_congestion_control
from proxy.net.tcpinfo import TcpInfo, tcp_info
from proxy.protocol.share import Share
from tests.unit.net.lanes import FakeLane, IdleTunnel, lanes_of
from tests.unit.net.tcp import tcp_pair

BBR_ENDS_TEN_SECONDS = 10.0
WINDOW, SEGMENT, ROUND_TRIP = 30, 1448, 0.1
FULL = WINDOW * SEGMENT / ROUND_TRIP
"""Bytes a second that use up the congestion window."""


def seen(rate: float, seconds: float) -> list[float]:
    """When it is due on a lane that sends at that rate, asked each second, from 100.0 on."""
    renewing, found = Renewing(100.0), []
    for second in range(1, int(seconds) + 1):
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, WINDOW, SEGMENT, bytes_sent=int(rate * second))
        if renewing.due(info, 100.0 + second):
            found.append(100.0 + second)
    return found


@pytest.mark.parametrize("rate", [0, 0.01 * FULL, 0.2 * FULL])
def test_a_lane_that_is_hardly_used_is_always_in_time(rate: float) -> None:
    times = [100.0, *seen(rate, 60)]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) > 10
    assert min(gaps) >= EVERY
    assert max(gaps) < BBR_ENDS_TEN_SECONDS / 2 + 1


@pytest.mark.parametrize("rate", [0.3 * FULL, 0.5 * FULL, FULL])
def test_what_bbr_knows_of_a_busy_lane_is_kept(rate: float) -> None:
    assert seen(rate, 60) == []


def test_busy_only_for_a_while() -> None:
    renewing = Renewing(0.0)
    busy = TcpInfo(ROUND_TRIP, ROUND_TRIP, WINDOW, SEGMENT, bytes_sent=int(4 * FULL))
    assert [renewing.due(busy, now) for now in (4.0, 5.0, 8.0)] == [False, False, True]


def test_only_lanes_that_are_kept_for_what_is_urgent() -> None:
    asyncio.run(only_those())


async def only_those() -> None:
    tunnel = Divided()
    each = FakeLane(1), FakeLane(2), FakeLane(3, mark=18)
    lanes = lanes_of(tunnel, *each)
    for express in (set(), {2}):
        tunnel.kept = express
        lanes.sample(1.0)
        assert {lane.number for lane in each if lane.light} == express
        assert [lane.told.pop() for lane in each] == [
            "apart" if express and lane is each[0] else "not apart" for lane in each
        ]
        assert [lane.told for lane in each] == [["unpause"]] * 3, (
            "before: it may set a ceiling, upon which more is given"
        )
        for lane in each:
            lane.told.clear()


class Divided(IdleTunnel):
    """Says which lanes it keeps for what is urgent."""

    kept: set[int]

    @property
    def express(self) -> set[int]:
        return self.kept


def test_it_is_calm_when_nothing_urgent_went_before_bulk_for_a_while() -> None:
    asyncio.run(calm_or_not())


async def calm_or_not() -> None:
    tunnel, lane = IdleTunnel(), FakeLane()
    lanes = lanes_of(tunnel, lane)
    found = []
    for now in (1.0, 2.0, 2.0 + CALM, 3.0 + CALM):
        if now == 2.0:
            tunnel.scheduler.overtaken_at = now
        lanes.sample(now)
        found.append(lane.calm)
    assert found == [True, False, False, True]
    tunnel.scheduler.set_rate(1e6, 4.0 + CALM)
    lanes.sample(4.0 + CALM)
    assert not lane.calm, "a cap is to be even"


def test_under_a_cap_every_lane_is_told() -> None:
    asyncio.run(under_a_cap())


async def under_a_cap() -> None:
    tunnel, one, other = IdleTunnel(), FakeLane(1), FakeLane(2)
    lanes = lanes_of(tunnel, one, other)
    lanes.sample(1.0)
    assert [one.capped, other.capped] == [False, False]
    tunnel.scheduler.account(Share("forward", maximum=1e6))
    lanes.sample(2.0)
    assert [one.capped, other.capped] == [True, True]


@pytest.fixture
def connected() -> Iterator[socket.socket]:
    with tcp_pair() as (near, far):
        near.sendall(bytes(100_000))
        assert far.recv(100_000, socket.MSG_WAITALL)
        yield near


def test_the_kernel_has_bbr_afterwards_and_the_window_it_had(connected: socket.socket) -> None:
    if choose_congestion_control(connected, BBR) != BBR:
        pytest.skip("the kernel does not offer BBR")
    before = tcp_info(connected)
    assert begin_bbr_anew(connected) == BBR
    after = tcp_info(connected)
    assert before is not None
    assert after is not None
    assert after.congestion_window_segments == before.congestion_window_segments
