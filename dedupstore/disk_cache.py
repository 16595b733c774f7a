"""The store on disk, except for its writes: containers in memory, how others are read, and which chunks are sound."""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress

from dedupstore.beliefs import RecordedBeliefs
from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.container import Container, Slab
from dedupstore.container_store import ContainerStore
from dedupstore.errors import Damaged, StoreFault
from dedupstore.fingerprint import fingerprint
from dedupstore.gone import Gone
from dedupstore.opening import StoreFiles
from dedupstore.pause import Pause
from dedupstore.roster import Row
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, Place, StoreFigures

FOR_READING = 4
"""Slots of the cache that are never given to containers being filled or written, so that `load` always finds one."""

MOST_UNWRITTEN = 64 << 20
"""Bytes that may wait for a lagging disk: a crash would only lose more."""
_UNWRITTEN_PART = 4
"""Of a small store no more than one part in so many may wait: what waits cannot be evicted, so new chunks might find no
room."""

_FIRST_PAUSE = 10.0
_LONGEST_PAUSE = 640.0
"""Seconds without learning after the disk failed: at first, and after many times in a row. Each try may cost the oldest
two containers."""

_STEP = 16 << 20
"""Bytes of the index that are read ahead at once."""


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
        self._read_ahead = 0
        """Bytes of the index file that were read ahead."""
        self._doubtful = False
        """Whether the index is damaged, so that the next opening has to walk over it."""

    # Loop thread

    def _find_elsewhere(self, name: bytes) -> tuple[Place, int] | None:
        with self._lock:
            try:
                found = self._index.find(name)
            except StoreFault as fault:
                self._index_failed(fault)
                return None
            if found is None or (container := found[0][0]) not in self._roster:
                return None
            return None if self._gone.lost.get(name) == container else found

    def _recorded_belief(self, peer: bytes, container: int) -> int:
        try:
            return self._index.belief(peer, container)
        except StoreFault as fault:
            self._index_failed(fault)
            return 0

    def _index_failed(self, fault: StoreFault) -> None:
        self._doubtful |= isinstance(fault, Damaged)
        remedy = "restart to begin an empty one" if self._doubtful else "see to the disk"
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
        """As ChunkStore says. Never while writing pauses after a failure: notes are tried as seldom as learning."""
        with self._lock:
            return not (self._doubtful or self._failing.holds) and self._beliefs.due(self._settled)

    def _begin_container(self, writer: int) -> Container | None:
        before = self._seal_open(writer)
        if len(self._sealed) + len(self._stranded) >= self._most_sealed or self._failing.holds:
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

    # Reader; methods that begin with an underscore: writer, too

    def load(self, name: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._scatter.wanted(name)
        self._expect(soon)
        found = self._find_elsewhere(name)
        if found is None or (not whole and self._load_alone(name)):
            return
        self._load(found[0][0], measured=not whole)
        self._drop_astray(name, found[0])

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        """As ChunkStore says."""
        place = self._locate(name)
        with self._lock:
            after = self._roster.after(place[0]) if place is not None else None
            if spare and (self._scatter.scattered or not self._has_room):
                return
        if after is not None:
            self._load(after)

    @property
    def _has_room(self) -> bool:
        """True if memory for one more container is free, or held by one that is hardly read any more."""
        read_at = next(iter(self._idle.values()), self._reads)
        return bool(self._slab) or read_at <= self._reads - self._turnover

    def prepare(self) -> bool:
        """As ChunkStore says: first the cache, then the index, which the kernel reads ahead up to half of the host's
        memory."""
        if self._slab.prepare():
            return True
        with suppress(StoreFault):
            if self._read_ahead < min(self._index.file_bytes(), _physical_memory() // 2):
                self._index.read_ahead(self._read_ahead, _STEP)
                self._read_ahead += _STEP
                return True
        return False

    def _expect(self, names: Iterable[bytes]) -> None:
        """Tell the disk of chunks that lie apart: it reads many in the time of a few if it knows of them at once."""
        for name in names:
            with self._lock:
                if not self._scatter.announce(name) or (extent := self._extent(name)) is None:
                    continue
                self._scatter.told(name, extent[0][0])
            self._file.expect(*extent[1:])

    def _load_alone(self, name: bytes) -> bool:
        """Read that chunk only, if that is the better way; otherwise False: its container is to be loaded."""
        with self._lock:
            extent = self._extent(name) if self._scatter.scattered else None
            if extent is None:
                return False
            place, slot, offset, length = extent
            if not self._scatter.alone(place[0], self._roster[place[0]].entries):
                return False
        try:
            data = self._file.chunk(slot, offset, length)
        except StoreFault as fault:
            with self._lock:
                self._abandon(place[0], fault)
            return True
        with self._lock:
            self._alarms.pop("read", None)
            self._figures.loads += 1
            self._scatter.keep(name, place, data)
        return True

    def _extent(self, name: bytes) -> tuple[Place, int, int, int] | None:
        """Place, slot, offset and length in bytes of a chunk that lies on the disk only; None of any other."""
        with suppress(StoreFault):
            container, entry, offset, length = self._index.locate(name) or (0, 0, 0, 0)
            row = self._roster.get(container)
            most = self._layout.slot_bytes - self._layout.data_offset
            if row is None or not row.settled or container in self._containers:
                return None
            fits = 0 < length <= min(LARGEST_CHUNK, most - offset)
            return ((container, entry), row.slot, offset, length) if fits else None
        return None

    def _load(self, container: int, *, measured: bool = False) -> None:
        """Load a container. `measured`: count how many of its chunks are read then."""
        with self._lock:
            row = self._roster.get(container)
            if row is None or not row.settled or container in self._containers:
                return
            memory = self._take_memory()
        try:
            loaded = self._file.load(row.slot, container, memory)
        except StoreFault as fault:
            with self._lock:
                self._slab.give(memory)
                self._abandon(container, fault)
            return
        with self._lock:
            self._hold(loaded)
            if container in self._containers:
                self._scatter.loaded(container, measured=measured)

    def _drop_astray(self, name: bytes, place: Place) -> None:
        """Note the chunk as lost if its container is in memory but does not have it where the index says.

        The index is damaged there, or the slot never took that container and has an older one of the same id. Otherwise
        the container would be loaded for the chunk again and again. It has lost no chunk that it lists.
        """
        with self._lock:
            if place[0] in self._containers and name not in self._places and self._index_leads_to(name, place):
                self._gone.lost[name] = place[0]
                self._figures.invalid += 1

    def _hold(self, loaded: Container) -> None:
        self._alarms.pop("read", None)
        self._figures.loads += 1
        if loaded.id not in self._roster:  # evicted meanwhile
            self._slab.give(loaded.memory)
            return
        self._containers[loaded.id] = loaded
        self._idle[loaded.id] = self._reads
        intact = self._roster[loaded.id].entries == len(loaded.fingerprints)
        for entry, name in enumerate(loaded.fingerprints):
            known, place = self._places.get(name), (loaded.id, entry)
            if (known is None or known[0] < loaded.id) and (intact or self._index_leads_to(name, place)):
                self._places[name] = place

    def _index_leads_to(self, name: bytes, place: Place) -> bool:
        """True if the index has the chunk there and it is not lost: a container also lists chunks that were dropped.

        The caller holds the lock.
        """
        with suppress(StoreFault):
            found = self._index.find(name)
            return found is not None and found[0] == place and self._gone.lost.get(name) != place[0]
        return False

    def _abandon(self, container: int, fault: StoreFault) -> None:
        """Drop a container that cannot be read: its chunks are lost, its slot is free. The caller holds the lock."""
        if container not in self._roster:
            return
        self._forget(container)
        row = self._roster.remove(container)
        self._slots.give(row.slot)
        self._gone.remove(container, [])
        self._figures.invalid += row.entries
        if not isinstance(fault, Damaged):
            self._alarms["read"] = f"Chunks of store {self._path} cannot be read and are dropped ({fault}); see to it."

    def _names(self, container: int) -> list[bytes]:
        with self._lock:
            held = self._containers.get(container)
            row = self._roster.get(container)
        if held is not None:
            return list(held.fingerprints)
        return self._directory(row.slot, container) if row is not None else []

    def _directory(self, slot: int, container: int) -> list[bytes]:
        """Fingerprints of the chunks in that container, or none if it cannot be read or is not there."""
        try:
            return self._file.directory(slot, container).fingerprints
        except StoreFault:
            return []

    # Verifying: writer

    def _verify_container(self, container: int, scratch: memoryview) -> int:
        """How many of its chunks are sound, as they are on the disk, even if the container is in memory as well."""
        with self._lock:
            row = self._roster.get(container)
            held = self._containers.get(container)
        if row is None:
            return 0
        if row.settled or held is None:
            try:
                held = self._file.load(row.slot, container, scratch)
            except StoreFault as fault:
                if not isinstance(fault, Damaged):
                    self._file.try_reading()  # a disk that gives nothing at all says nothing of any container
                return self._verified_in_vain(container, fault)
        verdicts = [self._verify_chunk(held, entry, row) for entry in range(len(held.fingerprints))]
        if row.settled and row.entries and verdicts.count(None) == len(verdicts):
            stale = Damaged(f"container {container} lists other chunks than the index")
            return self._verified_in_vain(container, stale)
        if row.settled:
            self._recount(held, row, verdicts)
        return verdicts.count(True)

    def _verified_in_vain(self, container: int, fault: StoreFault) -> int:
        with self._lock:
            self._abandon(container, fault)
        return 0

    def _verify_chunk(self, held: Container, entry: int, row: Row) -> bool | None:
        """Whether the chunk is sound; None if the store has it elsewhere, or not any more."""
        name, place = held.fingerprints[entry], (held.id, entry)
        located = self._indexed_place(name) if row.settled else self._places.get(name)
        if located != place:
            return None
        if fingerprint(held.chunk(entry)) == name:
            return True
        with self._lock:
            self._drop_chunk(name, place, held.length(entry))
        return False

    def _indexed_place(self, name: bytes) -> Place | None:
        """Where the chunk lies according to the index, whatever memory has. Takes the lock."""
        found = self._find_elsewhere(name)
        return None if found is None else found[0]

    def _recount(self, held: Container, row: Row, verdicts: list[bool | None]) -> None:
        """Correct a row that counts other chunks than are sound, as it does if the index is damaged.

        For each chunk that it counted too many, another one that the directory lists is noted as lost.
        """
        sound = {held.fingerprints[entry]: held.length(entry) for entry, verdict in enumerate(verdicts) if verdict}
        if (row.entries, row.bytes) == (len(sound), sum(sound.values())):
            return
        others = [held.fingerprints[entry] for entry, verdict in enumerate(verdicts) if verdict is None]
        mistaken = [(name, self._mistaken(name, held.id)) for name in others]
        lost = [(name, container) for name, container in mistaken if container is not None]
        with self._lock:
            if self._roster.get(held.id) is not row:
                return
            for name, container in lost[: max(0, row.entries - len(sound))]:
                self._gone.lost.setdefault(name, container)
                self._figures.invalid += 1
            lengths = [length for name, length in sound.items() if self._gone.lost.get(name) != held.id]
            self._roster.recount(held.id, len(lengths), sum(lengths))
            self._gone.recount(held.id)

    def _mistaken(self, name: bytes, container: int) -> int | None:
        """The container to which the index leads for that name, if the chunk is not there; None if it is.

        If the index does not know the name, it is `container`.
        """
        place = self._indexed_place(name)
        if place is None:
            return container
        return None if self._names(place[0])[place[1] : place[1] + 1] == [name] else place[0]


def _physical_memory() -> int:
    """The host's memory in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
