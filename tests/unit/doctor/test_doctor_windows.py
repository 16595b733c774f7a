"""Buffers of the kernel and bounds of the site, against twice the bandwidth-delay product."""

from dataclasses import replace

import pytest

from proxy.config.model import SiteConfig
from proxy.doctor.facts import Kernel
from proxy.doctor.findings import Finding, Level
from proxy.doctor.windows import buffers, tunnel
from proxy.plan.line import BUFFER_MAX
from tests.unit.doctor.conftest import KERNEL

GIGABIT = 1e9
SMALL = replace(KERNEL, read=(4096, 131072, 6 << 20), write=(4096, 16384, 4 << 20))
"""What Linux sets by itself."""


def judged(kernel: Kernel, rate: float | None, round_trip: float | None) -> Finding:
    return buffers(kernel, rate, round_trip)


def test_large_enough() -> None:
    finding = judged(KERNEL, GIGABIT, 0.1)
    assert (finding.level, finding.remedy) == (Level.OK, "")
    assert finding.found.endswith("1 Gbit/s at 100 ms needs 23.8 MiB")


@pytest.mark.parametrize("kernel", [SMALL, replace(KERNEL, read=SMALL.read), replace(KERNEL, write=SMALL.write)])
def test_too_small(kernel: Kernel) -> None:
    finding = judged(kernel, GIGABIT, 0.1)
    assert finding.level is Level.ATTENTION
    assert "but 1 Gbit/s at 100 ms needs 23.8 MiB" in finding.found
    assert finding.remedy.startswith("on both hosts first this, then restart the site, if it runs: printf "), (
        "a connection that is up keeps its window scale"
    )
    assert kernel.read is not None
    assert kernel.write is not None
    for name, limits in (("rmem", kernel.read), ("wmem", kernel.write)):
        raised = max(limits[2], 50_003_968)
        assert f"'net.ipv4.tcp_{name} = {limits[0]} {limits[1]} {raised}'" in finding.remedy


def test_more_than_the_kernel_takes() -> None:
    finding = judged(KERNEL, 100 * GIGABIT, 0.1)
    assert finding.level is Level.ATTENTION
    assert finding.found.endswith("needs 2.33 GiB, more than the kernel takes: one connection cannot fill such a line")
    assert "set lanes in [tunnel] to 3 or more" in finding.remedy, "two for bulk, and one is kept for what is urgent"
    assert " 2147483647'" in finding.remedy


@pytest.mark.parametrize(("rate", "lanes"), [(400 * GIGABIT, "48 or more"), (1000 * GIGABIT, "64")])
def test_as_many_lanes_as_the_line_needs_but_no_more_than_there_may_be(rate: float, lanes: str) -> None:
    assert f"set lanes in [tunnel] to {lanes}, and on both hosts" in judged(KERNEL, rate, 1.0).remedy


def test_what_was_advised_is_enough() -> None:
    """Once it has been done, nothing is left to be done; where not even that is enough, it is said."""
    full = replace(KERNEL, read=(4096, 131072, BUFFER_MAX), write=(4096, 16384, BUFFER_MAX))
    done = buffers(full, 100 * GIGABIT, 0.1, 3)
    assert (done.level, done.remedy) == (Level.OK, "")
    assert done.found.endswith("one connection cannot fill such a line, but 3 lanes can")
    more = buffers(full, 100 * GIGABIT, 0.1, 2)
    assert (more.level, more.remedy) == (Level.ATTENTION, "set lanes in [tunnel] to 3 or more")
    most = buffers(full, 1000 * GIGABIT, 1.0, 64)
    assert most.found.endswith("nor can 64, the most that there may be")
    assert (most.level, most.remedy) == (Level.ATTENTION, "none: not all of the line is used")


def test_the_field_tests_line_needs_nothing() -> None:
    assert judged(SMALL, 45e6, 0.1).level is Level.OK


def test_without_a_rate_it_says_for_what_it_is_enough() -> None:
    finding = judged(SMALL, None, 0.1)
    assert finding.level is Level.OK
    assert "6 MiB (receive) and 4 MiB (send), enough for 168 Mbit/s at 100 ms" in finding.found


@pytest.mark.parametrize("rate", [None, GIGABIT])
def test_without_a_round_trip(rate: float | None) -> None:
    finding = judged(KERNEL, rate, None)
    assert finding.level is Level.ATTENTION
    assert "--rate 45Mbit --round-trip 100ms" in finding.remedy


def test_a_kernel_that_says_nothing() -> None:
    assert judged(replace(KERNEL, read=None), GIGABIT, 0.1).level is Level.ATTENTION


def test_the_sites_own_bounds(east: SiteConfig) -> None:
    (fits,) = tunnel(east.tunnel, 1, GIGABIT, 0.1)
    assert (fits.level, fits.remedy) == (Level.OK, "")
    assert list(tunnel(east.tunnel, 1, None, 0.1)) == list(tunnel(east.tunnel, 1, GIGABIT, None)) == []


def test_bounds_that_hold_a_fast_and_long_line_back(east: SiteConfig) -> None:
    findings = list(tunnel(east.tunnel, 1, 10e9, 0.1))
    assert {finding.level for finding in findings} == {Level.ATTENTION}
    assert [finding.remedy for finding in findings] == [
        f'{key} = "239MiB" in [tunnel], on both sites' for key in ("window", "memory", "unacked")
    ]


def test_no_more_is_advised_than_a_sites_file_may_have(east: SiteConfig) -> None:
    window, memory, unacked = (finding.remedy for finding in tunnel(east.tunnel, 1, 400 * GIGABIT, 0.1))
    assert window.startswith('window = "4GiB" in [tunnel], on both sites: no more is possible')
    assert (memory, unacked) == tuple(f'{key} = "9537MiB" in [tunnel], on both sites' for key in ("memory", "unacked"))


def test_peers_share_what_is_under_way(east: SiteConfig) -> None:
    """One stream's window is its own."""
    (unacked,) = tunnel(east.tunnel, 3, GIGABIT, 0.1)
    assert unacked.found == "tunnel.unacked is 64 MiB for 3 peers, but 1 Gbit/s at 100 ms needs 71.5 MiB"
    assert unacked.remedy == 'unacked = "72MiB" in [tunnel], on both sites'
