"""BBR on a lane for bulk is begun anew, under a ceiling that is taken away again: where that changes nothing, and where
it has forgotten the rate.
"""

import socket
from dataclasses import dataclass, field, replace
from itertools import pairwise
from unittest.mock import MagicMock

import pytest

from proxy.net import unpaused
from proxy.net.sockets import BBR, choose_congestion_control, limit_pace
from proxy.net.steadying import CEILING, EVERY, ROOM, Act, Steadying, Use
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
            bbr = Bbr(RATE, SEEKS if seeks else self.gain)
            act = self.steadying.act(bbr, self.info, self.now, Use(self.calm, self.rate >= RATE, renews=False))
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
    assert all(EVERY <= after - before < BBR_WAITS for before, after in pairwise(times))
    assert line.lifted == [at + line.seeks for at in line.begun][: len(line.lifted)]
    assert len(line.lifted) >= len(line.begun) - 1


def test_on_a_long_line_too() -> None:
    """BBR finds the rate within three round trips, but pauses ten seconds after it began."""
    line = Line(seeks=3)
    line.run(100)
    assert all(after - before == EVERY for before, after in pairwise(line.begun))
    assert len(line.begun) == 100 // EVERY


def test_the_ceiling_stays_until_the_rate_is_found() -> None:
    line = Line(seeks=5)
    line.run(13)
    assert (line.begun, line.lifted) == ([107.0], [112.0])


@pytest.mark.parametrize(
    "line",
    [
        Line(gain=SEEKS),
        Line(rate=RATE // 2),
        Line(info=TcpInfo(2 * ROUND_TRIP, ROUND_TRIP, 776, 1448)),
        Line(info=TcpInfo(ROUND_TRIP, ROUND_TRIP, 4, 1448)),
        Line(calm=False),
    ],
    ids=["seeks", "waits for its source", "the line has become longer", "pauses", "urgent traffic"],
)
def test_left_alone(line: Line) -> None:
    line.run(100)
    assert line.begun == []


BUSY = Use(calm=False, held=True, renews=False)


def seeking(rates: list[int], sent: float = 1.0, round_trip: float = ROUND_TRIP, *, use: Use = BUSY) -> list[Act | int]:
    """What is done with a lane that seeks: BBR knows these rates, one a second, and so much of them was sent.

    Where a ceiling is set, that.
    """
    steadying, total, done = Steadying(0.0), 0, list[Act | int]()
    for now, rate in enumerate(rates, 1):
        total += int(sent * rate)
        info = TcpInfo(round_trip, ROUND_TRIP, 776, 1448, bytes_sent=total)
        act = steadying.act(Bbr(rate, SEEKS), info, float(now), use)
        done.append(steadying.ceiling or act if act is Act.LIMIT else act)
    return done


NOTHING, LIMIT, LIFT = Act.NOTHING, Act.LIMIT, Act.LIFT
WITH_ROOM = int(ROOM * RATE)
UNDER_THE_LINE = int(CEILING * RATE)


def test_who_seeks_in_vain_has_a_ceiling_for_a_while() -> None:
    """With room for growth at first; then without, at which the queue drains."""
    both = [WITH_ROOM, NOTHING, NOTHING, UNDER_THE_LINE, NOTHING, NOTHING]
    assert seeking([RATE] * 20) == [NOTHING, *both, LIFT, *[NOTHING] * 6, *both]


def test_on_a_long_line_that_takes_longer() -> None:
    both = [WITH_ROOM, *[NOTHING] * 5, UNDER_THE_LINE, *[NOTHING] * 5]
    assert seeking([RATE] * 14, round_trip=0.7) == [NOTHING, *both, LIFT]


@pytest.mark.parametrize("percents", [[100] * 5 + [97] * 3 + [94] * 3, [100] * 3 + [110] * 8], ids=["less", "more"])
def test_the_rate_itself_is_a_ceiling_once(percents: list[int]) -> None:
    """Though BBR finds a little less each time, or has found a little more."""
    rates = [RATE * percent // 100 for percent in percents]
    second = int(CEILING * rates[4])
    assert [done for done in seeking(rates) if done is not NOTHING] == [WITH_ROOM, second, LIFT]


def test_who_is_held_up_by_its_source_keeps_room() -> None:
    """A steady source that gives less than the line takes: else BBR would be content with the source's rate."""
    done = seeking([RATE] * 13, use=BUSY._replace(held=False))
    assert done == [NOTHING, WITH_ROOM, NOTHING, NOTHING, LIFT, *[NOTHING] * 6, WITH_ROOM, NOTHING]


def test_what_little_data_taught_is_no_ceiling() -> None:
    """The source has rested under the ceiling, and packets were lost; now there is much to send."""
    assert seeking([RATE, RATE, *[RATE // 2] * 3]) == [NOTHING, WITH_ROOM, NOTHING, NOTHING, LIFT]


def test_who_knows_no_rate_has_no_ceiling() -> None:
    """Nothing has been acknowledged since BBR began."""
    assert seeking([0] * 10) == [NOTHING] * 10
    assert seeking([0] * 3 + [RATE] * 2) == [*[NOTHING] * 4, WITH_ROOM]


def test_who_finds_more_seeks_on() -> None:
    assert seeking([RATE << n for n in range(8)]) == [NOTHING] * 8
    assert seeking([RATE, RATE, 2 * RATE]) == [NOTHING, WITH_ROOM, LIFT]


def test_who_found_more_may_have_another_ceiling_soon() -> None:
    assert seeking([RATE // 2, RATE // 2, RATE, RATE]) == [NOTHING, WITH_ROOM // 2, LIFT, WITH_ROOM]


def test_who_waits_for_its_source_has_none() -> None:
    assert seeking([RATE] * 10, sent=0.5) == [NOTHING] * 10


def test_who_loses_half_of_it_is_busy() -> None:
    steadying, acts = Steadying(0.0), list[Act]()
    for now in (1, 2):
        half = now * RATE // 2
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=half, bytes_retransmitted=half)
        acts.append(steadying.act(Bbr(RATE, SEEKS), info, float(now), BUSY))
    assert acts == [NOTHING, LIMIT]


def test_who_has_found_the_rate_has_none() -> None:
    steadying = Steadying(0.0)
    acts = []
    for now, gain in enumerate((SEEKS, SEEKS, CRUISES), 1):
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=now * RATE)
        acts.append(steadying.act(Bbr(RATE, gain), info, float(now), BUSY))
    assert acts == [NOTHING, LIMIT, LIFT]


def test_a_ceiling_is_lifted_whoever_comes_meanwhile() -> None:
    line = Line(seeks=3)
    line.run(8)
    line.calm = False
    line.run(100)
    assert (line.begun, line.lifted) == ([107.0], [110.0])


@dataclass
class Lane:
    """A lane that is asked each second, and what BBR knew each time."""

    now: float = 0.0
    sent: int = 0

    def __post_init__(self) -> None:
        self.steadying = Steadying(self.now)

    def sees(
        self, rate: int, gain: float = CRUISES, *, sent: int | None = None, renews: bool = False, window: int = 776
    ) -> Act:
        """A second in which `sent` bytes went, by default as many as BBR lets go; then it was the line that held up."""
        self.now += 1.0
        self.sent += rate if sent is None else sent
        info = TcpInfo(ROUND_TRIP, ROUND_TRIP, window, 1448, bytes_sent=self.sent)
        return self.steadying.act(Bbr(rate, gain), info, self.now, Use(False, sent is None, renews))

    def ceiling(self) -> int | None:
        return self.steadying.ceiling


LITTLE = RATE // 10


def forgetful() -> Lane:
    """BBR has found the rate, then little was sent, and now it has forgotten."""
    lane = Lane()
    assert lane.sees(RATE) is NOTHING
    assert [lane.sees(RATE, sent=LITTLE) for _ in range(20)] == [NOTHING] * 20
    assert lane.sees(LITTLE, sent=LITTLE) is Act.BEGIN
    assert lane.ceiling() == UNDER_THE_LINE
    return lane


def test_who_forgets_seeks_again_below_what_it_knew() -> None:
    """For as long as little is sent. The burst then finds the rate, and nothing holds it up any more."""
    lane = forgetful()
    assert [lane.sees(LITTLE, SEEKS, sent=LITTLE) for _ in range(60)] == [NOTHING] * 60
    assert lane.ceiling() == UNDER_THE_LINE
    assert lane.sees(RATE, SEEKS) is NOTHING
    assert lane.sees(RATE) is LIFT
    assert lane.ceiling() is None
    assert lane.sees(RATE) is NOTHING


def test_a_pause_is_no_find() -> None:
    lane = forgetful()
    assert lane.sees(LITTLE, CRUISES, sent=LITTLE, window=4) is NOTHING
    assert lane.sees(LITTLE, SEEKS, sent=LITTLE) is NOTHING
    assert lane.ceiling() == UNDER_THE_LINE


def test_who_forgets_again_begins_again() -> None:
    lane = forgetful()
    assert [lane.sees(LITTLE, sent=LITTLE) for _ in range(5)] == [Act.BEGIN] * 5
    assert lane.ceiling() == UNDER_THE_LINE


def test_a_line_that_has_become_slower_is_seen_once() -> None:
    """Much waited, and BBR found as little again."""
    lane = forgetful()
    assert lane.sees(LITTLE) is LIFT
    assert [lane.sees(LITTLE) for _ in range(20)] == [NOTHING] * 20
    assert lane.sees(LITTLE // 3, sent=LITTLE // 3) is Act.BEGIN
    assert lane.ceiling() == int(CEILING * LITTLE)


def test_what_is_held_up_by_what_bbr_has_forgotten_is_no_slower_line() -> None:
    lane = Lane()
    lane.sees(RATE)
    assert lane.sees(LITTLE) is Act.BEGIN
    assert lane.ceiling() == UNDER_THE_LINE


def test_the_ceiling_stays_while_the_rate_is_found_again() -> None:
    lane = Lane()
    assert [lane.sees(RATE), lane.sees(RATE * 6 // 10)] == [NOTHING] * 2
    assert lane.sees(LITTLE, sent=LITTLE) is Act.BEGIN
    assert [lane.sees(RATE * part // 10, SEEKS) for part in (5, 8, 9)] == [NOTHING] * 3


def test_half_the_rate_is_not_forgotten() -> None:
    lane = Lane()
    assert [lane.sees(rate) for rate in (RATE, RATE * 51 // 100)] == [NOTHING] * 2


def test_who_is_idle_keeps_what_it_knows() -> None:
    lane = Lane()
    lane.sees(RATE)
    assert [lane.sees(RATE, sent=0) for _ in range(20)] == [NOTHING] * 20


def test_a_line_that_has_become_longer_is_left_to_bbr() -> None:
    lane = Lane()
    lane.sees(RATE)
    info = TcpInfo(2 * ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=lane.sent + LITTLE)
    assert lane.steadying.act(Bbr(LITTLE, CRUISES), info, lane.now + 1, Use(False, False, False)) is NOTHING


def test_who_sends_next_to_nothing_has_found_nothing() -> None:
    """Pings, of which some were lost, taught BBR a rate."""
    lane = Lane()
    assert [lane.sees(14_000, sent=1_000) for _ in range(3)] == [Act.BEGIN] * 3
    assert lane.ceiling() is None
    assert lane.sees(14_000, SEEKS, sent=1_000) is NOTHING


def test_a_slow_line_is_no_idle_one() -> None:
    lane = Lane()
    assert [lane.sees(14_000) for _ in range(3)] == [NOTHING] * 3


def test_under_a_cap_it_begins_below_what_it_knew() -> None:
    """It may have to go faster than the cap of others, so what it knows is worth something."""
    lane = Lane()
    assert lane.sees(LITTLE, SEEKS, sent=LITTLE, renews=True) is Act.BEGIN
    assert lane.ceiling() is None, "it has found nothing yet"
    lane.sees(RATE)
    assert lane.sees(RATE, sent=LITTLE, renews=True) is Act.BEGIN
    assert lane.ceiling() == UNDER_THE_LINE
    assert lane.sees(LITTLE, SEEKS, sent=LITTLE, renews=True) is Act.BEGIN
    assert lane.ceiling() == UNDER_THE_LINE


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
        lane.bulk(busy, 10.0, calm=True, capped=False, held=True)
        limited = [lane.limited]
        assert 0 < connection.getsockopt(socket.SOL_SOCKET, 47) < RATE
        lane.light(busy, 11.0)
        assert [*limited, lane.limited] == [True, False]
        assert connection.getsockopt(socket.SOL_SOCKET, 47) in NO_LIMIT


def test_a_lane_that_was_urgent_for_a_while_has_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older lane had fallen silent, and is heard again, and is gone."""
    gains = iter([CRUISES, SEEKS, SEEKS])
    monkeypatch.setattr(unpaused, "bbr_info", lambda connection: Bbr(RATE, next(gains)))
    monkeypatch.setattr(unpaused, "begin_bbr_anew", lambda connection: BBR)
    with socket.socket() as connection:
        lane, limited = Unpaused(connection, 0.0), []
        for now in (10, 11, 12, 13):
            busy = TcpInfo(ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=now * RATE)
            if now == 11:
                lane.light(busy, now)
            else:
                lane.bulk(busy, now, calm=True, capped=False, held=True)
            limited.append(lane.limited)
        assert limited == [True, False, True, True]
        assert connection.getsockopt(socket.SOL_SOCKET, 47) == WITH_ROOM


@pytest.mark.parametrize(("capped", "longer", "begun"), [(True, 2.4, 2), (True, 2.6, 0), (False, 1, 0)])
def test_what_is_hardly_used_is_only_begun_anew_under_a_cap(
    monkeypatch: pytest.MonkeyPatch, capped: bool, longer: float, begun: int
) -> None:
    """But not once the line has become much longer: BBR would go on believing in the shorter one."""
    begin = MagicMock(return_value=BBR)
    monkeypatch.setattr(unpaused, "bbr_info", lambda connection: Bbr(RATE, CRUISES))
    monkeypatch.setattr(unpaused, "begin_bbr_anew", begin)
    with socket.socket() as connection:
        lane = Unpaused(connection, 0.0)
        for now in range(1, 11):
            info = TcpInfo(longer * ROUND_TRIP, ROUND_TRIP, 776, 1448, bytes_sent=now * LITTLE)
            lane.bulk(info, float(now), calm=False, capped=capped, held=False)
    assert begin.call_count == begun


def test_another_congestion_control_tells_nothing() -> None:
    with socket.socket() as unconnected:
        choose_congestion_control(unconnected, "reno")
        assert bbr_info(unconnected) is None
