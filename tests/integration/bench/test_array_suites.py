"""The suites on iSCSI arrays for real, much shortened: targets, initiators, lines and pairs; every byte compared."""

from pathlib import Path

import pytest

from bench.array import IscsiTarget
from bench.replay import fio
from bench.replay.arrays import Ground
from bench.replay.suites import blocks, concurrency, workloads
from bench.replay.suites.workloads import Fabric
from bench.replay.suites.workloads_report import ALONE, MIXED, SEPARATE
from bench.replay.trial import Outcome, Stage
from bench.wan.namespaces import lacking, lacking_tun

pytestmark = [pytest.mark.root, pytest.mark.serial, pytest.mark.usefixtures("quick")]
MIB = 1 << 20


@pytest.fixture
def directory(site_directory: Path) -> Path:
    if reason := IscsiTarget.lacking() or fio.lacking():
        pytest.skip(reason)
    return site_directory


def see_complete(outcome: Outcome) -> None:
    assert not outcome.complaint, "every byte arrived"
    assert outcome.figures
    assert all(figure.value is not None for figure in outcome.figures)


def test_volumes_in_progress_over_a_line(directory: Path) -> None:
    if reason := lacking() or lacking_tun():
        pytest.skip(reason)
    stage = Stage(directory, 1 / 10_000)
    found = dict(concurrency.measure(Ground("oc3", "pair"), [(4, 2)], stage))
    assert list(found) == ["pair/oc3/host-alone", "pair/oc3/4/2"]
    for outcome in found.values():
        see_complete(outcome)
    samples = found["pair/oc3/4/2"].samples
    assert max(count for _, count in samples["in progress"]) == 2
    assert [count for _, count in samples["waiting"]] == sorted(
        (count for _, count in samples["waiting"]), reverse=True
    )
    assert samples["waiting"][0][1] == 2
    assert [unit for unit, *_ in samples["volumes"]] == [1, 2, 3, 4]
    assert all(seconds > 0 for _, _, seconds in samples["volumes"])


def test_writes_that_wait(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SIZES", (1, 64))
    monkeypatch.setattr(blocks, "UNIT", 2 * MIB)
    found = dict(blocks.measure(Ground("none", "pair"), Stage(directory, 1 / 1000)))
    assert list(found) == [f"pair/none/{name}" for name in ("1", "64", "copying", "creating")]
    for outcome in found.values():
        see_complete(outcome)
        assert all(figure.value for figure in outcome.figures)


def test_a_writer_whose_time_is_over_at_once_has_figures(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the machine stands still just then."""
    monkeypatch.setattr(blocks, "SIZES", (1,))
    monkeypatch.setattr(blocks, "UNIT", 2 * MIB)
    monkeypatch.setattr(blocks, "LEAST_SECONDS", 0.0)
    for _, outcome in blocks.measure(Ground("none", "direct"), Stage(directory, 0.0)):
        see_complete(outcome)


@pytest.mark.parametrize("pool", [SEPARATE, MIXED])
def test_workloads_on_pools_of_their_own_and_a_mixed_one(
    directory: Path, monkeypatch: pytest.MonkeyPatch, pool: str
) -> None:
    """One of the pools behind a line, the other without."""
    if reason := lacking() or lacking_tun():
        pytest.skip(reason)
    monkeypatch.setattr(workloads, "LEAST_VOLUME", 2 * MIB)
    monkeypatch.setattr(workloads, "LEAST_SECONDS", 0.5)
    fabric = Fabric(("oc3", "none"), pool, "direct")
    found = dict(workloads.measure(fabric, Stage(directory, 1 / 65536)))
    assert tuple(found) == fabric.cells
    for outcome in found.values():
        see_complete(outcome)
        assert [figure.name for figure in outcome.figures] == ["operations", "throughput", "latency", "sent again"]


def test_workloads_through_the_pair_cost_its_sites_cpu(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "LEAST_VOLUME", 8 * MIB)
    monkeypatch.setattr(workloads, "LEAST_SECONDS", 1.0)
    fabric = Fabric(("none",), ALONE, "pair")
    found = dict(workloads.measure(fabric, Stage(directory, 1 / 65536)))
    assert tuple(found) == fabric.cells
    for outcome in found.values():
        see_complete(outcome)
        *_, cost = outcome.figures
        assert cost.name == "sites"
        assert cost.value
