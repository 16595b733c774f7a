"""How many lanes: against a line whose lanes carry what loss allows, up to its rate."""

from statistics import mode

import pytest

from proxy.net.lane_count import REST_MOST, LaneCount, LaneTotals

MBIT = 125_000.0


class Line:
    """A line, and data that always waits for it unless there is less to send."""

    def __init__(self, rate: float, a_lane: float, loss: float = 0.01) -> None:
        """Bytes a second of the line, and of one lane by its loss and round trip."""
        self.rate, self.a_lane, self.loss = rate, a_lane, loss
        self.offered = float("inf")
        self.now = 0.0
        self.sent = self.lost = self.blocked = 0.0
        self.count = LaneCount(64)
        self.history: list[int] = []

    def run(self, seconds: int) -> int:
        """Let time pass; the lanes wanted at the end."""
        for _ in range(seconds):
            together = self.count.wanted * self.a_lane
            able = min(self.rate, together)
            rate = min(able, self.offered)
            self.now += 1.0
            self.sent += rate
            self.lost += rate * self.loss * (together / able) ** 2  # by Mathis: each lane has less where it is full
            self.blocked += float(self.offered > able)
            self.count.see(self.now, LaneTotals(int(self.sent), int(self.lost), self.blocked))
            self.history.append(self.count.wanted)
        return self.count.wanted


@pytest.mark.parametrize("a_lane", [0.7, 1.3, 4.0, 9.4])
def test_a_lossy_line_is_filled(a_lane: float) -> None:
    line = Line(43 * MBIT, a_lane * MBIT)
    line.run(60)
    lanes = mode(line.history[20:])
    assert lanes * a_lane >= 43 or lanes == 64
    assert lanes <= max(4, 4 * 43 / a_lane)


def test_one_lane_is_enough_where_nothing_is_lost() -> None:
    assert Line(43 * MBIT, 43 * MBIT, loss=0.0).run(200) == 1


def test_more_lanes_that_bring_nothing_are_given_back() -> None:
    """It is the queue of the line that overflows; then it is left alone for a while."""
    line = Line(43 * MBIT, 43 * MBIT, loss=0.001)
    assert line.run(10) == 1
    assert max(line.history) == 4
    assert tried_in_the_end(line) <= 8


def tried_in_the_end(line: Line) -> int:
    """Seconds with four lanes in as long as the longest rest, after five minutes."""
    line.run(300)
    line.history.clear()
    line.run(int(REST_MOST))
    return line.history.count(4)


def test_a_slow_start_that_lost_nothing_misleads_for_seconds_only() -> None:
    line = Line(43 * MBIT, 12 * MBIT)
    line.run(3)
    line.a_lane = MBIT
    assert line.run(40) > 40


def test_a_line_that_begins_to_lose_more_is_filled_again_at_once() -> None:
    line = Line(43 * MBIT, 43 * MBIT, loss=0.001)
    line.run(400)
    assert line.count.wanted == 1
    line.a_lane = 12 * MBIT
    assert line.run(20) > 3


def test_a_line_that_has_become_slow_is_left_alone_again() -> None:
    line = Line(43 * MBIT, 43 * MBIT, loss=0.001)
    line.run(400)
    line.rate = 10 * MBIT
    assert tried_in_the_end(line) <= 8


def test_a_full_line_is_left_alone() -> None:
    """Of 16 lanes the last ones bring less than theirs: it is full, and 64 are not tried."""
    line = Line(43 * MBIT, 4 * MBIT)
    line.run(40)
    assert max(line.history) == 16
    assert line.history[-25:] == [16] * 25


def test_what_was_luck_of_fewer_lanes_is_no_full_line() -> None:
    """Four lanes had twice what they mostly have, so 16 brought little more: no more is lost than before."""
    line = Line(43 * MBIT, 0.6 * MBIT, loss=0.03)
    while line.count.wanted < 4:
        line.run(1)
    line.a_lane *= 2
    while line.count.wanted < 16:
        line.run(1)
    line.a_lane /= 2
    assert line.run(15) == 64


def test_little_to_do_needs_no_lanes() -> None:
    line = Line(43 * MBIT, MBIT)
    line.offered = MBIT / 2
    assert line.run(30) == 1


def test_lanes_go_when_little_is_left_to_do() -> None:
    line = Line(43 * MBIT, MBIT)
    line.run(20)
    line.offered = MBIT / 2
    assert line.run(10) > 16
    assert line.run(300) == 1


def test_the_number_is_steady() -> None:
    line = Line(43 * MBIT, 1.3 * MBIT)
    line.run(400)
    line.history.clear()
    line.run(100)
    assert len(set(line.history)) <= 3
    assert min(line.history) * 1.3 >= 43
