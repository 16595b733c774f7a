"""fio through a real initiator: qemu-nbd logs in to an iSCSI unit, and fio's nbd engine speaks to qemu-nbd.

    with disk(url, directory, "unit1") as socket, load([Job("random", socket, RANDOM)], directory, 10.0) as running:
        found = running.wait()

The processes of `disk` and `load` are in the network namespace of the thread that enters these contexts; the socket
between them is a file, which every namespace sees.
"""

import contextlib
import json
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.ending import bound
from bench.processes import Process, until

PATIENCE_SECONDS = 60.0
"""Seconds that fio may take beyond the time that it was given, and that qemu-nbd may take to log in."""
AT_WORK = "at-work"
"""A file that fio makes when it begins to work. Until then a signal to end kills it, or is forgotten."""
ASKED_AGAIN_SECONDS = 2.0
ENDLESS = 24 * 3600
COMPRESSIBLE = 38
"""Percent by which written data can be compressed, as with the field test's files."""
MS = 1e6
"""Nanoseconds, in which fio counts, of a millisecond."""


class FioFailure(Exception):
    """fio or qemu-nbd failed; the message has the tool's own words."""


@dataclass(frozen=True)
class Work:
    """What an application does."""

    pattern: str
    """fio's `rw`."""
    size: int
    """Bytes a command."""
    depth: int
    """Commands under way on each disk."""
    reads: int = 100
    """Percent, where the pattern is mixed."""
    most: int = 0
    """Commands a second; 0: as many as it can."""

    def shared(self, parts: int) -> "Work":
        """The work on each part of a disk that is divided into so many."""
        return replace(self, depth=max(1, self.depth // parts), most=self.most // parts)


HOST = Work("randrw", 8 << 10, 30, 70, 3650)
"""The host that works beside the replication: reference section 2. Bounded to what an array of disks can do (section 4:
3,652 a second), because a target that keeps all in memory would leave no processor for the replication."""
SEQUENTIAL_READ = Work("read", 256 << 10, 16)
SEQUENTIAL_WRITE = Work("write", 64 << 10, 12)
RANDOM = Work("randrw", 8 << 10, 8, 67)
"""Reference section 4. The depth, on each of four volumes, follows from the rates and latencies given there."""


class Area(NamedTuple):
    """A part of a disk, in bytes."""

    start: int
    size: int


@dataclass(frozen=True)
class Job:
    """Work on a disk."""

    name: str
    disk: Path
    work: Work
    flow: int = 0
    """Jobs with the same number, other than 0, keep pace with each other: none is ahead by more than a few commands."""
    area: Area | None = None
    """The part of the disk that the job goes over, at most once; None: all of it, again and again."""


@dataclass(frozen=True)
class Found:
    """What the jobs of one name did together."""

    rate: float
    """Bytes a second."""
    operations: float
    """A second."""
    latency: float
    """Milliseconds, mean."""
    commands: int
    """In all."""


def lacking() -> str:
    """Why there is no fio here, or nothing."""
    missing = [tool for tool in ("fio", "qemu-nbd") if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)}; deploy/system-packages bench installs them, as root"
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False).stdout
    return "" if "nbd" in engines.split() else "this fio has no nbd engine"


@contextlib.contextmanager
def disk(url: str, directory: Path, name: str) -> Iterator[Path]:
    """Serve the unit by qemu-nbd; yields its socket. Raises FioFailure."""
    socket = directory / f"{name}.nbd"
    log = directory / f"{name}.log"
    command = ["qemu-nbd", "-t", "-e", "4", "-f", "raw", "--cache=none", "-k", str(socket), url]
    with log.open("wb") as output:
        server = subprocess.Popen(bound(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        there = until(lambda: socket.exists() or server.poll() is not None, PATIENCE_SECONDS)
        if not there or server.poll() is not None:
            raise FioFailure(f"qemu-nbd does not reach its unit: {log.read_text(errors='replace').strip()}")
        yield socket
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


class Load:
    """fio at work."""

    def __init__(self, process: Process, seconds: float) -> None:
        self._process = process
        self._seconds = seconds

    def wait(self) -> dict[str, Found]:
        """Wait for its end; what the jobs of each name did. Raises FioFailure."""
        try:
            told, complaint = self._process.communicate(timeout=self._seconds + PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise FioFailure(f"fio did not end within {PATIENCE_SECONDS:.0f} s of its time") from None
        return found(told, complaint)

    def end(self) -> dict[str, Found]:
        """End it now; what the jobs of each name did. Raises FioFailure."""
        for _ in range(int(PATIENCE_SECONDS / ASKED_AGAIN_SECONDS)):
            self._process.send_signal(signal.SIGINT)  # fio forgets one that comes while it starts
            with contextlib.suppress(subprocess.TimeoutExpired):
                return found(*self._process.communicate(timeout=ASKED_AGAIN_SECONDS))
        raise FioFailure(f"fio did not end within {PATIENCE_SECONDS:.0f} s of being told")


@contextlib.contextmanager
def load(jobs: Sequence[Job], directory: Path, seconds: float | None = None) -> Iterator[Load]:
    """Run jobs at once for so many seconds; with None until told to end, and fio works when the context begins.

    Raises FioFailure if it does not.
    """
    file, at_work = directory / "fio.ini", directory / AT_WORK
    at_work.unlink(missing_ok=True)
    file.write_text(job_file(jobs, seconds or ENDLESS))
    command = ["fio", "--output-format=json", str(file)]
    process = subprocess.Popen(
        bound(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
    )
    try:
        if seconds is None:
            _see_begun(process, at_work)
        yield Load(process, seconds or 0.0)
    finally:
        process.kill()
        process.communicate()


def _see_begun(process: Process, at_work: Path) -> None:
    """Wait until fio works: what is measured beside it must not be measured without it. Raises FioFailure."""
    if not until(lambda: at_work.exists() or process.poll() is not None, PATIENCE_SECONDS, 0.01):
        raise FioFailure(f"fio did not begin within {PATIENCE_SECONDS:.0f} s")
    if process.poll() is not None:
        told, complaint = process.communicate()
        raise FioFailure(f"fio ended at once: {complaint.strip() or told.strip() or 'it said nothing'}")


def job_file(jobs: Sequence[Job], seconds: float) -> str:
    """The jobs in the form that fio reads. Jobs of one name are counted together. What they write differs each time
    (`randrepeat`)."""
    lines = [
        "[global]",
        "ioengine=nbd",
        "thread=1",
        f"runtime={seconds:.3f}s",
        "refill_buffers=1",
        f"buffer_compress_percentage={COMPRESSIBLE}",
        "randrepeat=0",
        f"exec_prerun=touch {AT_WORK}",
    ]
    for number, job in enumerate(jobs):
        lines += [f"[{job.name}.{number}]", f"uri=nbd+unix:///?socket={job.disk}", f"rw={job.work.pattern}"]
        lines += [f"bs={job.work.size}", f"iodepth={job.work.depth}", f"rwmixread={job.work.reads}"]
        lines += [f"offset={job.area.start}", f"size={job.area.size}"] if job.area else ["time_based=1"]
        if job.flow:
            lines += [f"flow_id={job.flow}", "flow=1"]
        if job.work.most:
            reads = job.work.most * job.work.reads // 100
            lines += [f"rate_iops={reads},{job.work.most - reads}"]
    return "\n".join([*lines, ""])


def found(told: str, complaint: str = "") -> dict[str, Found]:
    """What the jobs of each name did, from fio's report. Raises FioFailure."""
    try:
        report: dict[str, Any] = json.loads(told[told.index("{") :])
        jobs = report["jobs"]
        failed = [job for job in jobs if job.get("error")]
    except (ValueError, KeyError):
        raise FioFailure(f"fio failed: {complaint.strip() or told.strip() or 'it said nothing'}") from None
    if failed or not jobs:
        raise FioFailure(f"fio failed with error {failed[0]['error'] if failed else '?'}: {complaint.strip()}")
    names = dict.fromkeys(job["jobname"].rpartition(".")[0] for job in jobs)
    return {name: _together([job for job in jobs if job["jobname"].rpartition(".")[0] == name]) for name in names}


def _together(jobs: list[dict[str, Any]]) -> Found:
    """What jobs that began at once have moved until the last one ended; their own rates are over their own times."""
    ways = [job[way] for job in jobs for way in ("read", "write") if job[way]["total_ios"]]
    if not ways:
        return Found(0.0, 0.0, 0.0, 0)
    seconds = max(1, *(way["runtime"] for way in ways)) / 1000
    count = sum(way["total_ios"] for way in ways)
    latency = sum(way["total_ios"] * way["clat_ns"]["mean"] for way in ways) / count / MS
    return Found(sum(way["io_bytes"] for way in ways) / seconds, count / seconds, latency, count)
