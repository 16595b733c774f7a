"""Ctrl-C on a terminal interrupts a bench and what it has started at once: it ends, and none of these says a word."""

import os
import signal
import subprocess
import sys

import pytest

from bench.sites import environment
from tests.patience import PATIENCE

COMMANDS = {
    "round 2": ["bench.viewers", "--size", "4", "--rounds", "1000"],
    "plain TLS relay pair, 32": ["bench.pipeline", "--size", "8MiB"],
    "memory store": ["bench.pipeline", "--size", "1MiB"],
}
"""By what each says when it is to be interrupted."""


@pytest.mark.parametrize("moment", COMMANDS)
def test_it_ends_in_silence(moment: str) -> None:
    command = [sys.executable, "-m", *COMMANDS[moment]]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    ) as process:
        assert process.stderr is not None
        while moment not in (line := process.stderr.readline()):
            assert line
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in told
