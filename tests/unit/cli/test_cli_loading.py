"""Importing what a command needs: Ctrl-C meanwhile ends the process at once, without a word."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.cli.loading import load
from proxy.errors import ExitCode
from tests.patience import PATIENCE

SWALLOWS = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except BaseException:
    print("the interpreter goes on")
"""

COMMAND = "import sys; sys.path += sys.argv[1:]; from proxy.cli.loading import load; load('swallows')"
BENCH = """
import bench, sys
from proxy.cli.parts import import_of_bench
bench.__path__ += sys.argv[1:]
import_of_bench("swallows", "the bench")
"""


@pytest.mark.parametrize("begin", [COMMAND, BENCH], ids=["a command", "a part of the bench"])
def test_it_ends_though_the_interpreter_would_have_gone_on(begin: str, tmp_path: Path) -> None:
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    command = [sys.executable, "-c", begin, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, b"", b"")


def test_what_was_set_before_is_set_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        for handler in (signal.default_int_handler, signal.SIG_IGN):
            signal.signal(signal.SIGINT, handler)
            load("proxy.errors")
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_ends_as_well_before_it_can_heed_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "signal.py").write_text("raise KeyboardInterrupt")  # while the first module is imported
    begin = "import sys; sys.path[:0] = sys.argv[1:]; from proxy.cli import main; main()"
    command = [sys.executable, "-c", begin, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.INTERRUPTED, b"", b"")
