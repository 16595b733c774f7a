"""The store in memory: bounded, fast, lost with the process. The reference implementation of ChunkStore."""

import os
import time
from collections.abc import Callable, Iterable

from dedupstore.beliefs import Beliefs
from dedupstore.container import Container, Slab
from dedupstore.container_store import ContainerStore
from dedupstore.errors import StoreUnusable
from dedupstore.prefix import common_prefix
from dedupstore.roster import Row
from dedupstore.store import CONTAINER_BYTES, NOT_REPEATED, Place, Repeated, StoreFigures

LEAST_BYTES = 4 * CONTAINER_BYTES
WRITERS_MAX = 64
"""Containers that may be filled at once, as long as they are no more than an eighth of the store."""


class MemoryStore(ContainerStore):
    """Containers in one slab; the oldest makes room for the next. Each start draws a new identity, so that no peer
    believes what the store held before.

    Takes up to `size_bytes` for chunks and at most a tenth more for finding them: a container has at most 1136
    chunks, and a chunk takes about 300 bytes of Python objects.
    """

    def __init__(self, size_bytes: int, clock: Callable[[], float] = time.time) -> None:
        """`clock` tells seconds since the epoch. Raises StoreUnusable if the size is too small, or not to be had."""
        if size_bytes < LEAST_BYTES:
            raise StoreUnusable(f"a memory store of {size_bytes} bytes is too small; give it at least 16 MiB")
        try:
            slab = Slab(size_bytes // CONTAINER_BYTES)
        except OSError as error:
            raise StoreUnusable(
                f"there is no memory for a store of {size_bytes >> 20} MiB; lower store.size"
            ) from error
        writers = min(WRITERS_MAX, size_bytes // CONTAINER_BYTES // 8)
        super().__init__(StoreFigures("memory", size_bytes), slab, Beliefs(clock), clock, 1, writers)
        self.identity = os.urandom(16)
        self.epochs = (os.urandom(8),)

    def _begin_container(self, writer: int) -> Container | None:
        sealed = self._seal(writer)
        if sealed is not None:
            self._roster[sealed.id].settled = True
        memory = self._slab.take()
        if memory is None:
            self._evict()
            memory = self._slab.take()
        if memory is None:
            return None
        container = self._containers[self._next] = Container(self._next, memory)
        self._roster.add(self._next, Row(slot=0, before=sealed.id if sealed is not None else 0))
        self._next += 1
        return container

    def _evict(self) -> None:
        oldest = self._roster.evictable()
        if oldest is not None:
            self._release(oldest)
            self._beliefs.forget(oldest)
            self._count_eviction(self._roster.remove(oldest).bytes)

    def repeated(self, place: Place, data: memoryview) -> Repeated:
        """As ChunkStore says."""
        found = self._behind(place)
        if found is None:
            return NOT_REPEATED
        container, first = found
        same = common_prefix(container.copy(first, len(data)), 0, data)
        ends = container.ends(first, same)
        names = container.fingerprints[first : first + len(ends)]
        for entry, name in enumerate(names, first):
            if self._places.get(name) != (container.id, entry):  # it was dropped: its bytes are not what it names
                del ends[entry - first :], names[entry - first :]
                break
        return Repeated(same, (container.id, first), ends, names)

    def _touch(self, place: Place, count: int = 1) -> None:
        """Does nothing: being read does not make a container younger."""

    def load(self, name: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        """Does nothing: everything is in memory already."""

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        """Does nothing: everything is in memory already."""

    def write(self) -> None:
        """Does nothing: nothing is ever written."""

    def prepare(self) -> bool:
        """As ChunkStore says; 2 GiB take about two seconds."""
        return self._slab.prepare()

    def close(self) -> None:
        """As ChunkStore says."""
        self._places.clear()
        self._containers.clear()
        self._open.clear()
        del self._slab
