"""A container: chunks one after another in 2 or 4 MiB, with a directory in front. FORMAT.md has the layout.

In memory, containers lie in slots of a slab, which is taken from the kernel once and used again and again: touching
fresh pages costs several times as much as copying into them.
"""

import mmap
from array import array
from bisect import bisect_right
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

from dedupstore.errors import Damaged
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES, Buffer

MAGIC: Final = b"ISTHCONT"
PAGE_BYTES: Final = 4096

_HEADER: Final = Struct("<8sQII32sQ")
_HASH: Final = slice(24, 56)
"""Place in the header of the hash of the rest of the header and of the entries."""
_ENTRY: Final = Struct("<32sI")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a slot of `slot_bytes` is divided: a hundredth of it is for the directory."""

    slot_bytes: int
    data_offset: int
    max_entries: int

    @classmethod
    def of(cls, slot_bytes: int) -> "Layout":
        """The division that FORMAT.md gives."""
        offset = slot_bytes // 1024 * 10
        return cls(slot_bytes, offset, (offset - _HEADER.size) // _ENTRY.size)


LARGE: Final = Layout.of(CONTAINER_BYTES)
SMALL: Final = Layout.of(CONTAINER_BYTES // 2)
MAX_ENTRIES: Final = LARGE.max_entries


class Directory(NamedTuple):
    """What is in front of a container's data area."""

    sealed: int
    fingerprints: list[bytes]
    offsets: "array[int]"
    """Where each chunk begins, in bytes from the container's start, and finally where the last one ends."""


class Container:
    """A container in memory, being filled or held. `fingerprints` and `offsets` are as in Directory."""

    __slots__ = ("_layout", "fingerprints", "id", "memory", "offsets", "sealed")

    def __init__(self, container: int, memory: memoryview, layout: Layout = LARGE) -> None:
        self.id = container
        self.memory = memory
        self.sealed = 0
        self.fingerprints: list[bytes] = []
        self.offsets = array("I", [layout.data_offset])
        self._layout = layout

    @property
    def used(self) -> int:
        """Bytes of chunks."""
        return self.offsets[-1] - self.offsets[0]

    def fits(self, length: int) -> bool:
        """Whether a chunk of `length` bytes still fits in."""
        layout = self._layout
        return self.offsets[-1] + length <= layout.slot_bytes and len(self.fingerprints) < layout.max_entries

    def append(self, name: bytes, data: Buffer) -> int:
        """Copy the chunk in, which must fit; returns its entry number."""
        start = self.offsets[-1]
        end = start + len(data)
        self.memory[start:end] = data
        self.offsets.append(end)
        self.fingerprints.append(name)
        return len(self.fingerprints) - 1

    def length(self, entry: int) -> int:
        """Bytes of one chunk."""
        return self.offsets[entry + 1] - self.offsets[entry]

    def chunk(self, entry: int) -> bytes:
        """A copy of one chunk, unverified."""
        return bytes(self.memory[self.offsets[entry] : self.offsets[entry + 1]])

    def span(self, entry: int, count: int) -> int:
        """Bytes of up to `count` chunks from that one on."""
        return self.offsets[min(entry + count, len(self.fingerprints))] - self.offsets[entry]

    def copy(self, entry: int, most: int) -> bytes:
        """A copy of the chunks from that one on, and of at most so many bytes: the last one may be cut off."""
        start = self.offsets[entry]
        return bytes(self.memory[start : min(start + most, self.offsets[-1])])

    def ends(self, entry: int, most: int) -> list[int]:
        """Where the chunks from that one on end, in bytes from its beginning, as far as that is at most `most`."""
        start = self.offsets[entry]
        end = bisect_right(self.offsets, start + most)
        return [offset - start for offset in self.offsets[entry + 1 : end]]

    def encode(self) -> memoryview:
        """Write the directory in front of the chunks; returns what has to go to disk, in whole pages."""
        lengths = map(self.length, range(len(self.fingerprints)))
        entries = b"".join(map(_ENTRY.pack, self.fingerprints, lengths))
        head = _HEADER.pack(MAGIC, self.id, len(self.fingerprints), self.used, bytes(32), self.sealed)
        before, behind = head[: _HASH.start], head[_HASH.stop :] + entries
        self.memory[: _HEADER.size + len(entries)] = before + fingerprint(before + behind) + behind
        return self.memory[: -(-self.offsets[-1] // PAGE_BYTES) * PAGE_BYTES]

    @classmethod
    def decode(cls, memory: memoryview, container: int, layout: Layout = LARGE) -> "Container":
        """The container with that id at the start of `memory`. Raises Damaged if it is not there."""
        found = cls(container, memory, layout)
        found.sealed, found.fingerprints, found.offsets = read_directory(memory, container, layout)
        return found


def read_directory(memory: Buffer, container: int, layout: Layout = LARGE) -> Directory:
    """The directory at the start of `memory`. Raises Damaged if it is broken or another container's."""
    if len(memory) < _HEADER.size:
        raise Damaged(f"container {container} is cut short")
    magic, found, count, used, proof, sealed = _HEADER.unpack_from(memory)
    if magic != MAGIC or found != container or count > layout.max_entries:
        raise Damaged(f"container {container} is not in its slot")
    end = _HEADER.size + count * _ENTRY.size
    view = memoryview(memory)
    if fingerprint(b"".join((view[: _HASH.start], view[_HASH.stop : end]))) != proof:
        raise Damaged(f"the directory of container {container} does not match its hash")
    return _directory(container, sealed, used, view[_HEADER.size : end], layout)


def _directory(container: int, sealed: int, used: int, entries: memoryview, layout: Layout) -> Directory:
    names: list[bytes] = []
    start = end = layout.data_offset
    offsets = array("I", [start])
    for name, length in _ENTRY.iter_unpack(entries):
        names.append(name)
        end += length
        if end > layout.slot_bytes:
            break
        offsets.append(end)
    if end != start + used or end > layout.slot_bytes:
        raise Damaged(f"the directory of container {container} does not add up")
    return Directory(sealed, names, offsets)


def aligned(length: int) -> memoryview:
    """Memory of `length` bytes that begins at a page, as a file that is open for direct access needs it."""
    return memoryview(mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


class Slab:
    """Slots in one anonymous mapping, handed out and taken back. All methods may be called by any thread."""

    def __init__(self, slots: int, slot_bytes: int = CONTAINER_BYTES) -> None:
        """Reserve the memory; the kernel gives it when it is touched. Raises OSError if it refuses."""
        area = mmap.mmap(-1, slots * slot_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(OSError, AttributeError):  # a kernel without huge pages is slower, and no worse
            area.madvise(mmap.MADV_HUGEPAGE)
        whole = memoryview(area)
        starts = range(0, slots * slot_bytes, slot_bytes)
        self._fresh = deque(whole[start : start + slot_bytes] for start in starts)
        self._warm: list[memoryview] = []

    def __len__(self) -> int:
        """How many slots can be taken."""
        return len(self._fresh) + len(self._warm)

    def take(self) -> memoryview | None:
        """A free slot, preferably one that was touched before; None if all are in use."""
        for source in (self._warm.pop, self._fresh.popleft):
            with suppress(IndexError):
                return source()
        return None

    def give(self, memory: memoryview) -> None:
        """Take a slot back."""
        self._warm.append(memory)

    def prepare(self) -> bool:
        """Reader: touch one slot that was never used, without the GIL; False if none is left, or it cannot be done."""
        try:
            memory = self._fresh.popleft()
        except IndexError:
            return False
        try:
            with open("/dev/zero", "rb", buffering=0) as zeros:
                zeros.readinto(memory)
        except OSError:  # no file descriptor is left, or there is no /dev: the slot is touched when it is filled
            self._fresh.appendleft(memory)
            return False
        self._warm.append(memory)
        return True
