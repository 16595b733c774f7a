"""A store for tests: the ChunkStore interface over a dict, in containers of a few chunks, with faults to order.

It is stricter than the interface asks: pinning a container that is gone, or undoing a pin twice, fails the test.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.prefix import common_prefix
from dedupstore.store import NOT_REPEATED, Buffer, Place, Repeated


class ShelfStore:
    """Evicts the oldest container beyond `containers`, unless it is pinned: then chunks pass unlearned."""

    def __init__(self, containers: int = 1 << 20, entries: int = 8) -> None:
        self.containers = containers
        self.entries = entries
        self.pins: Counter[int] = Counter()
        self.refusing = False
        """Nothing is stored any more."""
        self.cold = False
        """Chunks have to be loaded before they can be read; only the two containers loaded last are at hand."""
        self.finds = 0
        """Look-ups,"""
        self.found = 0
        """and chunks that were found."""
        self._shelf: dict[int, list[bytes]] = {}
        self._chunks: dict[bytes, tuple[Place, bytes]] = {}
        self._rotten: set[bytes] = set()
        self._loaded = [0, 0]
        self._newest = 0
        self._beliefs: dict[tuple[bytes, int], int] = {}

    @property
    def names(self) -> list[bytes]:
        """Fingerprints of all chunks held, in the order in which they came."""
        return list(self._chunks)

    @property
    def pinned(self) -> int:
        """Pins that were not undone."""
        return self.pins.total()

    def lose(self, name: bytes) -> None:
        """Drop a chunk as if its container had been evicted."""
        self._chunks.pop(name, None)

    def rot(self, name: bytes) -> None:
        """Have the chunk fail verification."""
        self._rotten.add(name)

    def move(self, name: bytes) -> None:
        """Store a chunk again, in the place where it would come now."""
        _, data = self._chunks.pop(name)
        self.put(name, data)

    # -- ChunkStore --------------------------------------------------------------------------------------------

    def find(self, fingerprint: bytes) -> Place | None:
        self.finds += 1
        held = self._chunks.get(fingerprint)
        self.found += held is not None
        return held[0] if held else None

    def put(self, fingerprint: bytes, data: Buffer, writer: int = 0) -> Place | None:
        held = self.find(fingerprint)
        if held is not None:
            return held
        if self.refusing or not self._room():
            return None
        container = self._shelf[self._newest]
        place = (self._newest, len(container))
        container.append(fingerprint)
        self._chunks[fingerprint] = place, bytes(data)
        return place

    def read(self, fingerprint: bytes) -> bytes | None:
        held = self._chunks.get(fingerprint)
        if held is None:
            raise ChunkMissing(fingerprint)
        if fingerprint in self._rotten:
            self._rotten.discard(fingerprint)
            del self._chunks[fingerprint]
            raise ChunkInvalid(fingerprint)
        place, data = held
        if self.cold and place[0] not in self._loaded:
            return None
        return bytes(bytearray(data))

    def read_behind(self, place: Place, fingerprints: Sequence[bytes], most: int) -> tuple[int, bytes]:
        data = bytearray()
        count = 0
        for entry, name in enumerate(fingerprints, place[1] + 1):
            held = self._chunks.get(name)
            absent = held is None or held[0] != (place[0], entry) or name in self._rotten
            if held is None or absent or (self.cold and place[0] not in self._loaded):
                break
            if len(data) + len(held[1]) > most:
                break
            data += held[1]
            count += 1
        return count, bytes(data)

    def load(self, fingerprint: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        place = self.find(fingerprint)
        if place is not None:
            self._load(place[0])

    def prefetch(self, fingerprint: bytes, *, spare: bool = False) -> None:
        place = self.find(fingerprint)
        if place is not None:
            self._load(place[0] + 1)

    def following(self, place: Place) -> tuple[bytes, Place] | None:
        after = (place[0], place[1] + 1)
        if after[1] >= len(self._shelf.get(after[0], [])):
            after = (place[0] + 1, 0)
        if self.cold and not {place[0], after[0]} <= set(self._loaded):
            return None
        entries = self._shelf.get(after[0], [])[after[1] :]
        held = self._chunks.get(entries[0]) if entries else None
        return (entries[0], after) if held is not None and held[0] == after else None

    def repeated(self, place: Place, data: memoryview) -> Repeated:
        same, places, ends, names = 0, list[Place](), list[int](), list[bytes]()
        while not self.cold and (following := self.following(place)) is not None:
            name, place = following
            if places and place[0] != places[0][0]:
                break
            stored = self._chunks[name][1]
            n = common_prefix(stored, 0, data[same:])
            same += n
            if n < len(stored):
                break
            places.append(place)
            ends.append(same)
            names.append(name)
        return Repeated(same, places[0], ends, names) if places else NOT_REPEATED

    def count_hits(self, place: Place, names: Sequence[bytes], length: int) -> None:
        self.found += len(names)
        assert [self._chunks[name][0] for name in names] == [(place[0], place[1] + n) for n in range(len(names))]

    def behind(self, place: Place, most: int) -> list[bytes]:
        if self.cold and place[0] not in self._loaded:
            return []
        return self._shelf.get(place[0], [])[place[1] + 1 :][:most]

    def pin(self, container: int) -> None:
        assert container in self._shelf, f"container {container} is gone and was pinned"
        self.pins[container] += 1

    def unpin(self, container: int) -> None:
        assert self.pins[container] > 0, f"container {container} was not pinned"
        self.pins[container] -= 1

    def belief(self, peer: bytes, container: int) -> int:
        return self._beliefs.get((peer, container), 0)

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        self._beliefs[peer, container] = bits

    def _load(self, container: int) -> None:
        if container not in self._loaded:
            self._loaded = [self._loaded[1], container]

    def _room(self) -> bool:
        """Make sure that the newest container can take one chunk more."""
        if self._newest in self._shelf and len(self._shelf[self._newest]) < self.entries:
            return True
        if len(self._shelf) >= self.containers:
            oldest = min(self._shelf)
            if self.pins[oldest]:
                return False
            for name in self._shelf.pop(oldest):
                held = self.find(name)
                if held is not None and held[0] == oldest:
                    del self._chunks[name]
        self._newest += 1
        self._shelf[self._newest] = []
        return True
