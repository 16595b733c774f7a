"""Predicts what a stream will send next, from where it is among the stored chunks.

Chunks that were stored one after another come again one after another. So the chunk stored after the last one is
expected; or, if the stream's last chunk ended in the middle of a stored one, the rest of that. Behind a forced border,
where nothing announces what comes, a chunk is recognised by its first bytes.
"""

from typing import NamedTuple

from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.store import NOT_REPEATED, ChunkStore, Place, Repeated
from proxy.reduction.beginnings import PREFIX, Beginnings
from proxy.reduction.holdings import Holdings
from proxy.reduction.underway import Underway


class Stored(NamedTuple):
    """A stored chunk that may be referred to."""

    name: bytes
    place: Place
    data: bytes
    at: int
    """Offset in `data` at which the stream goes on."""

    def on(self, n: int) -> "Stored":
        """The same chunk, n bytes of the stream later, however these were sent."""
        return Stored(self.name, self.place, self.data, self.at + n)


Mark = tuple[tuple[bytes, Place] | None, tuple[bytes, Place, int] | None, bool]
"""The values of `Course.last`, `inside` and `found`."""


class Course:
    """The course of one stream's outgoing direction. Loop thread."""

    def __init__(self, store: ChunkStore, holdings: Holdings, underway: Underway, beginnings: Beginnings) -> None:
        """`beginnings`: of chunks behind forced borders."""
        self._store = store
        self._holdings = holdings
        self._reliability = holdings.reliability
        self._underway = underway
        self._beginnings = beginnings
        self._wanted_in = 0  # the container that was last asked to be loaded
        self.wanted: bytes | None = None
        """A chunk whose container has to be loaded before it is known how the stream goes on."""
        self.follows = False
        """Whether a chunk that is not known is sent as slices, as far as it repeats chunks stored one after another."""
        self.last: tuple[bytes, Place] | None = None
        """The last complete chunk, if the store holds it; ignored while `inside` is set."""
        self.inside: tuple[bytes, Place, int] | None = None
        """A stored chunk in whose middle the stream's last chunk ended, and the offset of that end."""
        self.found = False
        """Whether the end of the last complete chunk was found in what is stored."""
        self.bordered = True
        """Whether the incomplete chunk is the first, or behind a forced border: its first bytes may recall a chunk."""
        self._spot: int | None = None  # hash of its first bytes, once `Beginnings` was asked
        self._begun: bytes | None = None  # name of a chunk that begins with the same

    @property
    def mark(self) -> Mark:
        """Where the stream is among the stored chunks; to be read at a border."""
        return self.last, self.inside, self.found

    @mark.setter
    def mark(self, mark: Mark) -> None:
        """The stream goes on from there; to be set at a border. Its chunks need not be stored any more."""
        self.last, self.inside, self.found = mark

    def passed(self, name: bytes, place: Place | None) -> None:
        """The stream has come to the end of that chunk; `place` is None if the store does not hold it."""
        self.last, self.inside = None if place is None else (name, place), None

    def peer_holds(self, name: bytes, place: Place) -> bool:
        """True if the peer holds the chunk, or will when it gets to a reference, and references are not suspended."""
        return self._reliability.referring and (self._holdings.holds(place) or self._underway.teaches(name))

    def peer_holds_all(self, place: Place, count: int) -> bool:
        """As `peer_holds`, of `count` chunks one after another; False if it has to be asked of each."""
        return self._reliability.referring and self._holdings.holds_all(place, count)

    def may_still(self, stored: Stored) -> bool:
        """True if the chunk may still be referred to: meanwhile it may have been evicted, or missed by the peer."""
        return self._store.find(stored.name) == stored.place and self._may_refer(stored.name, stored.place)

    def continuation(self) -> Stored | None:
        """The stored chunk expected next, if it is in memory and may be referred to. May set `wanted`."""
        if self.inside is not None:
            name, place, at = self.inside
            return self._in_memory(name, place, at) if self._store.find(name) == place else None
        if self.last is None:
            return None
        following = self._store.following(self.last[1])
        if following is None:
            self._want(*self.last)
            return None
        return self._in_memory(*following, 0)

    def repeated(self, data: memoryview) -> Repeated:
        """As of the store, of what is stored behind the last chunk; nothing if that was not found in the store."""
        if not self.found or self.inside is not None or self.last is None:
            return NOT_REPEATED
        return self._store.repeated(self.last[1], data)

    def recall(self, data: memoryview, stored: Stored | None) -> Stored | None:
        """Behind a forced border, if `stored` does not begin like `data`, one that does; otherwise `stored`."""
        if not self.bordered or (stored is not None and stored.data.startswith(data[:PREFIX], stored.at)):
            return stored
        if self._spot is None:
            self._spot, self._begun = self._beginnings.recall(data)
        name = self._begun
        if name is None:
            return stored
        place = self._store.find(name)
        return (self._in_memory(name, place, 0) if place else None) or stored

    def note(self, name: bytes, data: memoryview) -> None:
        """The chunk behind a forced border is complete: note how it begins, unless a stored one is known to begin so.

        That one may be longer, and this a piece of it that was sent alone.
        """
        self.bordered = False
        spot, begun, self._spot = self._spot, self._begun, None
        if spot is None:
            if self._beginnings.knows(name):
                return
            spot, begun = self._beginnings.recall(data)
        if begun == name:
            self._beginnings.confirm(name)
        elif spot is not None and (begun is None or self._store.find(begun) is None):
            self._beginnings.note(spot, name)

    def _may_refer(self, name: bytes, place: Place) -> bool:
        """As `peer_holds`; but False while so much is referred to that the peer's store does not keep up."""
        return self.peer_holds(name, place) and not self._underway.full

    def _in_memory(self, name: bytes, place: Place, at: int) -> Stored | None:
        if not self._may_refer(name, place):
            return None
        try:
            data = self._store.read(name)
        except (ChunkMissing, ChunkInvalid):
            return None
        if data is None:
            self._want(name, place)
            return None
        return Stored(name, place, data, at)

    def take_wanted(self) -> bytes | None:
        """Return and clear `wanted`; the caller has it loaded."""
        wanted, self.wanted = self.wanted, None
        return wanted

    def _want(self, name: bytes, place: Place) -> None:
        """Ask for the chunk's container to be loaded, unless it was the last one asked for."""
        if place[0] != self._wanted_in:
            self._wanted_in = place[0]
            self.wanted = name
