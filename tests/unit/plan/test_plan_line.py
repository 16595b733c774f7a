"""A line's figures, against those that are published."""

import pytest

from proxy.plan.line import KM_PER_MILE, Line, light_round_trip, sysctl_lines

FIELD = Line(45e6, 0.1, 0.01)
"""The line of the field test."""


@pytest.mark.parametrize(("mtu", "mss"), [(1500, 1460), (9000, 8960)])
def test_the_published_segment_sizes(mtu: int, mss: int) -> None:
    assert Line(1e9, 0.01, mtu=mtu).mss == mss


@pytest.mark.parametrize(("loss", "goodput"), [(0.0, 43.4), (0.01, 43.0)])
def test_the_published_limits_of_the_field_tests_line(loss: float, goodput: float) -> None:
    assert Line(45e6, 0.1, loss).goodput / 1e6 == pytest.approx(goodput, abs=0.05)


@pytest.mark.parametrize("rate", [45e6, 155e6, 1e9, 10e9])
def test_the_sizing_guides_rule_of_thumb(rate: float) -> None:
    """Link rate x 93 %."""
    assert Line(rate, 0.01).payload_rate == pytest.approx(0.93 * rate, rel=0.05)


@pytest.mark.parametrize(("one_way", "miles"), [(0.001, 124), (0.020, 2480), (0.050, 6200)])
def test_the_published_distances(one_way: float, miles: float) -> None:
    line = Line(1e9, 2 * one_way)
    assert line.longest_km / KM_PER_MILE == pytest.approx(miles, rel=0.005)
    assert light_round_trip(line.longest_km) == pytest.approx(line.round_trip)


def test_the_window_that_fills_a_line() -> None:
    assert FIELD.bandwidth_delay == 562_500
    assert Line(45e6 + 1, 0.1).bandwidth_delay == 562_501, "rounded up"


@pytest.mark.parametrize("rate", [1e6, 45e6, 155e6, 1e9 + 1, 1e10])
def test_buffers_are_twice_that_in_whole_pages_and_four_times_is_advised(rate: float) -> None:
    line = Line(rate, 0.1)
    for size, times in ((line.buffer, 2), (line.advised, 4)):
        assert size % 4096 == 0
        assert 0 <= size - times * line.bandwidth_delay < 4096


def test_sysctl_raises_what_is_too_small() -> None:
    assert sysctl_lines(32 << 20) == (
        "net.ipv4.tcp_rmem = 4096 131072 33554432",
        "net.ipv4.tcp_wmem = 4096 16384 33554432",
    )


def test_sysctl_has_nothing_that_the_kernel_refuses() -> None:
    line = Line(60e9, 0.1)
    assert line.fillable
    assert sysctl_lines(line.advised) == (
        "net.ipv4.tcp_rmem = 4096 131072 2147483647",
        "net.ipv4.tcp_wmem = 4096 16384 2147483647",
    )
    assert not Line(100e9, 0.1).fillable


def test_sysctl_lowers_nothing() -> None:
    """Not what Linux sets by itself, and not what somebody has raised."""
    assert sysctl_lines(1 << 20) == (
        "net.ipv4.tcp_rmem = 4096 131072 6291456",
        "net.ipv4.tcp_wmem = 4096 16384 4194304",
    )
    assert sysctl_lines(8 << 20, (8192, 65536, 9 << 20), (8192, 32768, 1 << 20)) == (
        "net.ipv4.tcp_rmem = 8192 65536 9437184",
        "net.ipv4.tcp_wmem = 8192 32768 8388608",
    )
