"""Sites, and other commands, that are forked from a process which has read all their modules already.

Reading them takes a second of CPU where machines are slow, and tests start hundreds of them. All else is as if it were
typed: the same `main` with the same arguments, in a process of its own. Only how the interpreter starts and ends is not
seen; tests of that mark the site as `typed`.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from multiprocessing import connection
from pathlib import Path
from typing import BinaryIO

from bench.sites import Process, Site
from tests.forking import FORKING
from tests.integration.bed import serving
from tests.patience import PATIENCE

_lock = threading.Lock()
"""Who starts a process also looks how others have ended, and each end is told once."""


class ForkedSite(Site):
    """A site that starts at once."""

    disk_rate = 0
    """Bytes a second at which its store's disk reads, once it has found the place; 0: the machine's disk."""

    def _launch(self, log: BinaryIO) -> Process:
        return Forked(("serve", str(self.config)), self.log, self.log, self.disk_rate)


def isthmus(*words: str) -> "subprocess.CompletedProcess[str]":
    """A command with these words, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="isthmus-") as directory:
        out, err = Path(directory, "out"), Path(directory, "err")
        for file in (out, err):
            file.touch()
        process = Forked(words, out, err)
        try:
            status = process.wait(PATIENCE)
        finally:
            process.send_signal(signal.SIGKILL)  # unless it has ended
        return subprocess.CompletedProcess(words, status, out.read_text(), err.read_text())


class Forked:
    """As much of subprocess.Popen as a site needs."""

    def __init__(self, words: tuple[str, ...], out: Path, err: Path, disk_rate: int = 0) -> None:
        """`isthmus` with these words; what it says is appended to these files. `disk_rate`: as of `ForkedSite`.

        It is in the network namespace of this thread, and dies with this process.
        """
        self._namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)  # open for as long as it runs
        where = f"/proc/{os.getpid()}/fd/{self._namespace}"
        told = words, str(out), str(err), where, disk_rate
        self._process = FORKING.Process(target=serving.isthmus, args=told, daemon=True)
        with _lock:
            self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        with _lock:
            status = self._process.exitcode
            if status is not None and self._namespace >= 0:
                os.close(self._namespace)
                self._namespace = -1
        return status

    def wait(self, timeout: float | None = None) -> int:
        """The exit status. Raises subprocess.TimeoutExpired."""
        connection.wait([self._process.sentinel], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired("isthmus", timeout or 0.0)
        return status

    def send_signal(self, number: int, /) -> None:
        """Unless it has ended, which who forked it may know before us."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
