"""The window table of the array's makers."""

import pytest

from proxy.plan.windows import ROUND_TRIPS, WINDOWS, table, window_rate

PUBLISHED = {72_000: (600, 30, 11), 1_000_000: (8_000, 400, 160), 2_000_000: (16_000, 800, 330)}
"""Mb/s at 1, 20 and 50 ms; the paper calls them approximate."""


def test_the_published_table() -> None:
    assert tuple(PUBLISHED) == WINDOWS
    assert ROUND_TRIPS == (0.001, 0.020, 0.050)
    for rates, published in zip(table(), PUBLISHED.values(), strict=True):
        assert [rate / 1e6 for rate in rates] == pytest.approx(published, rel=0.05)


def test_what_a_window_allows() -> None:
    assert [window_rate(125_000, round_trip) for round_trip in (0.1, 0.2)] == [10e6, 5e6]
