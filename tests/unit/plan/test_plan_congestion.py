"""What one TCP connection gets, against what was measured on the field test's line (45 Mb/s, 100 ms, MTU 1500)."""

import pytest

from proxy.plan.congestion import bbr, cubic, cubic_lanes, reno
from proxy.plan.line import Line


def field(loss: float) -> Line:
    return Line(45e6, 0.1, loss)


@pytest.mark.parametrize(
    ("connections", "loss", "measured"),
    [
        (1, 0.0, 43.4),
        (1, 0.001, 9.4),
        (1, 0.01, 0.8),
        (32, 0.0, 43.4),
        (32, 0.001, 43.5),
        (32, 0.01, 42.2),
        (32, 0.03, 20.4),
    ],
)
def test_cubic_is_near_what_was_measured(connections: int, loss: float, measured: float) -> None:
    computed = cubic(field(loss), connections) / 1e6
    assert measured / 2.25 < computed < measured * 2.25


@pytest.mark.parametrize(("loss", "measured"), [(0.0, 42.4), (0.001, 42.3), (0.01, 41.8), (0.03, 40.8)])
def test_bbr_is_what_was_measured(loss: float, measured: float) -> None:
    assert bbr(field(loss)) / 1e6 == pytest.approx(measured, rel=0.04)


def test_the_papers_formulas() -> None:
    """RFC 9438, table 1: segments under way at a round trip of 100 ms."""
    for loss, cubic_segments, reno_segments in [(1e-4, 187, 120), (1e-5, 1054, 379), (1e-6, 5926, 1200)]:
        line = Line(1e15, 0.1, loss)
        segments_a_second = line.segment * 8 / line.round_trip
        assert cubic(line) / segments_a_second == pytest.approx(cubic_segments, rel=0.03)
        assert reno(line) / segments_a_second == pytest.approx(reno_segments, rel=0.03)


def test_cubic_is_never_slower_than_reno() -> None:
    for loss in (0.0, 0.0001, 0.01, 0.3):
        assert cubic(field(loss)) >= reno(field(loss)) > 0


def test_nothing_exceeds_the_goodput() -> None:
    line = field(1e-9)
    assert cubic(line, 1000) == reno(line) == bbr(line) == line.goodput


@pytest.mark.parametrize("loss", [0.0, 0.001, 0.01, 0.03])
def test_so_many_lanes_fill_the_line_and_no_fewer(loss: float) -> None:
    line = field(loss)
    lanes = cubic_lanes(line)
    assert cubic(line, lanes) == pytest.approx(line.goodput)
    assert lanes == 1 or cubic(line, lanes - 1) < line.goodput
