"""Benches of several cases: what of them is kept, judged and shown, and how they end. Nothing is measured here."""

import errno
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest
from rich.console import Console

from bench.array import ArrayFailure
from bench.case_results import Figure, Results, show
from bench.cases import Bench, Benchmark, Case
from bench.goals import Goal
from bench.lines import Setting
from bench.load import LoadFailure
from bench.overwan.__main__ import CASES

FACTS = {"isthmus": "0", "python": "3", "processor": "p", "cores": 2, "load_before": 0.0}
FIELD = Setting(loss=1)
TITLES = {"first": "", "second": ""} | {name: case.title for name, case in CASES.items()}


def goal(measured: float) -> Goal:
    return Goal("as shipped / bbr", measured, 97, True, "%")


def results() -> Results:
    found = Results(FACTS, 1.0)
    values: dict[str, float | None] = {"steady": 41.23, "all": 1234.5, "bbr": 42, "cubic": None, "limit": 1043.4}
    text = Setting("1Gbit", 100, 0.1).text
    found.figures["fill"] = [
        Figure(text, "as shipped", values, (goal(98.2),)),
        Figure(text, "cubic, lanes", values, (goal(80),)),
        Figure(text, "as shipped", values, (goal(50),), excuse="the cores were busy (99%)"),
    ]
    return found


def shown(found: Results) -> str:
    out = io.StringIO()
    show(found, TITLES, Console(file=out, width=80))
    return out.getvalue()


def test_the_tables_fit_eighty_columns_and_excuses_stand_in_the_cells() -> None:
    text = shown(results())
    assert "…" not in text
    assert "(1) not measured: the cores were busy (99%)" in text
    assert text.count("41.2") == 2
    assert [goal.measured for goal in results().goals()] == [98.2, 80]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (9.994, "9.99"), (10, "10.0"), (999.9, "999.9"), (1000, "1,000"), (-1000, "-1,000")],
)
def test_figures_have_three_digits_or_more(value: float, text: str) -> None:
    found = Results(FACTS, 1.0, {"fill": [Figure("line", "what", {"x": value})]})
    assert f" {text} " in shown(found)


def test_missed_goals_are_shown_not_punished() -> None:
    assert results().right
    found = results()
    found.figures["warm"] = [Figure("line", "what", {}, identical=False)]
    assert not found.right
    assert "BYTES DIFFER" in shown(found)


def test_the_data_have_the_goals_and_what_became_of_them() -> None:
    data = json.loads(json.dumps(results().as_dict()))
    first, second, _ = data["figures"]["fill"]
    assert first["goals"][0] == {
        "what": "as shipped / bbr", "measured": 98.2, "bound": 97, "at_least": True, "unit": "%", "met": True
    }  # fmt: skip
    assert second["values"]["cubic"] is None


def test_what_never_was_is_no_number() -> None:
    never = Goal("full again", float("inf"), 2, False, "s")
    found = Results(FACTS, 1.0, {"outage": [Figure(FIELD.text, "outage 1", {}, (never,))]})
    (figure,) = json.loads(json.dumps(found.as_dict(), allow_nan=False))["figures"]["outage"]
    assert figure["goals"][0] | {"measured": None, "met": False} == figure["goals"][0]
    assert "never" in shown(found)


def measuring(value: float, error: BaseException | None = None) -> Case:
    """A figure, and then what goes wrong."""

    def measure(_: Bench) -> Iterator[Figure]:
        yield Figure("line", "what", {"x": value})
        if error:
            raise error

    return Case(f"title of {value}", measure)


def benchmark(**cases: Case) -> Benchmark:
    return Benchmark("bench-any", "bench.any", "Any.", cases, lambda: None, (ArrayFailure,))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (LoadFailure("the sink has gone"), "the sink has gone"),
        (ArrayFailure("no array today"), "no array today"),
        (TimeoutError(), "TimeoutError()"),
        (OSError(errno.ENOSPC, "No space left on device"), f"no room in {gettempdir()}: No space left on device (see"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_case_that_fails_ends_only_itself(
    error: Exception, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether that may happen with any case, or with those of this benchmark."""
    found = Results(FACTS, 1.0)
    any_ = benchmark(first=measuring(1.0, error), second=measuring(2.0))
    any_.measure(Bench(tmp_path, print), ["first", "second"], found)
    assert [len(figures) for figures in found.figures.values()] == [1, 1]
    assert not found.right
    assert f"first failed: {told}" in " ".join(shown(found).split())
    assert f"first failed: {told}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "told"), [(KeyboardInterrupt(), "interrupted"), (ZeroDivisionError("a defect"), "a defect")]
)
def test_what_was_measured_before_a_run_ends_early_is_written_and_shown(
    error: BaseException,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "figures.json"
    monkeypatch.setattr(sys, "argv", ["any", "--json", str(file)])
    with pytest.raises(type(error)):
        benchmark(first=measuring(1.0), second=measuring(2.0, error), third=measuring(3.0)).run()
    written = json.loads(file.read_text())
    assert [len(figures) for figures in written["figures"].values()] == [1, 1]
    assert told in written["failures"]["second"]
    out = capsys.readouterr().out
    assert "title of 1.0" in out
    assert told in out


def test_a_run_that_is_interrupted_at_once_leaves_the_file_of_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: Bench) -> Iterator[Figure]:
        raise KeyboardInterrupt

    (file := tmp_path / "figures.json").write_text("those of yesterday")
    monkeypatch.setattr(sys, "argv", ["any", "--json", str(file)])
    with pytest.raises(KeyboardInterrupt):
        benchmark(only=Case("title", interrupted)).run()
    assert file.read_text() == "those of yesterday"
    assert not capsys.readouterr().out


@pytest.mark.parametrize(("scale", "size"), [(1.0, 768 << 20), (0.5, 384 << 20), (0.03, 23 << 20), (0.01, 16 << 20)])
def test_sizes_are_scaled_but_not_too_small(tmp_path: Path, scale: float, size: int) -> None:
    assert Bench(tmp_path, print, scale).bytes(768 << 20, 16 << 20) == size
