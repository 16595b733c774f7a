"""`make bench-wan` on one line, much shortened: it measures, shows, writes its data, and compares every byte."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bench.case_results import Results
from bench.lines import Setting
from bench.overwan import alone, bursts, fill, iperf
from bench.overwan.__main__ import BENCHMARK
from bench.programs import write
from bench.sites import environment
from bench.wan import Wan, WanFailure
from bench.wan.namespaces import lacking, lacking_tun
from tests.integration.bed.lines import line_or_skip
from tests.integration.bench.conftest import Here
from tests.patience import until

COMMAND = [sys.executable, "-m", "bench.overwan"]


@pytest.fixture
def measurable() -> None:
    """Skips where there is no line, or nothing to compare with."""
    if reason := lacking() or lacking_tun() or iperf.lacking():
        pytest.skip(reason)


@pytest.mark.root
@pytest.mark.usefixtures("measurable")
def test_one_line_much_shortened(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fill, "AS_SHIPPED", replace(fill.AS_SHIPPED, rounds=2))
    file = tmp_path / "figures.json"
    arguments = ["--only", "fill", "--lines", "1", "--scale", "0.01", "--json", str(file)]
    done = here(BENCHMARK.run, *arguments)
    assert done.returncode == 0, done.stderr
    assert "45 Mb/s, 100 ms, 0 %" in done.stdout
    figures = json.loads(file.read_text())["figures"]["fill"]
    assert [figure["what"] for figure in figures] == ["as shipped", "cubic, lanes"]
    for figure in figures:
        assert figure["identical"]
        assert figure["values"]["all"] > 0
        assert figure["values"]["limit"] == pytest.approx(43.44)


@pytest.mark.root
@pytest.mark.usefixtures("measurable")
def test_one_that_goes_on_alone_and_a_slow_store_much_shortened(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of eight, and over a line that this machine can fill whatever else it does."""
    monkeypatch.setattr(alone, "SETTING", Setting("45Mbit"))
    monkeypatch.setattr(alone, "STREAMS", 8)
    file = tmp_path / "figures.json"
    arguments = ["--only", "alone", "slow-store", "--lines", "1", "--scale", "0.01", "--json", str(file)]
    done = here(BENCHMARK.run, *arguments)
    assert done.returncode == 0, done.stderr
    figures = json.loads(file.read_text())["figures"]
    (one_of_many,), (slow_store,) = figures["alone"], figures["slow-store"]
    assert one_of_many["identical"]
    assert one_of_many["values"]["together"] > 0
    assert one_of_many["values"]["one"] > 0
    assert slow_store["identical"]
    if not slow_store["values"]:
        pytest.skip(slow_store["excuse"])
    assert slow_store["values"]["known"] > 0


@pytest.mark.root
@pytest.mark.usefixtures("measurable")
def test_two_bursts_much_shortened(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bursts, "BURSTS", 2)
    file = tmp_path / "figures.json"
    done = here(BENCHMARK.run, "--only", "bursts", "--scale", "0.01", "--json", str(file))
    assert done.returncode == 0, done.stderr
    [figure] = json.loads(file.read_text())["figures"]["bursts"]
    assert (figure["what"], figure["identical"]) == ("1 bursts", True)
    assert 0 < figure["values"]["slowest"] == figure["values"]["mean"]
    if "bbr" in iperf.offered():
        assert figure["values"]["bbr"] > 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--scale", "0"], '"0" is not a scale; write a number from 0.01 to 10'),
        (["--lines", "none"], '"none" is not a whole number; write 1 or more'),
        (["--only", "everything"], "invalid choice"),
    ],
)
def test_bad_options_are_refused(arguments: list[str], complaint: str) -> None:
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert complaint in done.stderr


def test_figures_that_cannot_be_written_are_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not write(Results({}, 1.0).as_dict(), tmp_path / "nowhere" / "figures.json")
    assert "figures.json: No such file or directory" in capsys.readouterr().err


def test_what_is_missing_is_one_clear_error() -> None:
    nothing = {**environment(), "PATH": ""}
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=nothing, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "bench-wan cannot run here: iperf3 is not installed" in done.stderr


def stand_in(directory: Path, monkeypatch: pytest.MonkeyPatch, option: str, does: str) -> None:
    """An iperf3 that does something else when it is given that option; `{real}` is the one that is installed."""
    if reason := iperf.lacking():
        pytest.skip(reason)
    real, ours = shutil.which("iperf3"), directory / "iperf3"
    ours.write_text(f'#!/bin/sh\ncase " $*" in *"{option}"*) {does.format(real=real)} ;; esac\nexec {real} "$@"\n')
    ours.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


@pytest.mark.root
def test_an_iperf3_without_a_report_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its receiver, whose report counts, says nothing."""
    stand_in(tmp_path, monkeypatch, " -s ", 'exec {real} "$@" >/dev/null')
    with line_or_skip() as wan, pytest.raises(WanFailure, match="iperf3 has made no report: it said nothing"):
        iperf.rate(wan, iperf.offered()[-1], 1, 0)


@pytest.mark.root
def test_an_iperf3_that_does_not_end_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iperf, "PATIENCE_SECONDS", 2.0)
    stand_in(tmp_path, monkeypatch, " -c ", "exec sleep 600")
    with line_or_skip() as wan, pytest.raises(WanFailure, match=r"^iperf3 did not end within 3 s$"):
        iperf.rate(wan, iperf.offered()[-1], 1, 0)


@pytest.mark.root
def test_nothing_is_measured_beside_an_iperf3_that_has_ended() -> None:
    with line_or_skip() as wan:
        if reason := iperf.lacking():
            pytest.skip(reason)
        with pytest.raises(WanFailure, match="iperf3 ended before what was measured beside it: after 1 s"):
            wait_for_its_end(wan)


@pytest.mark.root
def test_an_iperf3_with_a_long_report_is_seen_to_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a kilobyte for each second, and a pipe that nobody read took no more after a minute."""
    stand_in(tmp_path, monkeypatch, " -c ", "yes | head -c 1000000; exit 1")
    with line_or_skip() as wan, pytest.raises(WanFailure, match="iperf3 ended before what was measured beside it: y"):
        wait_for_its_end(wan)


def wait_for_its_end(wan: Wan) -> None:
    with iperf.bulk(wan, iperf.offered()[-1], 1):
        until(lambda: any(map(has_ended, psutil.Process().children())))


def has_ended(child: psutil.Process) -> bool:
    """An iperf3, which nobody has asked for its exit code yet."""
    return child.status() == psutil.STATUS_ZOMBIE and child.name() == "iperf3"
