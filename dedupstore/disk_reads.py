"""How the store on disk reads: containers into the cache, single chunks, and all of it to verify it."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.container import Container
from dedupstore.disk_cache import FIRST_UNREAD, LONGEST_UNREAD, DiskCache
from dedupstore.errors import Away, Damaged, StoreFault
from dedupstore.fingerprint import fingerprint
from dedupstore.opening import StoreFiles
from dedupstore.pause import Pause
from dedupstore.roster import Row
from dedupstore.store import Place, StoreFigures

T = TypeVar("T")

_STEP = 16 << 20
"""Bytes of the index that are read ahead at once."""


class DiskReads(DiskCache):
    """A store on disk, except for its writes."""

    def __init__(self, files: StoreFiles, figures: StoreFigures, cache_bytes: int, clock: Callable[[], float]) -> None:
        super().__init__(files, figures, cache_bytes, clock)
        self._read_ahead = 0
        """Bytes of the index file that were read ahead."""
        self._failed_last = False
        """Whether the container that the disk was last asked for could not be had."""

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
        place = self._places.get(name)
        if place is None and (found := self._find_elsewhere(name)) is not None:
            place = found[0]
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
        data = self._from_disk(place[0], partial(self._file.chunk, slot, offset, length))
        if data is not None:
            with self._lock:
                self._scatter.keep(name, place, data)
        return True

    def _extent(self, name: bytes) -> tuple[Place, int, int, int] | None:
        """Place, slot, offset and length in bytes of a chunk that lies on the disk only; None of any other."""
        if self._is_away:
            return None
        with suppress(StoreFault):
            container, entry, offset, length = self._index.locate(name) or (0, 0, 0, 0)
            row = self._roster.get(container)
            most = self._layout.slot_bytes - self._layout.data_offset
            if row is None or not row.settled or container in self._containers or self._passed_over(container):
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
            if self._is_away or self._passed_over(container):
                return
            memory = self._take_memory()
        loaded = self._from_disk(container, partial(self._file.load, row.slot, container, memory))
        with self._lock:
            if loaded is None:
                self._slab.give(memory)
                return
            self._hold(loaded)
            if container in self._containers:
                self._scatter.loaded(container, measured=measured)

    def _from_disk(self, container: int, read: Callable[[], T]) -> T | None:
        """What is read of a container. None if it is damaged, and so was dropped; or if the disk does not give it.

        The disk is taken to be away, too, if it gives the superblock but not two containers in a row: a part of it may
        be, and to ask for each container there may take long.
        """
        try:
            found = read()
        except StoreFault as fault:
            with self._lock:
                if isinstance(fault, Damaged):
                    self._abandon(container)
                elif isinstance(fault, Away) or (self._failed_last and container not in self._unread):
                    self._go_away(fault)
                else:
                    self._pass_over(container, fault)
                self._failed_last = True
            return None
        with self._lock:
            self._failed_last = False
            if self._unread.pop(container, None):
                self._missed = b""  # it may be held after all
            if not any(map(self._passed_over, self._unread)):
                self._alarms.pop("read", None)
            self._figures.loads += 1
        return found

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
            found = self._look_up(name)
            return found is not None and found[0] == place
        return False

    def _abandon(self, container: int) -> None:
        """Drop a container that is damaged: its chunks are lost, its slot is free. The caller holds the lock."""
        if container not in self._roster:
            return
        self._forget(container)
        row = self._roster.remove(container)
        self._slots.give(row.slot)
        self._gone.remove(container, [])
        self._figures.invalid += row.entries

    def _pass_over(self, container: int, fault: StoreFault) -> None:
        """Do without a container that the disk does not give now. The caller holds the lock."""
        if container not in self._roster:
            return
        self._unread.setdefault(container, Pause(self._clock, FIRST_UNREAD, LONGEST_UNREAD)).begin()
        self._alarms["read"] = (
            f"Chunks of store {self._path} cannot be read ({fault}); see to the disk. They are tried again, less and"
            " less often."
        )

    def _go_away(self, fault: StoreFault) -> None:
        self._is_away = True
        self._alarms["away"] = (
            f"Store {self._path} waits for its disk, which gives nothing ({fault}); see to that, and restart if this"
            " stays though it works again. Traffic passes unlearned."
        )
        self._away.begin()

    @property
    def _return_due(self) -> bool:
        return self._is_away and not self._away.holds

    def _return(self) -> None:
        """Writer: see whether the disk is back."""
        try:
            self._file.try_reading()
        except Away as fault:
            with self._lock:
                self._go_away(fault)
        else:
            with self._lock:
                self._is_away = False
                self._alarms.pop("away", None)
                self._away.end()
                self._failed_last = False
                self._missed = b""  # it may be held after all

    def _names(self, container: int) -> list[bytes]:
        """The fingerprints that the container's directory lists; empty if it is gone or broken."""
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
        """How many of its chunks are sound, as they are on the disk, even if the container is in memory as well.

        Raises StoreFault, and drops nothing, if the disk does not give the container: a part of it may be away.
        """
        with self._lock:
            row = self._roster.get(container)
            held = self._containers.get(container)
        if row is None:
            return 0
        if row.settled or held is None:
            try:
                held = self._file.load(row.slot, container, scratch)
            except Damaged:
                return self._verified_in_vain(container)
        verdicts = [self._verify_chunk(held, entry, row) for entry in range(len(held.fingerprints))]
        if row.settled and row.entries and verdicts.count(None) == len(verdicts):
            return self._verified_in_vain(container)  # it lists other chunks than the index
        if row.settled:
            self._recount(held, row, verdicts)
        return verdicts.count(True)

    def _verified_in_vain(self, container: int) -> int:
        with self._lock:
            self._abandon(container)
        return 0

    def _tell_of_unread(self, unread: str, fault: StoreFault) -> None:
        self._alarms["read"] = (
            f"{unread} containers of store {self._path} could not be read ({fault}); nothing of them was dropped."
            " See to the disk, then verify again."
        )

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
        """Where the chunk lies according to the index, whatever memory has. Takes the lock. Raises StoreFault."""
        with self._lock:
            found = self._look_up(name)
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
