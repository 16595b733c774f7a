"""The suites on iSCSI arrays: their cells at any scale, what writers write, and what reports say. Nothing runs here."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.array import ArrayFailure
from bench.datasets import Dataset
from bench.replay.arrays import LINES, Ground, not_carried
from bench.replay.document import Section, Table
from bench.replay.records import Record
from bench.replay.results import Results
from bench.replay.suite import Suite
from bench.replay.suites.blocks import BLOCKS
from bench.replay.suites.concurrency import CONCURRENCY
from bench.replay.suites.reduction import REDUCTION
from bench.replay.suites.workloads import WORKLOADS
from bench.replay.trial import Figure, Lacking, Options, Outcome, Stage, see_room
from bench.replay.writers import FILE_WRITE, alike, creating

MIB = 1 << 20
SUITES = [CONCURRENCY, BLOCKS, WORKLOADS, REDUCTION]


def cells(suite: Suite, scale: float) -> list[str]:
    return [cell for trial in suite.trials(Options(scale)) for cell in trial.cells]


def results(figures: dict[str, dict[str, float]], lacking: tuple[str, ...] = (), scale: float = 1.0) -> Results:
    """Of cells whose figures are these."""
    records = [
        Record("any", cell, 1, scale, {}, {}, "done", 1.0, Outcome(tuple(Figure(*each, "") for each in found.items())))
        for cell, found in figures.items()
    ]
    records += [Record("any", cell, 1, 1.0, {}, {}, "lacking", 0.0, reason="too fast") for cell in lacking]
    return Results(tuple(records))


def section(suite: Suite, found: Results) -> Section:
    (made,) = suite.report(found)
    for table in made.tables:
        assert all(len(row) == len(table.headings) for row in table.rows), table.title
    return made


def texts(tables: Iterator[Table]) -> set[str]:
    return {text for table in tables for row in table.rows for text in row}


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)
def test_at_its_own_scale_a_suite_takes_minutes(suite: Suite) -> None:
    assert sum(trial.seconds for trial in suite.trials(Options(suite.small))) < 6 * 60


def test_the_whole_published_matrix_is_there_at_scale_1() -> None:
    found = cells(CONCURRENCY, 1)
    for line in LINES:
        for count in (3, 9, 12, 18):
            for most in (1, 3, 9, 12, 16):
                assert {f"direct/{line}/{count}/{most}", f"pair/{line}/{count}/{most}"} <= set(found)
    assert {f"pair/10g/{size}" for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)} <= set(cells(BLOCKS, 1))
    assert {"pair/10g+1g/mixed/random", "direct/1g/alone/read"} <= set(cells(WORKLOADS, 1))


def test_a_report_of_nothing_is_empty_but_whole() -> None:
    for suite in SUITES:
        made = section(suite, results({}))
        assert not made.plots
        assert not made.findings


def test_relations_of_volumes_in_progress() -> None:
    times = {"3/16": 10.0, "18/16": 60.0, "18/1": 90.0}
    found = {
        f"{way}/oc3/{place}": {"replication": seconds} for way in ("direct", "pair") for place, seconds in times.items()
    }
    found["pair/oc3/18/16"] |= {"host I/O": 1000.0, "replication": 30.0}
    found["pair/oc3/18/1"] |= {"host I/O": 1500.0}
    made = section(CONCURRENCY, results(found, ("direct/10g/18/16",)))
    relation = next(row for row in made.tables[-1].rows if row[0] == "time of 18 volumes / of 3, OC3 (155 Mb/s)")
    assert relation == ("time of 18 volumes / of 3, OC3 (155 Mb/s)", "6x", "6.00x", "3.00x")
    assert (
        "On OC3 (155 Mb/s), 18 volumes, 16 at once, go 2.00 times as fast through Isthmus (30.0 s, directly 60.0 s)."
        in made.findings
    )
    assert any("takes 3.00x the time, and the hosts get 1.50x the operations" in finding for finding in made.findings)
    assert made.tables[0].notes.texts == ["too fast"]


@pytest.mark.parametrize(("scale", "told"), [(1 / 2000, "Volumes have 5.00 MB here instead of 10,000"), (1 / 20, "")])
def test_volumes_that_are_too_small_to_say_much_are_told(scale: float, told: str) -> None:
    made = section(CONCURRENCY, results({"pair/t3/18/1": {"replication": 1.0}}, scale=scale))
    assert any("says little" in finding for finding in made.findings) is bool(told)
    assert not told or made.findings[0].startswith(told)


def test_turns_are_plotted_in_steps() -> None:
    samples = {"in progress": [[0.0, 1], [2.0, 1], [4.0, 0]], "waiting": [[0.0, 1], [2.0, 0], [4.0, 0]]}
    record = Record("any", "pair/t3/18/1", 1, 1.0, {}, {}, "done", 1.0, Outcome((), samples))
    (plot,) = section(CONCURRENCY, Results((record,))).plots
    assert plot.series[1].x == [0, 2, 2, 4, 4]
    assert plot.series[1].y == [1, 1, 0, 0, 0]


def test_writes_that_wait() -> None:
    found: dict[str, dict[str, float]] = {
        "direct/1g/4": {"throughput": 8.0, "latency": 0.5},
        "pair/1g/4": {"throughput": 4.0, "latency": 1.0},
        "direct/none/4": {"throughput": 8.5, "latency": 0.4},
        "direct/1g/64": {"throughput": 60.0},
        "direct/none/64": {"throughput": 240.0},
        "direct/1g/copying": {"throughput": 90.0, "average write": 64.0},
    }
    made = section(BLOCKS, results(found))
    assert any("from 64 KiB on" in finding for finding in made.findings)
    assert "On 1 Gb/s, a write of 4 KiB takes 0.50 ms longer through Isthmus." in made.findings
    row = next(row for row in made.tables[-1].rows if row[0] == "four that copy files, 1 Gb/s, direct")
    assert row[1:] == ("90.0", "85.0", "-", "64.0", "likely to help")


def test_workloads_beside_the_published_ones() -> None:
    found = {
        f"{way}/{lines}/write": {"throughput": rate, "operations": 10.0, "latency": 1.0, "sent again": 0.1}
        for lines, rate in (("1g/alone", 100.0), ("oc3+t3/separate", 20.0), ("oc3+t3/mixed", 10.0))
        for way in ("direct", "pair")
    }
    found["pair/1g/alone/write"]["sites"] = 345.6
    made = section(WORKLOADS, results(found, ("direct/10g/alone/write",)))
    shown = texts(iter(made.tables))
    assert "346" in shown
    assert {"3,532, 221, 13.6", "4,151, 259, 11.6", "1 Gb/s, through Isthmus"} <= shown
    assert any("writes in pools of their own are 2.00x as fast as in one mixed pool" in each for each in made.findings)


def test_slow_lines_need_no_probe() -> None:
    assert not_carried(Ground("oc3", "direct")) == not_carried(Ground("none", "pair")) == ""


def test_a_disk_without_room_is_said() -> None:
    see_room(1)
    with pytest.raises(Lacking, match=r"has .* MiB free, .* are needed \(see TMPDIR\); use a smaller --scale$"):
        see_room(1 << 60)


def test_a_disk_without_room_for_writes_that_wait_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writers were told of an error of the medium, by its number."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100 << 20))
    trial = BLOCKS.trials(Options(BLOCKS.small))[0]
    with pytest.raises(Lacking, match=r" has 100 MiB free, 320 MiB are needed \(see TMPDIR\)$"):
        next(iter(trial.measure(Stage(tmp_path, BLOCKS.small))))


@pytest.mark.parametrize("suite", [BLOCKS, CONCURRENCY, WORKLOADS], ids=lambda suite: suite.name)
def test_a_directory_too_long_for_an_array_is_said(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tgtd's log told it; with blocks it ended the run as a defect, and no other suite was measured."""
    monkeypatch.setattr("bench.replay.arrays.lacking", lambda ground: "")
    (directory := tmp_path / ("a" * 120)).mkdir()
    trial = suite.trials(Options(suite.small))[0]
    with pytest.raises(Lacking, match="is too long a path for tgtd's socket"):
        next(iter(trial.measure(Stage(directory, suite.small))))


@pytest.mark.parametrize("suite", [BLOCKS, CONCURRENCY, WORKLOADS], ids=lambda suite: suite.name)
def test_an_array_that_fails_ends_its_trial_only(suite: Suite) -> None:
    assert ArrayFailure in suite.failures


def test_what_writers_write() -> None:
    content = Dataset("writers", 8 * MIB, 38, 10)
    for writer in (alike(1, content, 1536), creating(2, content)):
        assert 0.9 * content.size < sum(writer.lengths) <= content.size
        assert all(0 < length <= FILE_WRITE and length % 512 == 0 for length in writer.lengths)
        assert writer.written == 0
        writer.latencies += [0.1, 0.1]
        assert writer.written == sum(writer.lengths[:2])


def test_writers_notice_other_bytes(tmp_path: Any) -> None:
    writer = alike(1, Dataset("writers", MIB), 4096)
    writer.latencies += [0.1] * 3
    unit = tmp_path / "unit"
    unit.write_bytes(bytes(writer.content))
    assert not writer.differs(unit)
    with unit.open("r+b") as file:
        file.seek(3 * 4096 - 1)
        file.write(b"?")
    assert writer.differs(unit)


def test_reduction_of_a_small_volume(tmp_path: Any) -> None:
    (trial, *_) = REDUCTION.trials(Options(1 / 500))
    ((name, outcome),) = trial.measure(Stage(tmp_path, 1 / 500))
    found = {figure.name: figure for figure in outcome.figures}
    assert name == "f5vol2"
    assert found["compressibility"].value == pytest.approx(38, abs=2)
    assert found["generated"].goal == 200
    record = Record("reduction", name, 1, 1.0, dict(trial.settings), {}, "done", 1.0, outcome)
    kept = Results((record,))
    made = section(REDUCTION, kept)
    stated, *_, expected = ([table.headings, table.rows[0]] for table in made.tables[:4])
    assert dict(zip(*stated, strict=True))["stated"] == "10.0", "of duplicates, the last column of that name"
    assert expected[1][2] == "137"
    assert not [summary for _, summary in kept.summaries() if summary.ratio], "what is computed beats nobody"
    assert [plot.name for plot in made.plots] == ["reduction-stores"]
    assert any("cross the field test's line when they are new" in finding for finding in made.findings)
