"""What holds for all suites, and the arithmetic of those over lines."""

import re

import pytest

from bench.course import Course, Sample
from bench.lines import Setting
from bench.replay.flow import Flow
from bench.replay.suite import Suite
from bench.replay.suites import SUITES
from bench.replay.suites import field_published as published
from bench.replay.suites.field import volume
from bench.replay.suites.field_pass import Case, Pass, shared
from bench.replay.suites.window import theory
from bench.replay.trial import Options
from bench.replicator import Transfer

MIB = 1 << 20


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
@pytest.mark.parametrize("scale", [1 / 65536, 1 / 2000, 1 / 20, 1.0])
def test_cells_are_named_once_and_fit_for_files(suite: Suite, scale: float) -> None:
    trials = suite.trials(Options(scale))
    cells = [cell for trial in trials for cell in trial.cells]
    assert cells
    assert len({cell.replace("/", "_") for cell in cells}) == len(cells)
    assert all(re.fullmatch(r"[\w.%+-]+(/[\w.%+-]+)*", cell) for cell in cells)
    assert all(trial.seconds > 0 and trial.settings for trial in trials)


def test_everything_small_is_done_in_half_an_hour() -> None:
    seconds = sum(trial.seconds for suite in SUITES.values() for trial in suite.trials(Options(suite.small)))
    assert seconds < 30 * 60


def test_every_published_cell_of_the_field_test_has_a_place() -> None:
    cells = {cell for trial in SUITES["field"].trials(Options(1.0)) for cell in trial.cells}
    found = [cell for cell in cells if _published(cell)]
    assert len(found) == 22


def _published(cell: str) -> float | None:
    how, one, other, number = cell.split("/")
    name, store = (one, other) if how == "singly" else (other, one)
    return published.throughput(how, name, store, int(number))


@pytest.mark.parametrize(
    ("name", "minutes", "told"), [("f5vol2", 17.1, 137), ("f5vol3", 28.35, 78), ("f5vol4", 1.8, 1241)]
)
def test_published_throughputs_are_those_of_these_sizes(name: str, minutes: float, told: float) -> None:
    """The sizes are in 2^30 and the throughputs in 2^20 bytes."""
    assert volume(name, 1.0).size / MIB / minutes == pytest.approx(told, rel=0.01)


def test_a_shared_line() -> None:
    assert shared([10.0, 4.0]) == [14.0, 8.0]
    assert shared([3.0]) == [3.0]
    assert shared([2.0, 2.0, 2.0]) == [6.0, 6.0, 6.0]


def a_pass(case: Case, scale: float, whole: bool) -> dict[str, dict[str, float | None]]:
    volumes = [volume(name, scale) for name in case.volumes]
    course = Course([Sample(5.0, 0), Sample(6.0, 0), Sample(66.0, 45e6 / 8 * 30)])
    flow = Flow(tuple(Transfer(each.size, 60.0, True) for each in volumes), course, course)
    found = Pass(case, 1, volumes, [each.size for each in volumes], flow, "", whole).outcomes()
    figures = {cell: {each.name: each for each in outcome.figures} for cell, outcome in found}
    return {
        cell: {
            "value": each["throughput"].value,
            "goal": each["throughput"].goal,
            "in use": each["line in use"].value if "line in use" in each else None,
        }
        for cell, each in figures.items()
    }


def test_a_pass_of_one_volume() -> None:
    case = Case("singly/f5vol3/disk", ("f5vol3",), "disk")
    (figures,) = a_pass(case, 1.0, True).values()
    assert figures["value"] == pytest.approx(2.18 * 1024, abs=1)
    assert figures["goal"] == pytest.approx(3.5 * 78)
    assert figures["in use"] == pytest.approx(50)


def test_goals_are_for_the_real_sizes() -> None:
    case = Case("singly/f5vol3/disk", ("f5vol3",), "disk")
    assert a_pass(case, 1 / 16, False)["singly/f5vol3/disk/1"]["goal"] is None


def test_three_volumes_have_a_total() -> None:
    case = Case("together/disk", ("f5vol2", "f5vol3", "f5vol4"), "disk")
    found = a_pass(case, 1.0, True)
    assert tuple(found) == case.cells[:4]
    assert found["together/disk/total/1"]["value"] == pytest.approx(6660, rel=0.001), "as published: 1 GB is 1000 MB"


def test_a_pass_that_failed_has_no_figures() -> None:
    """Nor have those beside it: what is left of the line was theirs."""
    case = Case("together/disk", ("f5vol3", "f5vol4"), "disk")
    volumes = [volume(name, 1.0) for name in case.volumes]
    course = Course([Sample(0.0, 0), Sample(1.0, 5e6)])
    transfers = (Transfer(5_000_000, 1.0, False, "reset"), Transfer(volumes[1].size, 60.0, True))
    outcomes = dict(Pass(case, 1, volumes, [1, 1], Flow(transfers, course, course)).outcomes())
    assert tuple(outcomes) == case.cells[:3]
    assert all(not outcome.figures and outcome.complaint == "f5vol3: reset" for outcome in outcomes.values())


def test_a_window_bounds_three_connections() -> None:
    assert theory(Setting("1Gbit", 20), 72_000) == pytest.approx(3 * 28.8)
    assert theory(Setting("45Mbit", 20), 1_000_000) == pytest.approx(45 * 1448 / 1500)
    assert theory(Setting("45Mbit", 0), 72_000) == pytest.approx(45 * 1448 / 1500)
