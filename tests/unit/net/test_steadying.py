"""BBR on a lane for bulk is begun anew, under a ceiling that is taken away again, where that changes nothing."""

import socket
from dataclasses import dataclass, field, replace

import pytest

from proxy.net import unpaused
from proxy.net.sockets import BBR, choose_congestion_control, limit_pace
from proxy.net.steadying import EVERY, Act, Steadying
from proxy.net.tcpinfo import Bbr, TcpInfo, bbr_info
from proxy.net.unpaused import Unpaused
from tests.unit.net.tcp import tcp_pair

RATE = 5_400_000
ROUND_TRIP = 0.1
CRUISES, PROBES, SEEKS = 1.0, 1.25, 2.89
BBR_WAITS = 10.0
NO_LIMIT = (-1, 0xFFFFFFFF)
"""As kernels tell it in four bytes."""


@dataclass
class Line:
    """A lane in the middle of bulk, asked each second."""

    rate: int = RATE
    gain: float = CRUISES
    info: TcpInfo = field(default_factory=lambda: TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448))
    seeks: float = 1.0
    """Seconds until it has found the rate again."""
    now: float = 100.0
    calm: bool = True

    def __post_init__(self) -> None:
        self.steadying = Steadying(self.now)
        self.begun: list[float] = []
        self.lifted: list[float] = []

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1.0
            self.info = replace(self.info, bytes_sent=self.info.bytes_sent + self.rate)
            seeks = len(self.begun) > len(self.lifted) and self.now < self.begun[-1] + self.seeks
            act = self.steadying.act(Bbr(RATE, SEEKS if seeks else self.gain), self.info, self.now, self.calm)
            if act is Act.BEGIN:
                self.begun.append(self.now)
            elif act is Act.LIFT:
                self.lifted.append(self.now)


@pytest.mark.parametrize("gain", [CRUISES, PROBES, 0.75])
def test_bulk_is_always_in_time(gain: float) -> None:
    line = Line(gain=gain)
    line.run(100)
    times = [100.0, *line.begun]
    assert len(times) > 10
    assert all(EVERY <= after - before < BBR_WAITS for before, after in zip(times, line.begun, strict=False))
    assert line.lifted == [at + line.seeks for at in line.begun][: len(line.lifted)]
    assert len(line.lifted) >= len(line.begun) - 1


def test_the_ceiling_stays_until_the_rate_is_found() -> None:
    line = Line(seeks=5)
    line.run(13)
    assert (line.begun, line.lifted) == ([106.0], [111.0])


@pytest.mark.parametrize(
    "line",
    [
        Line(gain=SEEKS),
        Line(rate=RATE // 2),
        Line(rate=0),
        Line(info=TcpInfo(2 * ROUND_TRIP, ROUND_TRIP, 776, 1448)),
        Line(info=TcpInfo(ROUND_TRIP, ROUND_TRIP, 4, 1448)),
        Line(calm=False),
    ],
    ids=["seeks", "waits for its source", "idle", "the line has become longer", "pauses", "urgent traffic"],
)
def test_left_alone(line: Line) -> None:
    line.run(100)
    assert line.begun == []


def seeking(rates: list[int], sent: float = 1.0) -> list[Act]:
    """What is done with a lane that seeks: BBR knows these rates, one a second, and so much of them was sent."""
    steadying, total, acts = Steadying(0.0), 0, []
    for now, rate in enumerate(rates, 1):
        total += int(sent * rate)
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=total)
        acts.append(steadying.act(Bbr(rate, SEEKS), info, float(now), calm=False))
    return acts


NOTHING, LIMIT, LIFT = Act.NOTHING, Act.LIMIT, Act.LIFT


def test_who_seeks_in_vain_has_a_ceiling_for_a_while() -> None:
    assert seeking([RATE] * 7) == [NOTHING, LIMIT, NOTHING, NOTHING, LIFT, NOTHING, NOTHING]
    assert seeking([RATE] * 12).count(LIMIT) == 2


def test_who_finds_more_seeks_on() -> None:
    assert seeking([RATE << n for n in range(8)]) == [NOTHING] * 8
    assert seeking([RATE, RATE, 2 * RATE]) == [NOTHING, LIMIT, LIFT]


def test_who_waits_for_its_source_has_none() -> None:
    assert seeking([RATE] * 10, sent=0.5) == [NOTHING] * 10


def test_who_loses_half_of_it_is_busy() -> None:
    steadying, acts = Steadying(0.0), []
    for now in (1, 2):
        half = now * RATE // 2
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=half, bytes_retransmitted=half)
        acts.append(steadying.act(Bbr(RATE, SEEKS), info, float(now), calm=False))
    assert acts == [NOTHING, LIMIT]


def test_who_has_found_the_rate_has_none() -> None:
    steadying = Steadying(0.0)
    acts = []
    for now, gain in enumerate((SEEKS, SEEKS, CRUISES), 1):
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=now * RATE)
        acts.append(steadying.act(Bbr(RATE, gain), info, float(now), calm=False))
    assert acts == [NOTHING, LIMIT, LIFT]


def test_a_ceiling_is_lifted_whoever_comes_meanwhile() -> None:
    line = Line(seeks=3)
    line.run(7)
    line.calm = False
    line.run(100)
    assert (line.begun, line.lifted) == ([106.0], [109.0])


def test_what_the_kernel_does() -> None:
    """The ceiling holds, and is gone afterwards."""
    with tcp_pair() as (near, far):
        if choose_congestion_control(near, BBR) != BBR:
            pytest.skip("the kernel does not offer BBR")
        near.sendall(bytes(100_000))
        assert far.recv(100_000, socket.MSG_WAITALL)
        bbr = bbr_info(near)
        assert bbr is not None
        assert bbr.rate > 0
        assert 0.3 < bbr.gain < 3
        for rate in (1_000_000, None):
            limit_pace(near, rate)
            assert near.getsockopt(socket.SOL_SOCKET, 47) in ((rate,) if rate else NO_LIMIT)


def test_a_lane_that_becomes_urgent_has_no_ceiling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpaused, "bbr_info", lambda connection: Bbr(RATE, CRUISES))
    monkeypatch.setattr(unpaused, "begin_bbr_anew", lambda connection: BBR)
    with socket.socket() as connection:
        lane = Unpaused(connection, 0.0)
        busy = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=100 * RATE)
        lane.bulk(busy, 10.0, calm=True)
        assert 0 < connection.getsockopt(socket.SOL_SOCKET, 47) < RATE
        lane.light(busy, 11.0)
        assert connection.getsockopt(socket.SOL_SOCKET, 47) in NO_LIMIT


def test_another_congestion_control_tells_nothing() -> None:
    with socket.socket() as unconnected:
        choose_congestion_control(unconnected, "reno")
        assert bbr_info(unconnected) is None
