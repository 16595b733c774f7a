"""Where a stream is in what is stored, and so what it will probably send next.

What was stored one after another comes again one after another; so the chunk stored after the last one is expected, or
the rest of a stored chunk in whose middle the last one ended. Behind a forced border, where nothing announces what
comes, a chunk is recognised by its first bytes.
"""

from typing import NamedTuple

from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.store import ChunkStore, Place
from proxy.reduction.beginnings import PREFIX, Beginnings
from proxy.reduction.holdings import Holdings
from proxy.reduction.underway import Underway


class Stored(NamedTuple):
    """A stored chunk that may be referred to."""

    name: bytes
    place: Place
    data: bytes
    at: int
    """Offset in it where the stream is: of the byte that comes next."""

    def on(self, n: int) -> "Stored":
        """After n more bytes of the stream, however they came."""
        return Stored(self.name, self.place, self.data, self.at + n)


Mark = tuple[tuple[bytes, Place] | None, tuple[bytes, Place, int] | None, bool]
"""`Course.last`, `inside` and `known`."""


class Course:
    """One stream's outgoing direction. Loop thread."""

    def __init__(self, store: ChunkStore, holdings: Holdings, underway: Underway, beginnings: Beginnings) -> None:
        """`beginnings`: of chunks behind forced borders."""
        self._store = store
        self._holdings = holdings
        self._reliability = holdings.reliability
        self._underway = underway
        self._beginnings = beginnings
        self._wanted_in = 0  # the container that was last asked to be loaded
        self.wanted: bytes | None = None
        """A chunk whose container has to be loaded for the stream to go on like it."""
        self.follows = False
        """A chunk that is not known goes as slices as far as it repeats what was stored one after another."""
        self.last: tuple[bytes, Place] | None = None
        """The last complete chunk, if the store holds it; of no account while `inside` is set."""
        self.inside: tuple[bytes, Place, int] | None = None
        """A stored chunk in whose middle the last one of the stream ended, and the offset there."""
        self.known = False
        """The last complete chunk was sent by what is stored."""
        self.bordered = True
        """The incomplete chunk comes after a forced border, or is the first: it is known by how it begins."""
        self._spot: int | None = None  # how that chunk begins, once it was asked for
        self._begun: bytes | None = None  # and one that began so

    @property
    def mark(self) -> Mark:
        """Where the stream is in what is stored; to be asked at a border."""
        return self.last, self.inside, self.known

    @mark.setter
    def mark(self, mark: Mark) -> None:
        """What comes next goes on from there; to be set at a border. Whether that is still stored shows in its use."""
        self.last, self.inside, self.known = mark

    def passed(self, name: bytes, place: Place | None) -> None:
        """The stream has come to the end of that chunk, which the store holds if it has a place."""
        self.last, self.inside = None if place is None else (name, place), None

    def peer_holds(self, name: bytes, place: Place) -> bool:
        """True if the peer holds the chunk, or will when it gets to a reference."""
        return self._reliability.referring and (self._holdings.holds(place) or self._underway.teaches(name))

    def may_still(self, stored: Stored) -> bool:
        """Since the last pause it may have been evicted, or found to be unknown to the peer."""
        return self._store.find(stored.name) == stored.place and self._may_refer(stored.name, stored.place)

    def continuation(self) -> Stored | None:
        """The stored chunk that goes on from where the stream is, if it is in memory and may be referred to."""
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

    def recall(self, data: memoryview, stored: Stored | None) -> Stored | None:
        """Behind a forced border a stored chunk that begins like `data`, unless `stored` does; otherwise `stored`."""
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
        """The chunk behind a forced border is complete. A piece of a longer one that was sent alone does not take its
        place."""
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
        """True if the peer holds the chunk, or will when it gets to a reference, and has it in time."""
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
        """What is `wanted`, if anything: the caller has it loaded."""
        wanted, self.wanted = self.wanted, None
        return wanted

    def _want(self, name: bytes, place: Place) -> None:
        """Have a container loaded, once."""
        if place[0] != self._wanted_in:
            self._wanted_in = place[0]
            self.wanted = name
