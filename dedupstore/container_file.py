"""The file `containers`: a superblock and slots, all of one size (FORMAT.md)."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from struct import Struct
from typing import Final, TypeVar

from dedupstore.container import LARGE, PAGE_BYTES, SMALL, Container, Directory, Layout, aligned, read_directory
from dedupstore.errors import Damaged, DiskFull, FileTooLong, StoreFault
from dedupstore.fingerprint import fingerprint

T = TypeVar("T")

pwrite = os.pwrite
preadv = os.preadv
fsync = os.fsync
fstat = os.fstat
fstatvfs = os.fstatvfs
"""The seam to the disk: tests put failing disks here."""

_SUPERBLOCK: Final = Struct("<8sII16s")
_MAGIC: Final = b"ISTHSTOR"
_VERSION: Final = 1
SUPERBLOCK_BYTES: Final = _SUPERBLOCK.size + 32
BEGINNING_BYTES: Final = 2 * PAGE_BYTES
"""Of a new file: the superblock, and the page behind it by which the disk is tried."""
_LAYOUTS: Final = {layout.slot_bytes: layout for layout in (SMALL, LARGE)}


class ContainerFile:
    """Reads and writes slots; safe to use from any thread. Troubles come as DiskFull, Damaged or StoreFault.

    Whole slots bypass the page cache where the file system allows it: the store has a cache of its own, fresh pages
    cost more CPU than all else that is done to a byte, and a disk that fails says so at once.
    """

    def __init__(self, path: Path) -> None:
        """Open or create it. Raises OSError. `identity` or `begin` has to follow: they know the layout."""
        self.layout = LARGE
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._direct = self._file
        with suppress(OSError):
            self._direct = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)

    def size(self) -> int:
        """Bytes from its start to its end. Raises StoreFault."""
        try:
            return fstat(self._file).st_size
        except OSError as error:
            raise _fault(error) from error

    def room(self) -> int:
        """Bytes that the disk has left, for other files as well. Raises StoreFault."""
        try:
            found = fstatvfs(self._file)
        except OSError as error:
            raise _fault(error) from error
        return found.f_bavail * found.f_frsize

    def identity(self) -> bytes:
        """The store's identity, from the superblock, as the layout is. Raises Damaged if that is not sound."""
        block = bytearray(SUPERBLOCK_BYTES)
        if self._read(memoryview(block), 0, self._file) < SUPERBLOCK_BYTES:
            raise Damaged("the superblock is cut short")
        magic, version, slot_bytes, identity = _SUPERBLOCK.unpack_from(block)
        if magic != _MAGIC:
            raise Damaged("the file `containers` is not a store's")
        if version != _VERSION:
            raise Damaged(f"the store is of version {version}, this software knows {_VERSION}")
        if slot_bytes not in _LAYOUTS:
            raise Damaged(f"the store has slots of {slot_bytes} bytes, which this software does not know")
        if fingerprint(block[: _SUPERBLOCK.size]) != block[_SUPERBLOCK.size :]:
            raise Damaged("the superblock does not match its hash")
        self.layout = _LAYOUTS[slot_bytes]
        return bytes(identity)

    def begin(self, identity: bytes, layout: Layout) -> None:
        """Write the superblock of a new store; it is on the disk afterwards.

        Nothing else here has to be. But it is written once, through the page cache, and an index that outlives it in a
        power failure belongs to no store any more.
        """
        self.layout = layout
        block = _SUPERBLOCK.pack(_MAGIC, _VERSION, layout.slot_bytes, identity)
        self._write(memoryview((block + fingerprint(block)).ljust(BEGINNING_BYTES, b"\0")), 0, self._file)
        try:
            fsync(self._file)
        except OSError as error:
            raise _fault(error) from error

    def complete(self) -> None:
        """See that the page behind the superblock is there: a store that a former version began has none, as yet."""
        with suppress(StoreFault):  # later, then
            self._write(memoryview(bytes(PAGE_BYTES)), PAGE_BYTES, self._file)

    def cut(self, slots: int) -> None:
        """Give the space of slots above that number back."""
        try:
            end = (slots + 1) * self.layout.slot_bytes
            if self.size() > end:
                os.ftruncate(self._file, end)
        except OSError as error:
            raise _fault(error) from error

    def write(self, slot: int, data: memoryview) -> None:
        """Writer: fill a slot from its start. `data` begins at a page, and has whole pages."""
        self._write(data, slot * self.layout.slot_bytes, self._direct)

    def probe(self) -> None:
        """Writer: see whether the disk takes a page, behind the superblock, where nothing is.

        The page has been there from the beginning: otherwise a full disk would not take it, though it takes containers
        in place of others.
        """
        self._write(aligned(PAGE_BYTES), PAGE_BYTES, self._direct)

    def load(self, slot: int, container: int, memory: memoryview) -> Container:
        """Reader: read a slot into `memory`, which is as long. Raises Damaged if that container is not in it."""
        length = self._read(memory, slot * self.layout.slot_bytes, self._direct)
        found = Container.decode(memory[:length], container, self.layout)
        if found.offsets[-1] > length:
            raise Damaged(f"container {container} is cut short")
        found.memory = memory
        return found

    def chunk(self, slot: int, offset: int, length: int) -> bytes:
        """Reader: what lies there of a slot's data, unverified; less where the file ends before.

        Through the page cache: what lies around it may be wanted next, and such a place begins at no page.
        """
        memory = bytearray(length)
        return bytes(memoryview(memory)[: self._read(memoryview(memory), self._place(slot, offset), self._file)])

    def expect(self, slot: int, offset: int, length: int) -> None:
        """Reader: `chunk` will be called with the same soon. The disk begins to read that, which is not waited for."""
        with suppress(OSError):  # a file system that cannot do so
            os.posix_fadvise(self._file, self._place(slot, offset), length, os.POSIX_FADV_WILLNEED)

    def _place(self, slot: int, offset: int) -> int:
        """Where that byte of the slot's data lies in the file."""
        return slot * self.layout.slot_bytes + self.layout.data_offset + offset

    def directory(self, slot: int, container: int) -> Directory:
        """Writer: the directory of the container in that slot. Raises Damaged if it is another's."""
        memory = bytearray(self.layout.data_offset)
        length = self._read(memoryview(memory), slot * self.layout.slot_bytes, self._file)
        return read_directory(memoryview(memory)[:length], container, self.layout)

    def close(self) -> None:
        """Release the file."""
        if self._direct != self._file:
            os.close(self._direct)
        os.close(self._file)

    def _write(self, data: memoryview, offset: int, file: int) -> None:
        """What a short write has left goes through the page cache: it need not begin at a page."""
        try:
            while data:
                written = self._once(pwrite, file, data, offset)
                data = data[written:]
                offset += written
                file = self._file
        except OSError as error:
            if error.errno == errno.EFBIG and offset >= self.size():
                raise FileTooLong("no file may be longer there") from error
            raise _fault(error) from error

    def _read(self, memory: memoryview, offset: int, file: int) -> int:
        """As `_write`; the number of bytes read, which is less than asked for only where the file ends."""
        done = 0
        try:
            while done < len(memory) and (count := self._once(preadv, file, [memory[done:]], offset + done)):
                done += count
                file = self._file
        except OSError as error:
            raise _fault(error) from error
        return done

    def _once(self, call: Callable[[int, T, int], int], file: int, what: T, offset: int) -> int:
        """A file system may open a file for direct access and then refuse that: it is done through the page cache."""
        try:
            return call(file, what, offset)
        except OSError as error:
            if error.errno != errno.EINVAL or file == self._file:
                raise
        return call(self._file, what, offset)


class FileSlots:
    """Which slots of the file are free, lowest first. Not safe by itself: its store guards it with a lock."""

    def __init__(self, limit: int, used: set[int]) -> None:
        self.limit = limit
        """No slot above this number is given out."""
        self.unfit: set[int] = set()
        """Slots that the disk does not take: none of them is given out again."""
        self._new = min(max(used, default=0), limit) + 1  # and above: not used since the store was opened
        self._free = [slot for slot in range(1, self._new) if slot not in used]  # in order: a heap

    def take(self) -> int | None:
        """The lowest free slot, or None."""
        while self._free:
            slot = heappop(self._free)
            if slot <= self.limit:
                return slot
        if self._new > self.limit:
            return None
        self._new += 1
        return self._new - 1

    def raise_limit(self, limit: int, used: set[int]) -> None:
        """Give out slots up to that number again, but for those in `used`."""
        former, self.limit = self.limit, limit
        taken = used | self.unfit
        passed = [slot for slot in range(former + 1, min(self._new - 1, limit) + 1) if slot not in taken]
        self._free = sorted(slot for slot in self._free if slot <= former) + passed  # in order: a heap

    def give(self, slot: int) -> None:
        """Take a slot back."""
        if slot <= self.limit and slot not in self.unfit:
            heappush(self._free, slot)


def _fault(error: OSError) -> StoreFault:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("the disk has no room for another container")
    return StoreFault(f"the disk failed: {error.strerror or error}")
