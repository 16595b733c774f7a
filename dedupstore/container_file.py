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
from dedupstore.errors import Away, Damaged, DiskFull, FileTooLong, StoreFault
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
"""Length of a new file: the superblock, and the page behind it that `probe` writes."""
_LAYOUTS: Final = {layout.slot_bytes: layout for layout in (SMALL, LARGE)}


class ContainerFile:
    """Reads and writes slots; safe to use from any thread. Raises Away, DiskFull, Damaged or StoreFault.

    Whole slots bypass the page cache where the file system allows it: the store has a cache of its own, fresh pages
    cost more CPU than all else that is done to a byte, and a disk that fails says so at once.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the file. Raises OSError. `identity` or `begin` has to be called next: they set the layout."""
        self.layout = LARGE
        self._page = aligned(PAGE_BYTES)
        """For `probe` and `try_reading`: taken now, so that they say how the disk is, and not the host's memory."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._direct = self._file
        with suppress(OSError):
            self._direct = os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC)

    def size(self) -> int:
        """Length of the file in bytes. Raises StoreFault."""
        try:
            return fstat(self._file).st_size
        except OSError as error:
            raise _fault(error) from error

    def room(self) -> int:
        """Free bytes on the disk, which other files may take as well. Raises StoreFault."""
        try:
            found = fstatvfs(self._file)
        except OSError as error:
            raise _fault(error) from error
        return found.f_bavail * found.f_frsize

    def identity(self) -> bytes:
        """Read the store's identity, and the layout, from the superblock. Raises Damaged if that is not sound."""
        block = bytearray(SUPERBLOCK_BYTES)
        length = self._read(memoryview(block), 0, self._file)
        if length < SUPERBLOCK_BYTES:
            raise Damaged("the superblock is cut short" if length else "the file `containers` is gone, or empty")
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
        """Write the superblock of a new store, and wait until it is on the disk.

        Nothing else in the file is waited for. But the superblock is written once, through the page cache, and an index
        that outlives it in a power failure belongs to no store any more.
        """
        self.layout = layout
        block = _SUPERBLOCK.pack(_MAGIC, _VERSION, layout.slot_bytes, identity)
        self._write(memoryview((block + fingerprint(block)).ljust(BEGINNING_BYTES, b"\0")), 0, self._file)
        try:
            fsync(self._file)
        except OSError as error:
            raise _fault(error) from error

    def complete(self) -> None:
        """Write the page behind the superblock: a store that was begun by an early version has none yet."""
        with suppress(StoreFault):  # the next opening tries again
            self._write(memoryview(bytes(PAGE_BYTES)), PAGE_BYTES, self._file)

    def cut(self, slots: int) -> None:
        """Cut the file behind that slot, if it is longer: the space of higher slots goes back to the disk."""
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
        """Writer: try whether the disk takes a page: the one behind the superblock, which means nothing.

        The file has that page from the beginning: otherwise a full disk would not take it, though it takes containers
        in place of others.
        """
        self._write(self._page, PAGE_BYTES, self._direct)

    def try_reading(self) -> None:
        """Read the superblock from the disk itself. Raises Away if the disk does not give it."""
        try:
            os.posix_fadvise(self._file, 0, PAGE_BYTES, os.POSIX_FADV_DONTNEED)  # where there is no direct access
            self._read_once(self._page, 0, self._direct)
        except OSError as error:
            raise Away(_words(error)) from error

    def load(self, slot: int, container: int, memory: memoryview) -> Container:
        """Reader: read a slot into `memory`, which has its length. Raises Damaged if that container is not in it."""
        length = self._read(memory, slot * self.layout.slot_bytes, self._direct)
        found = Container.decode(memory[:length], container, self.layout)
        if found.offsets[-1] > length:
            raise Damaged(f"container {container} is cut short")
        found.memory = memory
        return found

    def chunk(self, slot: int, offset: int, length: int) -> bytes:
        """Reader: `length` bytes at an offset of a slot's data, unverified; fewer if the file ends before.

        They are read through the page cache: what lies around them may be wanted next, and they begin at no page.
        """
        memory = bytearray(length)
        return bytes(memoryview(memory)[: self._read(memoryview(memory), self._place(slot, offset), self._file)])

    def expect(self, slot: int, offset: int, length: int) -> None:
        """Reader: have the disk begin to read what `chunk` will soon be asked for, without waiting for it."""
        with suppress(OSError):  # the file system cannot do so
            os.posix_fadvise(self._file, self._place(slot, offset), length, os.POSIX_FADV_WILLNEED)

    def _place(self, slot: int, offset: int) -> int:
        """Offset in the file of a byte of the slot's data."""
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
        """Write all of the data. After a short write the rest goes through the page cache: it may begin at no page."""
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
        """As `_read_once`, twice if it has to be. What fails both times is a bad place of the disk, if that gives the
        superblock in between; otherwise the disk is Away."""
        with suppress(OSError):
            return self._read_once(memory, offset, file)
        self.try_reading()
        try:
            return self._read_once(memory, offset, file)
        except OSError as error:
            raise _fault(error) from error

    def _read_once(self, memory: memoryview, offset: int, file: int) -> int:
        """Read as `_write` writes. Returns the number of bytes, fewer than asked for only if the file ends before."""
        done = 0
        while done < len(memory) and (count := self._once(preadv, file, [memory[done:]], offset + done)):
            done += count
            file = self._file
        return done

    def _once(self, call: Callable[[int, T, int], int], file: int, what: T, offset: int) -> int:
        """Make one call; again through the page cache if the file system refuses direct access, though it opened so."""
        try:
            return call(file, what, offset)
        except OSError as error:
            if error.errno != errno.EINVAL or file == self._file:
                raise
        return call(self._file, what, offset)


class FileSlots:
    """The free slots of the file, lowest first. Not thread-safe: its store guards it with a lock."""

    def __init__(self, limit: int, used: set[int]) -> None:
        self.limit = limit
        """No slot above this number is given out."""
        self.unfit: set[int] = set()
        """Slots that the disk does not take: none of them is given out again."""
        self._new = min(max(used, default=0), limit) + 1  # this slot and all above were not used since the opening
        self._free = [slot for slot in range(1, self._new) if slot not in used]  # sorted, and so a heap

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
        """Give out slots up to that number again, except those in `used`."""
        former, self.limit = self.limit, limit
        taken = used | self.unfit
        passed = [slot for slot in range(former + 1, min(self._new - 1, limit) + 1) if slot not in taken]
        self._free = sorted(slot for slot in self._free if slot <= former) + passed  # sorted, and so a heap

    def give(self, slot: int) -> None:
        """Take a slot back."""
        if slot <= self.limit and slot not in self.unfit:
            heappush(self._free, slot)


def _fault(error: OSError) -> StoreFault:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull("the disk has no room for another container")
    return StoreFault(_words(error))


def _words(error: OSError) -> str:
    return f"the disk failed: {error.strerror or error}"
