"""Ctrl-C on a terminal interrupts a bench and what it has started at once: it ends, and none of these says a word.

What was measured until then is kept.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.sites import environment
from tests.patience import PATIENCE

BEFORE = {"kernels", "limits", "direct", "baseline"}
COMMANDS = {
    "round 2": (["bench.viewers", "--size", "4", "--rounds", "1000"], {"alone", "watched", "goals"}),
    "plain TLS relay pair, 32": (["bench.pipeline", "--size", "8MiB"], BEFORE),
    "38 %, 1 connections, warm": (["bench.pipeline", "--size", "1MiB"], BEFORE | {"transfers"}),
}
"""By what each says when it is to be interrupted; with what it has measured by then."""
KEPT = BEFORE | {"alone", "watched", "goals", "transfers", "many", "latency", "memory"}


@pytest.mark.parametrize("moment", COMMANDS)
def test_it_ends_in_silence_and_keeps_what_it_has(moment: str, tmp_path: Path) -> None:
    words, measured = COMMANDS[moment]
    file = tmp_path / "figures.json"
    command = [sys.executable, "-m", *words, "--json", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    ) as process:
        assert process.stderr is not None
        while moment not in (line := process.stderr.readline()):
            assert line
        os.killpg(process.pid, signal.SIGINT)
        shown, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert "a transfer" in shown
    figures = json.loads(file.read_text())
    assert {name for name in KEPT & figures.keys() if figures[name]} == measured
    assert figures["failure"] == "interrupted"
