"""Tests that are killed leave nothing at work: no site, and no process with a store of its own."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.sites import environment
from tests.patience import until

SITE = """
bed = Bed(directory)
site = bed.site("east", {"west": ("127.0.0.1", 9)})
site.start()
site.wait_ready()
"""
STORE = """
ready = FORKING.Event()
FORKING.Process(target=work_until_killed, args=(str(directory), 1, ready), daemon=True).start()
assert ready.wait(PATIENCE)
"""
BEGIN = """
import sys
from pathlib import Path
from tests.conformance.child import work_until_killed
from tests.forking import FORKING
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE
directory = Path(sys.argv[1])
"""
END = """
print("at work", flush=True)
input()
"""


@pytest.mark.parametrize("work", [SITE, STORE], ids=["a site", "a store"])
def test_nothing_outlives_them(tmp_path: Path, work: str) -> None:
    command = [sys.executable, "-c", BEGIN + work + END, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment()) as tests:
        assert tests.stdout is not None
        assert tests.stdout.readline() == "at work\n"
        started = psutil.Process(tests.pid).children(recursive=True)
        tests.kill()
    assert len(started) > 1
    until(lambda: not any(map(works, started)), "it is still at work")


def works(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
