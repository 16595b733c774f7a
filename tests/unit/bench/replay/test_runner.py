"""What is finished is kept and skipped; what fails, is missing or is interrupted costs nothing of it."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench.replay.command import run
from bench.replay.document import scale_text
from bench.replay.records import RecordFailure, Records, read
from bench.replay.suites import SUITES
from bench.replay.trial import Lacking
from bench.sites import SiteFailure
from proxy.errors import ExitCode, OperatorError
from tests.unit.bench.replay.made_up import ALONE, CELLS, MadeUp, order, raising

DIFFER = "the bytes that arrived differ from those that were sent"


def files(out: Path) -> list[str]:
    return sorted(path.name for path in out.glob("*/*"))


def test_a_file_for_each_cell_and_repeat(made_up: MadeUp, tmp_path: Path) -> None:
    assert run(order(tmp_path, repeat=2)) == ExitCode.OK
    assert files(tmp_path) == [
        "alone.1.json",
        "alone.2.json",
        "passes_1.1.json",
        "passes_1.2.json",
        "passes_2.1.json",
        "passes_2.2.json",
    ]
    kept = json.loads((tmp_path / "made-up" / "passes_1.2.json").read_text())
    assert (kept["suite"], kept["cell"], kept["repeat"], kept["scale"]) == ("made-up", "passes/1", 2, 0.25)
    assert kept["settings"]["line"] == "45Mbit"
    assert {"isthmus", "python", "kernel", "cores", "memory", "tools"} <= set(kept["machine"])
    assert kept["outcome"]["figures"][0]["published"] == 20.0
    assert kept["outcome"]["samples"]["line"] == [[0.0, 0.0]]


def test_what_is_finished_is_skipped(made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(order(tmp_path))
    made_up.measured.clear()
    assert run(order(tmp_path, repeat=2)) == ExitCode.OK
    assert made_up.measured == [*CELLS, ALONE]
    assert "2 of 4 trials are finished already" in capsys.readouterr().err


def test_a_trial_is_measured_whole_or_not_at_all(made_up: MadeUp, tmp_path: Path) -> None:
    run(order(tmp_path))
    Records(tmp_path).path("made-up", CELLS[1], 1).unlink()
    made_up.measured.clear()
    run(order(tmp_path))
    assert made_up.measured == [*CELLS]


@pytest.mark.parametrize(
    ("only", "measured"),
    [((ALONE,), [ALONE]), (("passes",), [*CELLS]), (("*/2",), [*CELLS]), (("passes/1", "alo*"), [*CELLS, ALONE])],
)
def test_only_some(made_up: MadeUp, tmp_path: Path, only: tuple[str, ...], measured: list[str]) -> None:
    assert run(order(tmp_path, only=only)) == ExitCode.OK
    assert made_up.measured == measured


def test_results_of_other_circumstances_are_not_mixed(made_up: MadeUp, tmp_path: Path) -> None:
    run(order(tmp_path))
    with pytest.raises(
        OperatorError, match=r"was made with scale 0\.25, not 0\.5 \(and 2 more\); .*--out.*--again"
    ) as failure:
        run(order(tmp_path, scale=0.5))
    assert failure.value.code == ExitCode.USAGE
    made_up.settings["line"] = "155Mbit"
    with pytest.raises(OperatorError, match="line '45Mbit', not '155Mbit'"):
        run(order(tmp_path))
    made_up.measured.clear()
    assert run(order(tmp_path, again=True)) == ExitCode.OK
    assert made_up.measured == [*CELLS, ALONE]
    assert run(order(tmp_path)) == ExitCode.OK


def test_scales_are_not_mixed_within_a_suite(made_up: MadeUp, tmp_path: Path) -> None:
    run(order(tmp_path, only=("passes",), scale=1.0, repeat=2))
    for again in (False, True):
        with pytest.raises(OperatorError, match=r"passes_1\.1\.json was made with scale 1, not 0\.05 \(and 3 more\)"):
            run(order(tmp_path, only=(ALONE,), scale=0.05, again=again))
    made_up.settings["line"] = "155Mbit"
    assert run(order(tmp_path, only=(ALONE,), scale=1.0)) == ExitCode.OK, "settings are a trial's own"


def test_another_version_is_another_circumstance(made_up: MadeUp, tmp_path: Path) -> None:
    run(order(tmp_path))
    records = Records(tmp_path)
    found = read(records.path("made-up", ALONE, 1))
    records.keep(replace(found, machine=found.machine | {"isthmus": "0.0.1"}))
    with pytest.raises(OperatorError, match=r"was made with Isthmus 0\.0\.1, not "):
        run(order(tmp_path))


def test_what_fails_ends_only_itself_and_is_tried_again(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up.troubles[CELLS[1]] = raising(SiteFailure("site east ended by itself"))
    assert run(order(tmp_path)) == ExitCode.FAILED
    assert made_up.measured == [CELLS[0], ALONE]
    shown = capsys.readouterr().err
    assert "made-up/passes/2: site east ended by itself" in shown
    assert "1 cells failed" in shown
    made_up.troubles.clear()
    assert run(order(tmp_path)) == ExitCode.OK
    assert made_up.measured[2:] == [*CELLS]


def test_again_sets_aside_what_was_finished_and_a_failure_counts(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(order(tmp_path))
    made_up.troubles[CELLS[1]] = raising(SiteFailure("site east died"))
    assert run(order(tmp_path, again=True)) == ExitCode.FAILED
    shown = capsys.readouterr().err
    assert "made-up/passes/2: site east died" in shown
    assert "1 cells failed, see above; the same command without --again tries them again" in shown
    found = read(Records(tmp_path).path("made-up", CELLS[1], 1))
    assert (found.state, found.reason) == ("failed", "site east died")
    assert "passes_2.1.json.old" in files(tmp_path)
    made_up.troubles.clear()
    made_up.measured.clear()
    assert run(order(tmp_path)) == ExitCode.OK
    assert made_up.measured == [*CELLS]


def test_again_that_was_interrupted_goes_on(made_up: MadeUp, tmp_path: Path) -> None:
    run(order(tmp_path, repeat=2))
    made_up.troubles[ALONE] = raising(KeyboardInterrupt())
    with pytest.raises(OperatorError) as failure:
        run(order(tmp_path, repeat=2, again=True))
    assert f"go on with isthmus bench run made-up --repeat 2 --out {tmp_path}" in failure.value.message
    made_up.troubles.clear()
    made_up.measured.clear()
    assert run(order(tmp_path, repeat=2)) == ExitCode.OK
    assert made_up.measured == [ALONE, *CELLS, ALONE], "nothing of the earlier pass is taken for one of this"


def test_of_a_trial_that_fails_no_cell_stays(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.complaints[CELLS[0]] = DIFFER
    run(order(tmp_path))
    made_up.complaints.clear()
    made_up.troubles[CELLS[1]] = raising(SiteFailure("no"))
    assert run(order(tmp_path)) == ExitCode.FAILED
    found = read(Records(tmp_path).path("made-up", CELLS[1], 1))
    assert found.state == "failed"


def test_what_is_lacking_is_said_once_and_is_no_failure(
    made_up: MadeUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for cell in (CELLS[0], ALONE):
        made_up.troubles[cell] = raising(Lacking("sshd is not installed"))
    assert run(order(tmp_path)) == ExitCode.OK
    assert capsys.readouterr().err.count("not measured: sshd is not installed") == 1
    made_up.troubles.clear()
    run(order(tmp_path))
    assert made_up.measured == [*CELLS, ALONE]


def test_a_suite_that_cannot_be_measured_here_does_not_stop_the_others(
    made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(SUITES, "other", replace(made_up.suite, name="other", lacking=lambda: "it needs root"))
    assert run(replace(order(tmp_path), suites=("other", "made-up"))) == ExitCode.FAILED
    assert made_up.measured == [*CELLS, ALONE]
    assert "other cannot be measured here: it needs root" in capsys.readouterr().err
    with pytest.raises(OperatorError, match="it needs root") as failure:
        run(replace(order(tmp_path), suites=("other",)))
    assert failure.value.code == ExitCode.USAGE


def test_bytes_that_differ_fail_the_run_until_they_do_not(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.complaints[ALONE] = DIFFER
    for _ in range(2):
        assert run(order(tmp_path, only=(ALONE,))) == ExitCode.FAILED
    assert made_up.measured == [ALONE, ALONE]
    made_up.complaints.clear()
    assert run(order(tmp_path, only=(ALONE,))) == ExitCode.OK
    made_up.measured.clear()
    assert run(order(tmp_path, only=(ALONE,))) == ExitCode.OK
    assert not made_up.measured


def test_an_interruption_keeps_what_is_finished_and_says_how_to_go_on(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.troubles[CELLS[1]] = raising(KeyboardInterrupt())
    with pytest.raises(OperatorError) as failure:
        run(order(tmp_path / "a b", only=("passes",), scale=1 / 16, repeat=3))
    assert failure.value.code == ExitCode.INTERRUPTED
    expected = f"go on with isthmus bench run made-up --only passes --scale 1/16 --repeat 3 --out '{tmp_path}/a b'"
    assert expected in failure.value.message
    assert files(tmp_path / "a b") == ["passes_1.1.json"]


def test_a_full_disk_of_results(made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made_up.troubles[ALONE] = lambda: monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        OperatorError, match=r"alone\.1\.json cannot be written: No space left on device; what was"
    ) as failure:
        run(order(tmp_path))
    assert failure.value.code == ExitCode.FAILED
    assert files(tmp_path) == ["passes_1.1.json", "passes_2.1.json"], "nothing half written stays"


def test_a_result_that_was_interrupted_while_it_was_written(
    made_up: MadeUp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    made_up.troubles[ALONE] = lambda: monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(OperatorError, match="interrupted; what was finished is kept"):
        run(order(tmp_path))
    assert files(tmp_path) == ["passes_1.1.json", "passes_2.1.json"]


def test_a_full_disk_of_temporary_files_ends_the_run(made_up: MadeUp, tmp_path: Path) -> None:
    made_up.troubles[CELLS[1]] = raising(OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OperatorError, match=r"no room in /.*\(see TMPDIR\); what was finished is kept: go on with"):
        run(order(tmp_path))
    assert files(tmp_path) == ["passes_1.1.json"]


def test_a_directory_that_cannot_be_written(made_up: MadeUp, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        OperatorError, match=r"results cannot be kept in .*file/results: Not a directory; name another with --out$"
    ):
        run(order(tmp_path / "file" / "results"))
    assert not made_up.measured


@pytest.mark.parametrize("content", ["", "{}", '{"format": 2}', '{"format": 1, "suite": "made-up"}', "[]"])
def test_a_file_that_is_no_result(made_up: MadeUp, tmp_path: Path, content: str) -> None:
    run(order(tmp_path))
    path = Records(tmp_path).path("made-up", ALONE, 1)
    path.write_text(content)
    with pytest.raises(RecordFailure, match=r"alone\.1\.json is no result of this bench .*; move it away"):
        read(path)
    with pytest.raises(OperatorError, match="move it away"):
        run(order(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"value": ', '"value": "many", "was": ', r"outcome\.figures\.0\.value: Input should be a valid number"),
        ('"scale": ', '"scale": [], "was": ', "scale: Input should be a valid number"),
        ('"kernel": ', '"was": ', "'machine', 'kernel'"),
        ('"seconds": ', '"was": ', "seconds: Field required"),
    ],
)
def test_a_result_edited_by_hand(made_up: MadeUp, tmp_path: Path, old: str, new: str, place: str) -> None:
    run(order(tmp_path))
    path = Records(tmp_path).path("made-up", ALONE, 1)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(RecordFailure, match=rf"alone\.1\.json is no result of this bench .*{place}.*; move it away"):
        read(path)


@pytest.mark.parametrize(("scale", "text"), [(1 / 16, "1/16"), (1.0, "1.0"), (0.3, "0.3"), (1 / 3, "1/3")])
def test_scales_as_one_types_them(scale: float, text: str) -> None:
    assert scale_text(scale) == text
