"""Kills a process that works on a store."""

import signal
import time
from pathlib import Path

from tests.conformance.child import work_until_killed
from tests.forking import FORKING
from tests.patience import PATIENCE


def kill_at_work(path: Path, seed: int, seconds: float) -> None:
    """Have another process work on the store at that path, and kill it so many seconds after it has begun."""
    ready = FORKING.Event()
    process = FORKING.Process(target=work_until_killed, args=(str(path), seed, ready), daemon=True)
    process.start()
    try:
        assert ready.wait(PATIENCE)
        time.sleep(seconds)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL
