"""What the stores have in common: containers in memory, the table of their chunks, counters, pins and belief."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Lock

from dedupstore.beliefs import Beliefs
from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.container import Container, Slab
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.fingerprint import FINGERPRINT_BYTES, fingerprint
from dedupstore.reuse import SAMPLED, Reuse
from dedupstore.roster import Roster
from dedupstore.store import CONTAINER_BYTES, NOT_REPEATED, Buffer, Place, Repeated, StoreFigures


class ContainerStore(ABC):
    """A ChunkStore, except for where its containers come from and go to.

    `_lock` guards everything but the filling of the open container and look-ups in `_places`, which the loop thread
    does alone. It is held for microseconds: never while a file or the index is written.
    """

    def __init__(
        self,
        figures: StoreFigures,
        slab: Slab,
        beliefs: Beliefs,
        clock: Callable[[], float],
        next_id: int,
        writers: int,
        container_bytes: int = CONTAINER_BYTES,
    ) -> None:
        """`writers`: how many containers may be filled at once."""
        self._figures = figures
        self._slab = slab
        self._beliefs = beliefs
        self._clock = clock
        self._next = next_id
        self.shrunk = ""
        self._lock = Lock()
        self._roster = Roster()
        self._containers: dict[int, Container] = {}
        self._places: dict[bytes, Place] = {}
        self._open: dict[int, Container] = {}
        """Containers being filled, by writer: what one stream brings stays together (Zhu et al., FAST 2008)."""
        self._writers = max(1, writers)
        self._reuse = Reuse(figures.size_bytes)
        self._capacity = max(1, figures.size_bytes // container_bytes)
        self._missed = b""
        """The name that `find` has last not found: a `put` of it that comes next need not look it up again."""

    # What differs

    def _find_elsewhere(self, name: bytes) -> tuple[Place, int] | None:
        """Place and length of a chunk whose container is not in memory."""
        return None

    def _read_alone(self, name: bytes, place: Place) -> bytes | None:
        """The chunk, unverified, if it was read alone and its container is not in memory."""
        return None

    def _missing(self, name: bytes) -> ChunkMissing:
        """The error that says that the chunk is not found."""
        return ChunkMissing(name)

    @abstractmethod
    def _begin_container(self, writer: int) -> Container | None:
        """Seal the writer's container, if any; returns an empty one, or None without room. The caller has the lock."""

    @abstractmethod
    def _touch(self, place: Place, count: int = 1) -> None:
        """The chunk at that place is being read, the last one of `count`. The caller holds the lock."""

    def _drop_chunk(self, name: bytes, place: Place, length: int) -> None:
        """Drop a chunk that failed verification. The caller holds the lock."""
        if self._places.get(name) == place:
            del self._places[name]
            self._roster.lose(place[0], length)
            self._figures.invalid += 1

    # Chunks

    def find(self, name: bytes) -> Place | None:
        """As ChunkStore says."""
        figures = self._figures
        place = self._places.get(name)
        if place is not None and (container := self._containers.get(place[0])) is not None:
            length = container.length(place[1])
        elif (found := self._find_elsewhere(name)) is not None:
            place, length = found
        else:
            figures.misses += 1
            self._missed = name
            if name[0] < SAMPLED:
                self._reuse.miss(name, figures.put_bytes)
            return None
        self.count_hits(place, (name,), length)
        return place

    def count_hits(self, place: Place, names: Sequence[bytes], length: int) -> None:
        """As ChunkStore says."""
        figures = self._figures
        figures.hits += len(names)
        figures.hit_bytes += length
        for name in names:
            if name[0] < SAMPLED:
                self._reuse.hit((self._next - 1 - place[0]) / self._capacity)

    def put(self, name: bytes, data: Buffer, writer: int = 0) -> Place | None:
        """As ChunkStore says. Raises ValueError for a chunk or fingerprint of impossible length."""
        place = self._places.get(name)
        if place is not None:
            return place
        if name == self._missed:
            self._missed = b""
        elif (found := self._find_elsewhere(name)) is not None:
            return found[0]
        length = len(data)
        if len(name) != FINGERPRINT_BYTES or not 0 < length <= LARGEST_CHUNK:
            raise ValueError(f"a chunk has 1 to {LARGEST_CHUNK} bytes, not {length}, and a fingerprint of 32")
        writer %= self._writers
        container = self._open.get(writer)
        if container is None or not container.fits(length):
            with self._lock:
                container = self._begin_container(writer)
                if container is not None:
                    self._open[writer] = container
        return self._append(container, name, data)

    def _append(self, container: Container | None, name: bytes, data: Buffer) -> Place | None:
        figures = self._figures
        if container is None:
            figures.unlearned += 1
            figures.unlearned_bytes += len(data)
            return None
        place = container.id, container.append(name, data)
        self._places[name] = place
        figures.puts += 1
        figures.put_bytes += len(data)
        if name[0] < SAMPLED:
            self._reuse.put(name, figures.put_bytes)
        return place

    def read(self, name: bytes) -> bytes | None:
        """As ChunkStore says."""
        with self._lock:  # the slot must not be used again while it is copied from
            place = self._places.get(name)
            if place is not None:
                data = self._containers[place[0]].chunk(place[1])
                length = len(data)
                self._touch(place)
        if place is None:
            found = self._find_elsewhere(name)
            if found is None:
                raise self._missing(name)
            place, length = found
            alone = self._read_alone(name, place)
            if alone is None:
                return None
            data = alone
        if fingerprint(data) != name:
            with self._lock:
                self._drop_chunk(name, place, length)
            raise ChunkInvalid(name)
        return data

    def read_behind(self, place: Place, names: Sequence[bytes], most: int) -> tuple[int, bytes]:
        """As ChunkStore says."""
        with self._lock:  # as in `read`
            container = self._containers.get(place[0])
            first = place[1] + 1
            if container is None or first >= len(container.fingerprints):
                return 0, b""
            data = container.copy(first, min(most, container.span(first, len(names))))
            ends = container.ends(first, len(data))
            self._touch((place[0], place[1] + len(ends)), len(ends))
        at = sound = 0
        view = memoryview(data)
        for end, name in zip(ends, names, strict=False):
            if fingerprint(view[at:end]) != name:  # `read` will drop it, or find it elsewhere
                break
            at, sound = end, sound + 1
        self.count_hits(place, names[:sound], at)
        return sound, data if at == len(data) else data[:at]

    def following(self, place: Place) -> tuple[bytes, Place] | None:
        """As ChunkStore says."""
        found = self._behind(place)
        if found is None:
            return None
        container, entry = found
        name, after = container.fingerprints[entry], (container.id, entry)
        return (name, after) if self._places.get(name) == after else None

    def repeated(self, place: Place, data: memoryview) -> Repeated:
        """As ChunkStore says: nothing, where a store does not know better."""
        return NOT_REPEATED

    def behind(self, place: Place, most: int) -> list[bytes]:
        """As ChunkStore says."""
        container = self._containers.get(place[0])
        return container.fingerprints[place[1] + 1 : place[1] + 1 + most] if container is not None else []

    # Pins and belief

    def announce(self) -> None:  # noqa: B027 (what is in memory only has one epoch)
        """As ChunkStore says."""

    def pin(self, container: int) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._roster.pin(container)

    def unpin(self, container: int) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._roster.unpin(container)

    def belief(self, peer: bytes, container: int) -> int | None:
        """As ChunkStore says."""
        with self._lock:
            return self._beliefs.belief(peer, container) if container in self._roster else 0

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        """As ChunkStore says."""
        with self._lock:
            if container in self._roster:
                self._beliefs.believe(peer, container, bits)

    def recall(self, peer: bytes) -> bytes | None:
        """As ChunkStore says."""
        return self._beliefs.recall(peer)

    def remember(self, peer: bytes, epoch: bytes) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._beliefs.remember(peer, epoch)

    def disbelieve(self, peer: bytes) -> None:
        """As ChunkStore says."""
        with self._lock:
            self._beliefs.disbelieve(peer)

    # Looking at the whole

    @property
    def alarms(self) -> tuple[str, ...]:
        """As ChunkStore says."""
        return ()

    @property
    def unwritten(self) -> int:
        """As ChunkStore says."""
        return 0

    @property
    def unwritten_max(self) -> int:
        """As ChunkStore says."""
        return 0

    @property
    def write_due(self) -> bool:
        """As ChunkStore says."""
        return False

    def figures(self) -> StoreFigures:
        """As ChunkStore says."""
        with self._lock:
            oldest = self._roster.oldest()
            figures = replace(
                self._figures,
                used_bytes=self._roster.bytes,
                chunks=self._roster.chunks,
                containers=len(self._roster),
                unwritten_bytes=self.unwritten,
                alarms=list(self.alarms),
                hits_by_age=self._reuse.hits_by_age,
                missed_by_size=self._reuse.missed_by_size,
            )
        for container in self._open.values():
            figures.used_bytes += container.used
            figures.chunks += len(container.fingerprints)
        if oldest is not None:
            figures.oldest_seconds = max(0.0, self._clock() - oldest.sealed)
        return figures

    def _behind(self, place: Place) -> tuple[Container, int] | None:
        """Container and entry of what the same writer stored behind that place, if the container is in memory."""
        container = self._containers.get(place[0])
        if container is None:
            return None
        entry = place[1] + 1
        if entry >= len(container.fingerprints):
            entry = 0
            container = self._containers.get(self._roster.after(place[0]) or 0)
            if container is None or not container.fingerprints:
                return None
        return container, entry

    # Common steps; the lock is held

    def _seal(self, writer: int) -> Container | None:
        """Seal and return the writer's container, if it has one: it takes no more chunks."""
        sealed = self._open.pop(writer, None)
        if sealed is not None:
            sealed.sealed = int(self._clock())
            self._roster.seal(sealed.id, len(sealed.fingerprints), sealed.used, sealed.sealed)
        return sealed

    def _release(self, container: int) -> Container | None:
        """Take the container out of memory, if it is there."""
        held = self._containers.pop(container, None)
        if held is not None:
            for name in held.fingerprints:
                place = self._places.get(name)
                if place is not None and place[0] == container:
                    del self._places[name]
            self._slab.give(held.memory)
        return held

    def _count_eviction(self, chunk_bytes: int) -> None:
        self._figures.evicted_containers += 1
        self._figures.evicted_bytes += chunk_bytes
