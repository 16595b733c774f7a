"""Guarantees: that they hold beside whatever frames, and what of them is lent for good."""

import pytest

from proxy.protocol.guarantees import LENDING_SECONDS
from proxy.protocol.share import Priority, Share
from tests.unit.protocol.line import MBIT, Line

KIB = 1 << 10


def test_guarantees_of_30_and_10_on_a_line_of_45() -> None:
    line = Line(45 * MBIT)
    first = line.open(Share("first", guarantee=30 * MBIT))
    second = line.open(Share("second", guarantee=10 * MBIT))
    others = [line.open(Share("rest")) for _ in range(5)]
    line.run(12)
    for stream, rate in ((first, 30), (second, 10)):
        assert min(line.windows(10, stream)) >= 0.95 * 10 * rate * MBIT
    assert line.rates() == pytest.approx(45 * MBIT, rel=0.01), "nothing is left unused"
    assert line.rates(*others) == pytest.approx(5 / 3 * MBIT, rel=0.1), "what is left is divided by three shares"


def test_a_guarantee_that_rests_is_lent() -> None:
    line = Line(45 * MBIT)
    resting = line.open(Share("first", guarantee=30 * MBIT), frames=0)
    busy = line.open(Share("second", guarantee=10 * MBIT))
    line.run(3)
    assert line.rates(busy) == pytest.approx(45 * MBIT, rel=0.01)
    line.sources[resting].left = float("inf")
    line.run(10)
    assert line.rates(resting, since=3) > 0.95 * 30 * MBIT
    early = sum(sent.wire for sent in line.log if sent.stream == resting and sent.at < 3.3)
    assert early < 30 * MBIT * (0.3 + LENDING_SECONDS) + 5 * MBIT, "what was lent is not asked back"


def test_a_line_slower_than_all_guarantees_is_divided_in_proportion() -> None:
    line = Line(20 * MBIT)
    first = line.open(Share("first", guarantee=30 * MBIT))
    second = line.open(Share("second", guarantee=10 * MBIT))
    line.open(Share("rest"))
    line.run(10)
    assert line.rates(first) == pytest.approx(15 * MBIT, rel=0.03)
    assert line.rates(second) == pytest.approx(5 * MBIT, rel=0.03)


@pytest.mark.parametrize(
    ("rate", "cap", "guarantee", "frame", "other"),
    [
        (0.5, None, 0.2, 4 * KIB, 16 * KIB),
        (1, None, 0.8, 16 * KIB, 16 * KIB),
        (10, 0.128, 0.1, 4 * KIB, 4 * KIB),
        (10, None, 5, 4 * KIB, 256 * KIB),
    ],
)
def test_a_guarantee_holds_where_a_frame_takes_long(
    rate: float, cap: float | None, guarantee: float, frame: int, other: int
) -> None:
    line = Line(rate * MBIT)
    line.tunnel.scheduler.set_rate(cap and cap * MBIT, 0.0)
    wanted = line.open(Share("wanted", Priority.LOW, guarantee=guarantee * MBIT), frame)
    line.open(Share("other"), other)
    line.run(80)
    assert line.rates(wanted, since=20) == pytest.approx(guarantee * MBIT, rel=0.05)


@pytest.mark.parametrize("guarantee", [5, 9])
def test_after_a_time_in_which_nothing_went_a_guarantee_claims_little_of_it(guarantee: int) -> None:
    line = Line(10 * MBIT)
    line.open(Share("wanted", guarantee=guarantee * MBIT))
    other = line.open(Share("other"))
    line.run(5)
    line.script.at(line.now + 30)
    since = line.now
    line.run(10)
    first = next(sent.at for sent in line.log if sent.stream == other and sent.at >= since)
    assert first - since < 0.1 + 1.1 * 2 * LENDING_SECONDS * guarantee / (10 - guarantee)


def test_a_guarantee_is_there_for_who_begins_while_nothing_goes() -> None:
    line = Line(10 * MBIT)
    line.open(Share("waits", guarantee=6 * MBIT))
    begins = line.open(Share("begins", Priority.LOW, guarantee=2 * MBIT), frames=0)
    line.open(Share("other"))
    line.run(5)
    line.script.at(line.now + 15)
    line.sources[begins].left = float("inf")
    line.fill()
    line.script.at(line.now + 15)
    since = line.now
    line.run(3)
    assert line.rates(begins, since=since) > 0.95 * 2 * MBIT
