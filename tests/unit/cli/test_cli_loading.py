"""Importing what a command needs: Ctrl-C meanwhile ends the process at once, without a word."""

import signal
import subprocess
import sys
from pathlib import Path

from proxy.cli.loading import load
from proxy.errors import ExitCode

SWALLOWS = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except BaseException:
    print("the interpreter goes on")
"""


def test_it_ends_though_the_interpreter_would_have_gone_on(tmp_path: Path) -> None:
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    begin = f"import sys; sys.path.append({str(tmp_path)!r}); from proxy.cli.loading import load; load('swallows')"
    done = subprocess.run([sys.executable, "-c", begin], capture_output=True, check=False, timeout=60)
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
