"""Makes a disk as slow for a process as a hard disk whose head has to move for each read.

The kernel does it, by the block layer's limits for control groups, of either version (the kernel's
cgroup-v1/blkio-controller and cgroup-v2, "IO Interface Files"). Needs root, and a file system on a disk of its own.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FIRST = Path("/sys/fs/cgroup/blkio")
SECOND = Path("/sys/fs/cgroup")
PREFIX = "isthmus-bench-"
"""Beginning of a group's name; the id of the process that made it follows."""
PROCESSES = "cgroup.procs"
DEVICES = Path("/sys/dev/block")


class NoSlowDisk(Exception):
    """Why there can be no slow disk here."""


@contextmanager
def slow_reads(directory: Path, iops: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that holds a process, by its id, to `iops` reads a second of the disk that `directory` lies on.

    That lasts until the context or the process ends. With control groups of version 2 the root's children keep the
    controller `io` afterwards, which by itself limits nobody. Raises NoSlowDisk.
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
    """Device number of the disk that the directory lies on. Of a partition it is the whole disk's: only that can have
    limits."""
    device = directory.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    whole = DEVICES / number / "../dev"
    return whole.read_text().strip() if (DEVICES / number / "partition").exists() else number


def _clear(groups: Path) -> None:
    """Remove the groups that benches which were killed have left."""
    for group in groups.glob(f"{PREFIX}*"):
        if not Path("/proc", group.name.removeprefix(PREFIX)).exists():
            with suppress(OSError):
                group.rmdir()


def _limit(group: Path, disk: str, iops: int) -> None:
    """Limit the group's reads from the disk. Raises NoSlowDisk."""
    try:
        if group.parent == FIRST:
            (group / "blkio.throttle.read_iops_device").write_text(f"{disk} {iops}")
        else:
            (group.parent / "cgroup.subtree_control").write_text("+io")
            (group / "io.max").write_text(f"{disk} riops={iops}")
    except OSError as error:
        raise NoSlowDisk(f"the kernel holds nobody to a number of reads from disk {disk} ({error})") from error


def _free(group: Path, process: int) -> None:
    """Move the process out of the group, which cannot be removed while it has processes."""
    try:
        (group.parent / PROCESSES).write_text(str(process))
    except ProcessLookupError:
        return
