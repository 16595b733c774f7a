"""What peers' stores are believed to hold: for each of them and each container of ours, one bit for each chunk.

Belief belongs to a peer's store (its identity) and ends with the container. It may be wrong without harm; being wrong
costs a question to the peer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dedupstore.container import MAX_ENTRIES

SITE_BYTES = 8
"""A `peer` here is a store, named by 16 bytes: so many first bytes say whose it is, the others which of that site's."""
MOST_STORES = 4
"""Stores of one site that are remembered; beyond that the one not seen for longest is forgotten. A site that purges its
store comes back with a new one, so their number must not grow with time; nor may they displace other sites' stores."""
MOST_PEERS = 256
"""The same for all sites together: former stores are forgotten first, then those of sites that are no peers any more.
"""

_ALL = (1 << MAX_ENTRIES) - 1


@dataclass(slots=True)
class PeerNote:
    """What is remembered of a peer's store: its newest epoch, if any, and when that was noted (seconds since 1970)."""

    epoch: bytes | None
    seen: int


class Beliefs:
    """Belief in memory. Not thread-safe: its store guards it with a lock."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._bits: dict[tuple[bytes, int], int] = {}
        self.peers: dict[bytes, PeerNote] = {}

    def belief(self, peer: bytes, container: int) -> int | None:
        """Bit i says that the peer holds entry i of the container. None: that cannot be told now."""
        return self._bits.get((peer, container), 0)

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        """Replace those bits."""
        if peer not in self.peers:
            self.remember(peer, None)
        self._bits[peer, container] = bits & _ALL

    def recall(self, peer: bytes) -> bytes | None:
        """The epoch of the peer that was remembered last, or None."""
        note = self.peers.get(peer)
        return note.epoch if note else None

    def remember(self, peer: bytes, epoch: bytes | None) -> None:
        """Note the peer's newest epoch."""
        self.peers[peer] = PeerNote(epoch, int(self._clock()))
        self._bound([known for known in self.peers if known.startswith(peer[:SITE_BYTES])], MOST_STORES, peer)
        if len(self.peers) > MOST_PEERS:
            self._bound(self._former(peer) or list(self.peers), 0, peer)

    def _bound(self, known: list[bytes], most: int, latest: bytes) -> None:
        """If more than `most` are `known`, forget the one not seen for longest, but not the latest."""
        if len(known) > most:
            others = [peer for peer in known if peer != latest]
            self.disbelieve(min(others, key=lambda peer: self.peers[peer].seen))

    def _former(self, latest: bytes) -> list[bytes]:
        """Stores that are no longer their site's newest. (`seen` alone does not show these: it is long ago, too, for a
        store whose tunnel has long been up.)"""
        newest: dict[bytes, bytes] = {}
        for peer in sorted(self.peers, key=lambda peer: self.peers[peer].seen):
            newest[peer[:SITE_BYTES]] = peer
        newest[latest[:SITE_BYTES]] = latest  # not the last one if seen within a second, or if the clock was set back
        return [peer for peer in self.peers if newest[peer[:SITE_BYTES]] != peer]

    def disbelieve(self, peer: bytes) -> None:
        """Forget everything about that peer."""
        self.peers.pop(peer, None)
        for key in [key for key in self._bits if key[0] == peer]:
            del self._bits[key]

    def forget(self, container: int) -> None:
        """Drop what was believed of an evicted container."""
        for peer in self.peers:
            self._bits.pop((peer, container), None)


@dataclass(slots=True)
class Notes:
    """What has to be recorded about peers, in this order."""

    disbelieved: frozenset[bytes]
    peers: dict[bytes, PeerNote]
    bits: dict[tuple[bytes, int], int]

    def __bool__(self) -> bool:
        return bool(self.disbelieved or self.peers or self.bits)


_NOTHING = Notes(frozenset(), {}, {})


class RecordedBeliefs(Beliefs):
    """Belief with a record on disk: remembers what changed, and asks the record for what it does not have in memory."""

    MOST_HELD = 1 << 14
    """Bitmaps in memory, beyond which those that are recorded are dropped; about 300 bytes each."""

    def __init__(
        self, clock: Callable[[], float], peers: dict[bytes, PeerNote], recorded: Callable[[bytes, int], int | None]
    ) -> None:
        """`recorded`: what the record has of that peer and container; None if it cannot be asked now."""
        super().__init__(clock)
        self.peers.update(peers)
        self._recorded = recorded
        self._changed: set[tuple[bytes, int]] = set()
        self._changed_peers: set[bytes] = set()
        self._disbelieved: set[bytes] = set()
        self._under_way = _NOTHING  # what is being recorded

    def belief(self, peer: bytes, container: int) -> int | None:
        """As Beliefs says."""
        bits = self._bits.get((peer, container))
        if bits is None:
            outdated = peer in self._disbelieved or peer in self._under_way.disbelieved or peer not in self.peers
            bits = 0 if outdated else self._recorded(peer, container)
            if bits is not None:
                self._hold(peer, container, bits)
        return bits

    def believe(self, peer: bytes, container: int, bits: int) -> None:
        """As Beliefs says."""
        super().believe(peer, container, bits)
        self._changed.add((peer, container))

    def remember(self, peer: bytes, epoch: bytes | None) -> None:
        """As Beliefs says."""
        self._changed_peers.add(peer)
        super().remember(peer, epoch)

    def disbelieve(self, peer: bytes) -> None:
        """As Beliefs says."""
        super().disbelieve(peer)
        self._disbelieved.add(peer)
        self._changed_peers.discard(peer)
        self._changed = {key for key in self._changed if key[0] != peer}

    def forget(self, container: int) -> None:
        """As Beliefs says."""
        super().forget(container)
        self._changed.difference_update([(peer, container) for peer in self.peers])

    def due(self, ready: Callable[[int], bool]) -> bool:
        """True if `changes` would return anything."""
        if self._disbelieved or self._changed_peers:
            return True
        return any(ready(container) for _, container in self._changed)

    def changes(self, ready: Callable[[int], bool]) -> Notes:
        """What is to be recorded now; belief about containers that are not `ready` waits.

        The caller then calls `written` or `give_back`.
        """
        keys = {key for key in self._changed if ready(key[1])}
        notes = Notes(
            frozenset(self._disbelieved),
            {peer: self.peers[peer] for peer in self._changed_peers},
            {key: self._bits[key] for key in keys},
        )
        self._changed -= keys
        self._changed_peers.clear()
        self._disbelieved.clear()
        self._under_way = notes
        return notes

    def written(self) -> None:
        """The changes are recorded."""
        self._under_way = _NOTHING

    def give_back(self) -> None:
        """The changes could not be recorded; they are due again, as far as they are still true."""
        notes, self._under_way = self._under_way, _NOTHING
        self._disbelieved |= notes.disbelieved
        self._changed.update(key for key in notes.bits if key in self._bits)
        self._changed_peers.update(peer for peer in notes.peers if peer in self.peers)

    def _hold(self, peer: bytes, container: int, bits: int) -> None:
        if len(self._bits) >= self.MOST_HELD:
            unwritten = self._changed | self._under_way.bits.keys()  # the record does not have them yet
            self._bits = {key: bits for key, bits in self._bits.items() if key in unwritten}
        self._bits[peer, container] = bits
