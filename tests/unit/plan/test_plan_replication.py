"""How long a replication takes, against the field test and the array makers' findings."""

import pytest

from proxy.config.model import Tunnel
from proxy.plan.line import Line
from proxy.plan.replication import (
    OVERHEAD,
    TUNNEL_MEMORY,
    TUNNEL_UNACKED,
    TUNNEL_WINDOW,
    Way,
    Work,
    array_rate,
    needed,
    ways,
)

SATELLITE = Line(10e9, 0.6)
FIELD = Line(45e6, 0.1, 0.01)
F5VOL3 = Work(round(2.18 * 2**30))
LINKS = {"10 Gb": 10e9, "1 Gb": 1e9, "OC3": 155e6, "T3": 45e6}


def by_name(line: Line, work: Work) -> dict[str, Way]:
    return {f"{way.name} {window or ''}".strip(): way for window, way in ways(line, work, (72_000, 2_000_000))}


def test_the_field_tests_incompressible_volume() -> None:
    """At the limit of its line it takes 7 min 15 s; the product of the field test took 28 min 21 s."""
    assert by_name(FIELD, F5VOL3)["Isthmus, cold"].seconds == pytest.approx(7 * 60 + 15, rel=0.01)


def test_a_volume_that_the_far_side_holds() -> None:
    warm = by_name(FIELD, F5VOL3)["Isthmus, warm"]
    assert warm.on_line == pytest.approx(F5VOL3.volume * 0.0005)
    assert warm.rate == F5VOL3.site_rate, "the hosts' speed is the limit"
    thin = Line(1e6, 0.1)
    assert by_name(thin, F5VOL3)["Isthmus, warm"].rate == pytest.approx(thin.goodput / 0.0005)


def test_reduction_of_new_data() -> None:
    plainly = by_name(FIELD, F5VOL3)["Isthmus, cold"]
    halved = by_name(FIELD, Work(F5VOL3.volume, reduction=0.5))["Isthmus, cold"]
    assert halved.rate == pytest.approx(2 * plainly.rate)
    assert halved.seconds == pytest.approx(plainly.seconds / 2)
    assert halved.on_line == pytest.approx(plainly.on_line / 2)
    everything = by_name(FIELD, Work(F5VOL3.volume, reduction=1.0))
    assert everything["Isthmus, cold"].rate == F5VOL3.site_rate
    assert everything["Isthmus, warm"].on_line == 0


def test_lanes_where_there_is_no_bbr() -> None:
    lossy = by_name(FIELD, F5VOL3)
    assert lossy["Isthmus over 31 CUBIC lanes, cold"].rate == pytest.approx(lossy["Isthmus, cold"].rate)
    faster = by_name(Line(1e9, 0.1, 0.01), F5VOL3)
    assert faster["Isthmus over 64 CUBIC lanes, cold"].rate < faster["Isthmus, cold"].rate / 10, "no more are allowed"
    assert not [name for name in by_name(Line(45e6, 0.1), F5VOL3) if "lanes" in name]


def test_the_tunnels_bounds_are_the_defaults() -> None:
    default = Tunnel()
    bounds = TUNNEL_WINDOW, TUNNEL_MEMORY, TUNNEL_UNACKED
    assert bounds == (default.window, default.memory, default.unacked)


@pytest.mark.parametrize("connections", [1, 16])
def test_what_is_kept_until_it_is_acknowledged_on_the_longest_lines(connections: int) -> None:
    """All streams share it, and sources wait above it: of what crosses, no more is under way."""
    satellite = by_name(SATELLITE, Work(10**9, connections=connections, site_rate=1e12))
    assert satellite["Isthmus, cold"].rate == pytest.approx(TUNNEL_UNACKED * 8 / 0.6 / (1 + OVERHEAD))


def test_streams_share_the_tunnels_memory() -> None:
    """Two have their own windows, more than that do not."""
    one, two, many = (
        by_name(SATELLITE, Work(10**9, connections=count, site_rate=1e12))["Isthmus, warm"].rate for count in (1, 2, 16)
    )
    assert (two, many) == (2 * one, 2 * one)


def test_links_do_not_matter_where_the_window_does() -> None:
    """Three volumes at 50 ms one way: 10 Gb, 1 Gb, OC3 and T3 all take about the same time with 72 KB windows."""
    rates = [array_rate(Line(rate, 0.1), 72_000, connections=3) for rate in LINKS.values()]
    assert rates == [pytest.approx(3 * 5.76e6)] * 4


def test_larger_windows_help_the_arrays_until_loss_does_not_let_them() -> None:
    clean, lossy = Line(155e6, 0.04), Line(155e6, 0.04, 0.01)
    assert array_rate(clean, 2_000_000) > 9 * array_rate(clean, 72_000)
    assert array_rate(lossy, 2_000_000) == array_rate(lossy, 72_000)


def test_all_windows_are_computed() -> None:
    windows = [window for window, _ in ways(FIELD, F5VOL3, (72_000, 1_000_000))]
    assert windows == [72_000, 1_000_000, None, None, None]
    assert all(way.seconds == pytest.approx(F5VOL3.volume * 8 / way.rate) for _, way in ways(FIELD, F5VOL3, (72_000,)))


def test_of_known_data_two_windows_may_be_under_way() -> None:
    """Where a window is the limit, what crosses the line counts, and at least half of the data."""
    found = by_name(SATELLITE, Work(10**9, site_rate=1e12))
    assert found["Isthmus, warm"].rate == pytest.approx(2 * TUNNEL_WINDOW * 8 / 0.6)


@pytest.mark.parametrize("loss", [0, 0.01])
def test_over_the_line_that_is_needed_it_takes_that_long(loss: float) -> None:
    line, work = Line(45e6, 0.1, loss), Work(10**11, reduction=0.38, connections=16)
    for window, way, rate in needed(line, work, (72_000, 2_000_000), 8 * 3600):
        assert (rate is None) == (way.rate < work.volume * 8 / (8 * 3600))
        if rate is not None:
            again = ways(Line(rate, 0.1, loss), work, (72_000, 2_000_000))
            taken = [each.seconds for own, each in again if own == window and each.on_line == way.on_line]
            assert taken == pytest.approx([8 * 3600] * len(taken))
            assert taken
