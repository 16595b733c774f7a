"""`isthmus bench` for real, very small: a cell of the field test over a line, resumed, reported; and interrupted."""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from bench.sites import environment, isthmus
from bench.wan.namespaces import lacking, lacking_tun
from proxy.cli.commands import root
from proxy.errors import ExitCode
from tests.patience import PATIENCE, until

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def line_is_possible() -> None:
    if reason := lacking() or lacking_tun():
        pytest.skip(reason)


def bench(*words: object) -> Result:
    """In this process."""
    return CliRunner().invoke(root, ["bench", *map(str, words)])


def typed(*words: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        isthmus("bench", *map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )


@pytest.mark.usefixtures("quick")
def test_a_cell_of_the_field_test(tmp_path: Path) -> None:
    """Three passes through a pair of sites over the line of the field test; then there is nothing left to do."""
    results = tmp_path / "results"
    words = ("run", "field", "--only", "singly/f5vol4/memory", "--scale", "1/2000", "--out", results)
    measured = bench(*words)
    assert measured.exit_code == ExitCode.OK, measured.stderr
    assert "field/singly/f5vol4/memory/1: throughput " in measured.stderr
    kept = {path.name: json.loads(path.read_text()) for path in (results / "field").iterdir()}
    assert sorted(kept) == [f"singly_f5vol4_memory_{number}.1.json" for number in (1, 2, 3)]
    for record in kept.values():
        assert record["state"] == "done"
        assert not record["outcome"]["complaint"]
        figures = {figure["name"]: figure for figure in record["outcome"]["figures"]}
        assert figures["throughput"]["value"] > 0
        assert 0 < figures["on the line"]["value"] < 50, "99 % compressible"
        assert record["outcome"]["samples"]["line"][-1][1] > 0
    again = bench(*words)
    assert again.exit_code == ExitCode.OK, again.stderr
    assert "1 of 1 trials are finished already" in again.stderr
    reported = bench("report", results)
    assert reported.exit_code == ExitCode.OK, reported.stderr
    assert "| f5vol4 | memory | 2 | 1m35s | 1,411 | " in reported.stdout


def test_interrupted_it_leaves_nothing_behind(tmp_path: Path) -> None:
    """Sites, line and source are gone; one message says how to go on."""
    words = ("run", "alternatives", "--only", "isthmus/f5vol3", "--scale", "1/32", "--out", tmp_path)
    running = typed(*words)
    itself = psutil.Process(running.pid)

    def sends() -> bool:
        return any("bench.replay.flow" in _words(child) for child in itself.children(recursive=True))

    until(sends)
    children = itself.children(recursive=True)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == ExitCode.INTERRUPTED, err
    assert "Traceback" not in err
    assert f"interrupted; what was finished is kept in {tmp_path}: go on with isthmus bench run alternatives" in err
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # one that ends at this moment
        return []
