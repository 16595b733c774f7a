"""Counting by powers of two."""

import pytest

from proxy.observe.histogram import Histogram, within

BOUNDS = (1, 2, 4, 8)


def filled(*values: float) -> Histogram:
    histogram = Histogram(BOUNDS)
    for value in values:
        histogram.note(value)
    return histogram


def test_a_bound_belongs_to_the_values_below() -> None:
    histogram = filled(0, 1, 1.5, 2, 2.1, 8, 9, 1000)
    assert histogram.counts == [2, 2, 1, 1, 2]
    assert histogram.count == 8
    assert histogram.total == 1023.6
    assert histogram.mean == pytest.approx(127.95)


def test_nothing_yet() -> None:
    assert (filled().count, filled().mean) == (0, 0)


@pytest.mark.parametrize(("share", "bound"), [(0.5, 1), (0.51, 2), (0.9, 8), (0.91, None), (1, None)])
def test_what_most_do_not_exceed(share: float, bound: float | None) -> None:
    histogram = filled(*[1] * 5, *[2] * 3, 8, 9)
    assert within(histogram.bounds, histogram.counts, share) == bound


def test_nothing_is_within_anything() -> None:
    assert within(BOUNDS, filled().counts, 0.5) is None
