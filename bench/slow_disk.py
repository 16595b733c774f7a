"""A disk that reads as seldom as a hard disk whose head has to move each time: the kernel holds a process to that.

By the block layer's limits for control groups, of either version (the kernel's cgroup-v1/blkio-controller and
cgroup-v2, "IO Interface Files"). Needs root, and a file system on a disk of its own.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FIRST = Path("/sys/fs/cgroup/blkio")
SECOND = Path("/sys/fs/cgroup")
PREFIX = "isthmus-bench-"
"""Of a group's name, before the number of the process that made it."""
PROCESSES = "cgroup.procs"
DEVICES = Path("/sys/dev/block")


class NoSlowDisk(Exception):
    """Why there can be none here."""


@contextmanager
def slow_reads(directory: Path, iops: int) -> Iterator[Callable[[int], None]]:
    """What it gives holds a process, by its id, to so many reads a second of the disk that `directory` lies on.

    Until the end, or that of the process. With control groups of the second version the root's children keep the
    controller `io` from then on, which limits nobody by itself. Raises NoSlowDisk.
    """
    disk = _disk(directory)
    groups = FIRST if FIRST.is_dir() else SECOND
    _clear(groups)
    group = groups / f"{PREFIX}{os.getpid()}"
    members: list[int] = []
    try:
        group.mkdir()
    except OSError as error:
        raise NoSlowDisk(f"no control group can be made ({error})") from error
    try:
        _limit(group, disk, iops)

        def hold(process: int) -> None:
            (group / PROCESSES).write_text(str(process))
            members.append(process)

        yield hold
    finally:
        for process in members:
            _free(group, process)
        group.rmdir()


def _disk(directory: Path) -> str:
    """The number of the disk that the directory lies on; of a partition that of the whole, which alone has limits."""
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    whole = DEVICES / number / "../dev"
    return whole.read_text().strip() if (DEVICES / number / "partition").exists() else number


def _clear(groups: Path) -> None:
    """Remove what benches that were killed have left."""
    for group in groups.glob(f"{PREFIX}*"):
        if not Path("/proc", group.name.removeprefix(PREFIX)).exists():
            with suppress(OSError):
                group.rmdir()


def _limit(group: Path, disk: str, iops: int) -> None:
    """Raises NoSlowDisk."""
    try:
        if group.parent == FIRST:
            (group / "blkio.throttle.read_iops_device").write_text(f"{disk} {iops}")
        else:
            (group.parent / "cgroup.subtree_control").write_text("+io")
            (group / "io.max").write_text(f"{disk} riops={iops}")
    except OSError as error:
        raise NoSlowDisk(f"the kernel holds nobody to a number of reads from disk {disk} ({error})") from error


def _free(group: Path, process: int) -> None:
    """A group that has processes stays."""
    try:
        (group.parent / PROCESSES).write_text(str(process))
    except ProcessLookupError:
        return
