"""A disk that fails as a test says, put in at `container_file`'s seam, and a store of eleven slots on it."""

import errno
import fcntl
import os
from types import SimpleNamespace
from typing import Any

import pytest

from dedupstore import container_file
from dedupstore.container import PAGE_BYTES
from dedupstore.container_file import BEGINNING_BYTES
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, name_of

SLOTS = 11
SECTOR = 512
"""What is read or written past the page cache begins and ends at one: here also where the file system does not mind."""


class Disk:
    """The system's disk, until it is told to fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.write_error = self.read_error = self.slots_error = self.errors = 0
        """What writes fail with; what reads fail with, everywhere and in all slots but the superblock's; and how many
        writes did."""
        self.reads = 0
        """How many reads were tried."""
        self.bad = range(0)
        """Slots that cannot be written."""
        self.room: int | None = None
        """No file may grow beyond this."""
        self.full = False
        """Nothing can be written where no bytes are yet."""
        self.no_room = errno.ENOSPC
        """Why, in both cases."""
        self.free_slots = 0
        """What it says that it has left."""
        self.short_writes = False
        self.never_direct = False
        """Files may be opened for direct access, which is then refused."""
        monkeypatch.setattr(container_file, "pwrite", self.pwrite)
        monkeypatch.setattr(container_file, "preadv", self.preadv)
        monkeypatch.setattr(container_file, "fstatvfs", self.fstatvfs)

    def pwrite(self, file: int, data: memoryview, offset: int) -> int:
        self._look(file, len(data), offset)
        if error := self.write_error or (errno.EIO if offset // CONTAINER_BYTES in self.bad else 0):
            self.errors += 1
            raise OSError(error, os.strerror(error))
        if (self.room is not None and offset >= self.room) or (self.full and is_hole(file, offset)):
            raise OSError(self.no_room, os.strerror(self.no_room))
        data = data[: None if self.room is None else self.room - offset]
        if self.short_writes:
            data = data[: max(1, len(data) // 2)]
        return os.pwrite(file, data, offset)

    def preadv(self, file: int, buffers: list[Any], offset: int) -> int:
        self._look(file, sum(map(len, buffers)), offset)
        self.reads += 1
        if error := self.read_error or (offset >= BEGINNING_BYTES and self.slots_error):
            raise OSError(error, os.strerror(error))
        return os.preadv(file, [buffer[: max(1, len(buffer) // 2)] for buffer in buffers], offset)

    def fstatvfs(self, file: int) -> Any:
        return SimpleNamespace(f_bavail=self.free_slots * CONTAINER_BYTES // PAGE_BYTES, f_frsize=PAGE_BYTES)

    def _look(self, file: int, length: int, offset: int) -> None:
        direct = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT
        if direct and (self.never_direct or offset % SECTOR or length % SECTOR):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


def is_hole(file: int, offset: int) -> bool:
    """Whether a write there takes room."""
    return offset >= os.fstat(file).st_size or os.lseek(file, offset, os.SEEK_DATA) != offset


class Clock:
    """Time that passes when a test says so."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def due(store: ChunkStore) -> bool:
    """Whether it wants to write: asked anew each time, also in the eyes of a type checker."""
    return store.write_due


def gives_back_all(store: ChunkStore) -> None:
    """As many chunks as it has room for."""
    numbers = range(A_CONTAINER * SLOTS)
    fill(store, numbers)
    assert [fetch(store, name_of(number)) for number in numbers] == [chunk(number) for number in numbers]
    assert healthy(store)


def evict_from_cache(store: ChunkStore) -> None:
    """Load so many containers that the first one is no longer in memory."""
    for number in range(A_CONTAINER, A_CONTAINER * SLOTS, A_CONTAINER):
        if store.find(name_of(number)):
            fetch(store, name_of(number))
