"""What one site believes the other's store to hold (PROTOCOL.md, "What the peer holds")."""

from collections import Counter
from collections.abc import Iterable, Sequence

from dedupstore.beliefs import SITE_BYTES
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore, Place
from proxy.reduction.reliability import Reliability

_CACHED_CONTAINERS = 16384
"""Bitmaps kept here, at most 150 bytes each; the store has them all."""

_STORE_BYTES = 8


def belief_key(site: str, identity: bytes) -> bytes:
    """The key under which belief about a site's store is kept. It depends on the site's name, so whatever identity a
    site claims, it cannot change what is believed of another site's store."""
    name = site.encode()
    return fingerprint(name)[:SITE_BYTES] + fingerprint(name + b"\0" + identity)[:_STORE_BYTES]


def recognise(store: ChunkStore, peer_store: bytes, epochs: Sequence[bytes]) -> bool:
    """Note the epochs of the peer's store; returns False if another store was known by its name.

    In that case what was believed of it is forgotten; so it is if no epoch is known for which it was believed.
    """
    known = store.recall(peer_store)
    if known not in epochs:
        store.disbelieve(peer_store)
    store.remember(peer_store, epochs[0])
    return known is None or known in epochs


class Holdings:
    """One bit a chunk of our own store: has it been exchanged with this peer?

    It answers two questions: may we refer to the chunk (`holds`: the peer will have it), and may the peer refer to it
    (`shares`: it is no other peer's secret). Being wrong costs a MISS.
    """

    def __init__(self, store: ChunkStore, peer_store: bytes) -> None:
        self._store = store
        self._peer_store = peer_store
        self._bits: dict[int, int] = {}
        self._underway: Counter[Place] = Counter()
        self.reliability = Reliability()
        """How often being wrong has cost a MISS."""

    def holds(self, place: Place) -> bool:
        """True if the chunk was exchanged with the peer."""
        return self._container(place[0]) >> place[1] & 1 == 1

    def holds_all(self, place: Place, count: int) -> bool:
        """True if the `count` chunks from that place on in its container were exchanged with the peer."""
        every = (1 << count) - 1
        return self._container(place[0]) >> place[1] & every == every

    def shares(self, place: Place) -> bool:
        """True if the peer holds the chunk, or will as soon as it has what is under way."""
        return self._container(place[0]) >> place[1] & 1 == 1 or place in self._underway

    def shares_all(self, place: Place, count: int) -> bool:
        """As `shares`, of each of the `count` chunks behind that place in its container."""
        container, last = place
        if self.holds_all((container, last + 1), count):
            return True
        return all(self.shares((container, last + n)) for n in range(1, count + 1))

    def send(self, places: Iterable[Place]) -> None:
        """These chunks are under way to the peer, which may refer to them before it is known that they have arrived."""
        self._underway.update(places)

    def unsend(self, places: Iterable[Place]) -> None:
        """Undo one `send`: they have arrived (see `add`) or never will."""
        for place in places:
            if left := self._underway.pop(place) - 1:
                self._underway[place] = left

    def add(self, place: Place) -> None:
        """The chunk was exchanged with the peer."""
        bits = self._container(place[0])
        if not bits >> place[1] & 1:
            self._set(place[0], bits | 1 << place[1])

    def add_all(self, places: Iterable[Place]) -> None:
        """As `add`; the store hears of each container once."""
        exchanged: dict[int, int] = {}
        for container, entry in places:
            exchanged[container] = exchanged.get(container, 0) | 1 << entry
        for container, added in exchanged.items():
            bits = self._container(container)
            if added & ~bits:
                self._set(container, bits | added)

    def doubt(self, place: Place) -> None:
        """The peer said that it lacks the chunk."""
        self._set(place[0], self._container(place[0]) & ~(1 << place[1]))

    def _container(self, container: int) -> int:
        bits = self._bits.get(container)
        if bits is None:
            if len(self._bits) >= _CACHED_CONTAINERS:
                self._bits.clear()
            bits = self._store.belief(self._peer_store, container)
            if bits is None:  # the disk is away
                return 0
            self._bits[container] = bits
        return bits

    def _set(self, container: int, bits: int) -> None:
        """To be called behind `_container`: what that could not tell is not to be written over."""
        if container in self._bits:
            self._bits[container] = bits
            self._store.believe(self._peer_store, container, bits)
