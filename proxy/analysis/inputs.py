"""Files, directories and devices: what is to be read of them, and their bytes. Nothing is ever written.

Within a directory symbolic links are not followed, and a file with several names is read once; so is what is named
twice, or lies in a directory that is named: all of it would seem to repeat. What cannot be read within a directory is
passed over and counted; what was named and cannot be read is an error.
"""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from proxy.files import kind
from proxy.text import printable

READ_BYTES = 1 << 20
EXAMPLES = 10
"""Paths that are kept of those that were passed over or have changed; the others are only counted."""


class Unreadable(Exception):
    """What was named cannot be read; the message names it, the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Input:
    """A file or a block device, and how much of it is to be read."""

    path: str
    size: int


@dataclass
class Remarks:
    """What an operator should know about the reading."""

    passed_over: Counter[str] = field(default_factory=Counter)
    """How many, by reason."""
    changed: int = 0
    """Files that were written, or cut off, while they were read."""
    examples: list[str] = field(default_factory=list)

    def pass_over(self, path: str, reason: str, failed: bool = True) -> None:
        """Something within a directory is not read: it cannot be, or, without `failed`, need not be."""
        self.passed_over[reason] += 1
        if failed:
            self._example(f"{path}: {reason}")

    def note_change(self, path: str) -> None:
        """What was read is neither the former nor the present content."""
        self.changed += 1
        self._example(f"{path}: changed while it was read")

    def _example(self, text: str) -> None:
        if len(self.examples) < EXAMPLES:
            self.examples.append(printable(text))


def find(paths: Iterable[Path], remarks: Remarks) -> Iterator[Input]:
    """Everything there is to read, in a fixed order. Raises Unreadable for a path that was named."""
    links: set[tuple[int, int]] = set()
    named = list(paths)
    places = list(map(_place, named))
    for number, path in enumerate(named):
        with _demanded(path):
            found = path.stat()
        if _named_already(number, places):
            remarks.pass_over(str(path), "part of what is named beside it", failed=False)
        elif stat.S_ISDIR(found.st_mode):
            with _demanded(path):
                os.scandir(path).close()
            yield from _within(str(path), remarks, links)
        else:
            yield _named(path, found)


def _place(path: Path) -> Path:
    """Where the path leads. Raises Unreadable: a working directory that was removed leads nowhere."""
    with _demanded(path):
        return Path(os.path.realpath(path))


def _named_already(number: int, places: Sequence[Path]) -> bool:
    """Whether a place is that of one before, or within another one, before or behind."""
    place = places[number]
    return place in places[:number] or any(other in place.parents for other in places)


def read(source: Input, remarks: Remarks) -> Iterator[bytes]:
    """Its bytes, no more than its size said. What fails or changes on the way is noted in the remarks."""
    try:
        descriptor = _open(source.path)
    except OSError as error:
        remarks.pass_over(source.path, _reason(error))
        return
    try:
        yield from _contents(descriptor, source, remarks)
    finally:
        os.close(descriptor)


def _contents(descriptor: int, source: Input, remarks: Remarks) -> Iterator[bytes]:
    before, left = os.fstat(descriptor), source.size
    while left:
        try:
            data = os.read(descriptor, min(left, READ_BYTES))
        except OSError as error:
            remarks.pass_over(source.path, f"{_reason(error)}, after {source.size - left} bytes")
            return
        if not data:
            break
        left -= len(data)
        yield data
    after = os.fstat(descriptor)
    same = (before.st_mtime_ns, source.size) == (after.st_mtime_ns, after.st_size)
    if left or (stat.S_ISREG(after.st_mode) and not same):
        remarks.note_change(source.path)


def _named(path: Path, found: os.stat_result) -> Input:
    """A path that was given itself. Raises Unreadable."""
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISBLK(found.st_mode)):
        what = kind(found.st_mode)
        remedy = "which has no end or no content; name a file, a directory or a disk"
        raise Unreadable(f"{printable(str(path))} is {what}, {remedy}")
    with _demanded(path):
        descriptor = _open(str(path))
        try:
            return Input(str(path), os.lseek(descriptor, 0, os.SEEK_END))
        finally:
            os.close(descriptor)


def _within(directory: str, remarks: Remarks, links: set[tuple[int, int]]) -> Iterator[Input]:
    """Without recursion: how deep it goes is not ours to decide."""
    waiting = [directory]
    while waiting:
        at = waiting.pop()
        try:
            with os.scandir(at) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            remarks.pass_over(at, _reason(error))
            continue
        waiting += [entry.path for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]
        yield from _files(entries, remarks, links)


def _files(entries: list["os.DirEntry[str]"], remarks: Remarks, links: set[tuple[int, int]]) -> Iterator[Input]:
    for entry in entries:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            remarks.pass_over(entry.path, _reason(error))
            continue
        if stat.S_ISREG(found.st_mode):
            one = found.st_dev, found.st_ino
            if found.st_nlink > 1 and one in links:
                remarks.pass_over(entry.path, "another name of a file that is read already", failed=False)
                continue
            if found.st_nlink > 1:
                links.add(one)
            yield Input(entry.path, found.st_size)
        elif not stat.S_ISDIR(found.st_mode):
            remarks.pass_over(entry.path, f"it is {kind(found.st_mode)}", failed=False)


def _open(path: str) -> int:
    """Without waiting, should it have become a pipe meanwhile."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    return descriptor


@contextmanager
def _demanded(path: Path) -> Iterator[None]:
    """What the system says of a path that was named becomes Unreadable."""
    try:
        yield
    except OSError as error:
        remedies = {
            FileNotFoundError: "check the path",
            PermissionError: "run it as a user who may read it, such as root",
        }
        remedy = remedies.get(type(error), "name something that can be read")
        raise Unreadable(f"{printable(str(path))} cannot be read: {_reason(error)}; {remedy}") from None


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
