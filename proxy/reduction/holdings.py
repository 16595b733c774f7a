"""What one site believes the other's store to hold (PROTOCOL.md, "What the peer holds")."""

from collections import Counter
from collections.abc import Iterable, Sequence

from dedupstore.beliefs import SITE_BYTES
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore, Place

_CACHED_CONTAINERS = 16384
"""Bitmaps kept here, at most 150 bytes each; the store has them all."""

_SAMPLE = 1024
"""References, beyond which the counts of references and of misses are halved."""
_FEWEST_MISSES = 64
_MISS_SHARE = 0.05
"""Where more references than either were missed, they are suspended."""
_SUSPENSION = 30.0
"""Seconds."""
_STORE_BYTES = 8
_PROVEN = 32 << 20
"""Bytes found at the peer from which on it is trusted (`Holdings.proven`)."""
_REMEMBERED = 1 << 30
"""Of these, so many count at most. Whenever something was missed the sum is halved."""


def belief_key(site: str, identity: bytes) -> bytes:
    """What belief about that store of that site is kept under. No site can speak for another's, whatever it says."""
    name = site.encode()
    return fingerprint(name)[:SITE_BYTES] + fingerprint(name + b"\0" + identity)[:_STORE_BYTES]


def recognise(store: ChunkStore, peer_store: bytes, epochs: Sequence[bytes]) -> bool:
    """Note that the peer's store is of these epochs; False if another one was known by its name.

    What was believed of it is forgotten then, and also if nobody knows any more of which epoch that was.
    """
    known = store.recall(peer_store)
    if known not in epochs:
        store.disbelieve(peer_store)
    store.remember(peer_store, epochs[0])
    return known is None or known in epochs


class Holdings:
    """One bit a chunk of our own store: has it been exchanged with this peer?

    It answers two questions: may we refer to the chunk (`holds`: the peer will have it), and may the peer refer to it
    (`shares`: it is no other peer's secret). Being wrong costs a MISS. Many misses suspend references for 30 s,
    and so does one that cannot be answered.
    """

    def __init__(self, store: ChunkStore, peer_store: bytes) -> None:
        self._store = store
        self._peer_store = peer_store
        self._bits: dict[int, int] = {}
        self._underway: Counter[Place] = Counter()
        self._referred = 0
        self._missed = 0
        self._referred_underway = 0
        self._missed_underway = 0
        self._suspended_until = 0.0
        self.referring = True
        """False while references are suspended."""
        self._found = 0

    def holds(self, place: Place) -> bool:
        """True if the chunk was exchanged with the peer."""
        return self._container(place[0]) >> place[1] & 1 == 1

    def shares(self, place: Place) -> bool:
        """True if the peer holds the chunk, or will as soon as it has what is under way."""
        return self._container(place[0]) >> place[1] & 1 == 1 or place in self._underway

    def shares_all(self, place: Place, count: int) -> bool:
        """As `shares`, of each of the `count` chunks behind that place in its container."""
        container, last = place
        every = (1 << count) - 1
        if self._container(container) >> last + 1 & every == every:
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

    def found(self, known: int) -> None:
        """The peer knew so many bytes that it was believed to know."""
        self._found = min(self._found + known, _REMEMBERED)

    @property
    def proven(self) -> bool:
        """True if the peer lately knew what it was believed to know: a few misses are no flood."""
        return self._found >= _PROVEN

    def referred(self, count: int) -> None:
        """So many references were sent."""
        self._referred_underway += count

    def ended(self, count: int, missed: int) -> None:
        """So many of them are under way no more, of which so many had failed; old samples fade by halving."""
        self._referred_underway -= count
        self._missed_underway = max(0, self._missed_underway - missed)
        self._referred += count
        self._missed += missed
        if self._referred > _SAMPLE:
            self._referred //= 2
            self._missed //= 2

    def missed(self, count: int, now: float) -> None:
        """So many references failed at the peer. `now` in seconds, monotonic.

        They may be of all that is under way: the peer asks at once for what many batches lack, on many streams.
        """
        self._found //= 2
        self._missed_underway += count
        missed = self._missed + self._missed_underway
        if missed > _FEWEST_MISSES and missed > _MISS_SHARE * (self._referred + self._referred_underway):
            self._suspend(now)

    def gone(self, now: float) -> None:
        """A chunk that the peer missed was lost here, too, which ends its stream: where one is, others may be.

        Each of them would end the stream that refers to it, one after the other, so that none got through.
        """
        self._suspend(now)

    def _suspend(self, now: float) -> None:
        self._suspended_until = now + _SUSPENSION
        self.referring = False

    def tick(self, now: float) -> None:
        """End a suspension whose time has come; to be called about once a second."""
        if not self.referring and now >= self._suspended_until:
            self.referring = True
            self._referred = self._missed = self._missed_underway = 0

    def _container(self, container: int) -> int:
        bits = self._bits.get(container)
        if bits is None:
            if len(self._bits) >= _CACHED_CONTAINERS:
                self._bits.clear()
            bits = self._bits[container] = self._store.belief(self._peer_store, container)
        return bits

    def _set(self, container: int, bits: int) -> None:
        self._bits[container] = bits
        self._store.believe(self._peer_store, container, bits)
