"""Disks of the tests' own, for stores that are to be in trouble. Root, and skipped where mounting is not allowed."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(where: Path, megabytes: int) -> Iterator[Path]:
    """A file system of so many 2^20 bytes, in memory."""
    where.mkdir()
    with _mounted(where, "-t", "tmpfs", "-o", f"size={megabytes}m", "isthmus-test"):
        yield where


@contextmanager
def failing_disk(where: Path, image: Path, megabytes: int) -> Iterator[Path]:
    """A file system in a file, which `break_disk` makes read-only under the feet of whoever writes to it."""
    where.mkdir()
    with image.open("wb") as file:
        file.truncate(megabytes << 20)
    _run("mke2fs", "-q", "-t", "ext4", str(image))
    with _mounted(where, "-o", "loop", str(image)):
        yield where


def break_disk(where: Path) -> None:
    """As after an error of the disk: the kernel makes it read-only at once, open files included."""
    _run("mount", "-o", "remount,abort", str(where))


@contextmanager
def silent(where: Path) -> Iterator[None]:
    """The file system answers no write, until the end: whoever writes waits, as on a disk or a network that hangs."""
    try:
        _run("fsfreeze", "--freeze", str(where))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot freeze a file system here: {error}")
    try:
        yield
    finally:
        _run("fsfreeze", "--unfreeze", str(where))


@contextmanager
def _mounted(where: Path, *how: str) -> Iterator[None]:
    try:
        _run("mount", *how, str(where))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"cannot mount here: {error}")
    try:
        yield
    finally:
        _run("umount", "--lazy", str(where))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
