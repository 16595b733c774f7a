"""What the store on disk holds in memory, and what it knows of the rest without reading it."""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from dedupstore.beliefs import RecordedBeliefs
from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.container import Container, Slab
from dedupstore.container_store import ContainerStore
from dedupstore.errors import ChunkAway, ChunkMissing, Damaged, IndexGivenUp, StoreFault
from dedupstore.gone import Gone
from dedupstore.opening import StoreFiles
from dedupstore.pause import Pause
from dedupstore.roster import Row
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, Buffer, Place, StoreFigures

FOR_READING = 4
"""Slots of the cache that are never given to containers being filled or written, so that `load` always finds one."""

MOST_UNWRITTEN = 64 << 20
"""Bytes that may wait for a lagging disk: a crash would only lose more."""
_UNWRITTEN_PART = 4
"""Of a small store no more than one part in so many may wait: what waits cannot be evicted, so new chunks might find no
room."""

_FIRST_AWAY = 1.0
_LONGEST_AWAY = 60.0
"""Seconds until a disk that gave nothing is tried again: at first, and at most."""

FIRST_UNREAD = 1.0
LONGEST_UNREAD = 3600.0
"""Seconds until a container that a disk did not give is tried again: at first, and at most. Each try may take long."""

_FIRST_PAUSE = 10.0
_LONGEST_PAUSE = 640.0
"""Seconds without learning after the disk failed: at first, and after many times in a row. Each try may cost the oldest
two containers."""


def _writers(slots: int) -> int:
    """How many containers may be filled at once in a cache of `slots` slots.

    With slots of 2 MiB and the default cache it is 32: so many streams each fill a container of their own. A stream
    that reads needs two slots at most.
    """
    return max(slots // 4, (slots - 16) // 2)


class DiskCache(ContainerStore):
    """Containers in a slab of fixed size: those being filled, those that wait to be written, and those read lately."""

    _beliefs: RecordedBeliefs

    def __init__(self, files: StoreFiles, figures: StoreFigures, cache_bytes: int, clock: Callable[[], float]) -> None:
        beliefs = RecordedBeliefs(clock, files.peers, self._recorded_belief)
        self._layout = files.containers.layout
        slots = cache_bytes // self._layout.slot_bytes
        writers = max(1, min(_writers(slots), files.slots.limit // 8))
        slab = Slab(slots, self._layout.slot_bytes)
        super().__init__(figures, slab, beliefs, clock, files.next, writers, self._layout.slot_bytes)
        self.identity = files.identity
        self.epochs = files.epochs
        self.shrunk = files.shrunk
        self._path = files.path
        self._index = files.index
        self._file = files.containers
        self._slots = files.slots
        self._alarms = files.alarms
        for container, row in files.rows:
            self._roster.add(container, row)
        self._most_sealed = slots - FOR_READING - writers
        self._sealed: OrderedDict[int, Container] = OrderedDict()
        self._unwritten = 0
        self._stranded: set[int] = set()
        """Containers that the disk did not take while they were pinned: their chunks can be had until the last pin
        ends. They take memory as those that wait to be written do, but nobody waits for them."""
        self._idle: OrderedDict[int, int] = OrderedDict()
        """Containers in memory that are on disk as well, and the number of the last read of each. Those that were read
        to their ends come first, then the least recently read."""
        self._scatter = Scatter()
        self._turnover = cache_bytes >> 14  # reads after which the cache has other contents: its chunks of 16 KiB
        self._reads = self._turnover  # number of the last read of a chunk
        self._gone = Gone()
        self._failing = Pause(clock, _FIRST_PAUSE, _LONGEST_PAUSE)
        """While this holds, nothing is learned."""
        self._is_away = False
        """While nothing can be read: the store then has what is in memory, learns nothing, and drops nothing. It looks
        up nothing in the index: a page of that mapped file which the disk does not give would end the process."""
        self._away = Pause(clock, _FIRST_AWAY, _LONGEST_AWAY)
        """While this holds, a disk that gave nothing is not tried again."""
        self._unread: dict[int, Pause] = {}
        """Containers that the disk did not give, each with the pause for which it is not asked for again."""
        self._doubtful = False
        """Whether the index is damaged, so that the next opening has to walk over it."""
        self._given_up = False
        """Whether LMDB has given the index up: until the store is opened again, no try to learn would succeed, and each
        would cost the oldest container."""

    # Loop thread

    @property
    def _learns_nothing(self) -> bool:
        """True while the disk cannot be expected to take anything."""
        return self._failing.holds or self._is_away or self._given_up

    def _find_elsewhere(self, name: bytes) -> tuple[Place, int] | None:
        with self._lock:
            if self._is_away:
                return None
            try:
                found = self._look_up(name)
            except StoreFault as fault:
                self._index_failed(fault)
                return None
            return None if found is None or self._passed_over(found[0][0]) else found

    def _look_up(self, name: bytes) -> tuple[Place, int] | None:
        """Place and length of a chunk that is in the index, and not lost. The caller holds the lock."""
        found = self._index.find(name)
        if found is None or found[0][0] not in self._roster or self._gone.lost.get(name) == found[0][0]:
            return None
        return found

    def _passed_over(self, container: int) -> bool:
        """True while the container is not asked for, since the disk did not give it. The caller holds the lock."""
        return container in self._unread and self._unread[container].holds

    def _append(self, container: Container | None, name: bytes, data: Buffer) -> Place | None:
        if self._is_away:  # the store may have it already, in the index
            container = None
        if container is not None and self._unread:
            self._replace(name)
        return super()._append(container, name, data)

    def _replace(self, name: bytes) -> None:
        """The chunk is learned anew: if it lies in a container that the disk did not give, that has it no longer."""
        with self._lock:
            found = self._look_up_unread(name)
            if found is not None:
                self._gone.lost[name] = found[0][0]
                self._roster.lose(found[0][0], found[1])

    def _missing(self, name: bytes) -> ChunkMissing:
        with self._lock:
            away = self._is_away or self._look_up_unread(name) is not None
        return ChunkAway(name) if away else ChunkMissing(name)

    def _look_up_unread(self, name: bytes) -> tuple[Place, int] | None:
        """As `_look_up`, if the disk did not give the container. The caller holds the lock."""
        if self._unread:
            with suppress(StoreFault):
                found = self._look_up(name)
                return found if found is not None and found[0][0] in self._unread else None
        return None

    def _recorded_belief(self, peer: bytes, container: int) -> int | None:
        if not self._settled(container):  # belief is recorded with the container, or after it
            return 0
        if self._is_away:
            return None
        try:
            return self._index.belief(peer, container)
        except StoreFault as fault:
            self._index_failed(fault)
            return None

    def _index_failed(self, fault: StoreFault) -> None:
        self._doubtful |= isinstance(fault, Damaged)
        self._given_up |= isinstance(fault, IndexGivenUp)
        remedy = "see to the disk"
        if self._doubtful:
            remedy = "restart to begin an empty one"
        elif self._given_up:
            remedy = "see to the disk, then restart"
        self._alarms["index"] = (
            f"The index of store {self._path} cannot be used ({fault}); {remedy}. Traffic passes unlearned."
        )

    @property
    def alarms(self) -> tuple[str, ...]:
        """As ChunkStore says."""
        return tuple(self._alarms.values())

    @property
    def unwritten(self) -> int:
        """As ChunkStore says."""
        return self._unwritten

    @property
    def unwritten_max(self) -> int:
        """As ChunkStore says. Above it there is room for what is under way: it may seal one container, fill others."""
        least = self._layout.slot_bytes - LARGEST_CHUNK  # bytes of chunks in a container that the next one did not fit
        most = max(0, (self._most_sealed - 1) * least - CONTAINER_BYTES)
        return min(MOST_UNWRITTEN, self._slots.limit * least // _UNWRITTEN_PART, most)

    @property
    def write_due(self) -> bool:
        """As ChunkStore says. Never while nothing is learned after a failure: notes are tried as seldom."""
        with self._lock:
            return not (self._doubtful or self._learns_nothing) and self._beliefs.due(self._settled)

    def _begin_container(self, writer: int) -> Container | None:
        before = self._seal_open(writer)
        if len(self._sealed) + len(self._stranded) >= self._most_sealed or self._learns_nothing:
            return None
        slot = self._take_slot()
        if slot is None:
            return None
        container = self._containers[self._next] = Container(self._next, self._take_memory(), self._layout)
        self._roster.add(self._next, Row(slot, before=before))
        self._next += 1
        return container

    def _seal_open(self, writer: int) -> int:
        """Seal the writer's container, which then waits to be written; returns its id, or 0 if there is none."""
        sealed = self._seal(writer)
        if sealed is None:
            return 0
        self._sealed[sealed.id] = sealed
        self._unwritten += sealed.used
        return sealed.id

    def _take_slot(self) -> int | None:
        slot = self._slots.take()
        if slot is None and (oldest := self._roster.evictable()) is not None:
            slot = self._evict(oldest).slot
            self._gone.displace(slot, oldest)
        return slot

    def _take_memory(self) -> memoryview:
        memory = self._slab.take()
        while memory is None:  # then idle containers hold at least two slots
            self._release(next(iter(self._idle)))
            memory = self._slab.take()
        return memory

    def _evict(self, container: int) -> Row:
        held = self._forget(container)
        self._gone.remove(container, held.fingerprints if held is not None else None)
        row = self._roster.remove(container)
        self._count_eviction(row.bytes)
        return row

    def _forget(self, container: int) -> Container | None:
        self._beliefs.forget(container)
        self._unread.pop(container, None)
        return self._release(container)

    def _release(self, container: int) -> Container | None:
        self._idle.pop(container, None)
        released = super()._release(container)
        if released is not None:
            self._scatter.left(container, len(released.fingerprints))
        return released

    def _touch(self, place: Place, count: int = 1) -> None:
        container = place[0]
        if container in self._idle:
            self._reads += count
            self._scatter.touched(container, count)
            ends = place[1] + 1 == len(self._containers[container].fingerprints)  # streams read from end to end
            self._idle[container] = 0 if ends else self._reads
            self._idle.move_to_end(container, last=not ends)

    def unpin(self, container: int) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._roster.unpin(container)
            if container in self._stranded and not self._roster.pinned(container):
                self._stranded.remove(container)
                self._drop(container)

    def _drop(self, container: int) -> None:
        """Forget a container that is not on the disk, and free its slot. The caller holds the lock."""
        self._forget(container)
        self._slots.give(self._roster.remove(container).slot)

    def _settled(self, container: int) -> bool:
        row = self._roster.get(container)
        return row is not None and row.settled

    def _read_alone(self, name: bytes, place: Place) -> bytes | None:
        with self._lock:
            return self._scatter.get(name, place)

    def _drop_chunk(self, name: bytes, place: Place, length: int) -> None:
        if self._places.get(name) == place:
            del self._places[name]
        container = place[0]
        if container in self._roster and self._gone.lost.get(name) != container:
            self._gone.lost[name] = container
            self._roster.lose(container, length)
            self._figures.invalid += 1

    # Writer; the lock is held

    def _settle(self, containers: list[Container]) -> None:
        """These containers are on the disk and in its index: they may leave memory, and be evicted."""
        for container in containers:
            self._unwritten -= self._sealed.pop(container.id).used
            self._roster[container.id].settled = True
            self._idle[container.id] = 0

    def _unlearn(self, containers: list[Container]) -> None:
        """Drop containers that could not be written, each as soon as it is not pinned."""
        for container in containers:
            self._unwritten -= self._sealed.pop(container.id).used
            self._figures.unlearned += len(container.fingerprints)
            self._figures.unlearned_bytes += container.used
            if self._roster.pinned(container.id):
                self._stranded.add(container.id)
            else:
                self._drop(container.id)
