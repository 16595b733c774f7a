"""Batches that the peer has not consumed: what stays in our store for them, and what the peer may ask for meanwhile."""

from collections import Counter
from collections.abc import Iterable

from dedupstore.store import ChunkStore
from proxy.reduction.holdings import Holdings
from proxy.reduction.outgoing import OutgoingBatch
from proxy.reduction.relief import Relief
from proxy.reduction.runs import Order, Runs


class Underway:
    """Batches under way in one stream's outgoing direction. Loop thread. Names are of chunks and of runs."""

    def __init__(self, store: ChunkStore, holdings: Holdings, order: Order | None, relief: Relief) -> None:
        """`order`: of the peer's store; None if the peer knows no runs. `relief`: of that store."""
        self._store = store
        self._holdings = holdings
        self.runs = Runs(order)
        """The runs that these batches name."""
        self._referred: Counter[bytes] = Counter()  # by name: how many batches refer to it
        self._missed: Counter[bytes] = Counter()  # by name: how often the peer has asked for it, at most once a batch
        self._taught: dict[bytes, int] = {}  # by chunk: how many batches teach it, the one being written included
        self._relief = relief
        self._known = 0  # bytes of these batches that the peer has to find
        self.relieved = 0
        """Bytes that went literally although the peer holds them, because its store is slow."""

    def teaches(self, name: bytes) -> bool:
        """True if the peer will hold that chunk when it gets to what is written next."""
        return name in self._taught

    def teach(self, name: bytes) -> None:
        """The batch that is being written teaches the peer that chunk."""
        self._taught[name] = self._taught.get(name, 0) + 1  # a Counter takes twice as long

    @property
    def full(self) -> bool:
        """True if so much is referred to that the peer's store would not keep up with more."""
        return self._relief.active and not self._relief.admits(self._known)

    def relieve(self, length: int) -> None:
        """Count `length` bytes that the peer holds, and that go literally because `full` is set."""
        self.relieved += length
        self._relief.relieved(length)

    def send(self, batch: OutgoingBatch) -> None:
        """The batch is sent; its tokens are written."""
        if batch.named:
            self._note_known(batch.known)
            self._referred.update(batch.named)
            self.runs.send(batch.lists)
            self._holdings.reliability.referred(batch.references)
        if batch.learned:
            self._holdings.send([place for _, place in batch.learned])

    def delivered(self, batch: OutgoingBatch) -> None:
        """The peer has consumed the batch: its pins end, and it holds what the batch taught or had to be filled for."""
        missed = self._missed.keys() & batch.named if self._missed else set()
        self._release(batch, missed, found=not missed)
        for name in missed:
            if (place := self._store.find(name)) is not None:
                self._holdings.add(place)  # it was filled
        if batch.learned:
            _uncount(self._taught, [name for name, _ in batch.learned])
            self._holdings.add_all([place for _, place in batch.learned])

    def abandon(self, batch: OutgoingBatch) -> None:
        """The stream is over and the batch may never arrive: its pins end."""
        self._release(batch, self._missed.keys() & batch.named, found=False)

    def missed(self, name: bytes) -> bool:
        """The peer asks for a chunk or a run. False if it has done so before for each batch under way that names it."""
        if self._missed[name] >= self._referred[name]:
            return False
        self._missed[name] += 1
        self.runs.miss(name)
        if (place := self._store.find(name)) is not None:
            self._holdings.doubt(place)
        return True

    def _release(self, batch: OutgoingBatch, missed: set[bytes], *, found: bool) -> None:
        """End what the batch has claimed by `send`. `missed`: names in it that the peer has asked for.

        `found`: the peer consumed it and asked for none.
        """
        if batch.named:
            self._note_known(-batch.known)
            _uncount(self._referred, batch.named)
            _uncount(self._missed, missed)
            self.runs.end(batch.lists, found=found)
            self._holdings.reliability.ended(batch.references, sum(name not in batch.lists for name in missed))
            if found:
                self._holdings.reliability.found(batch.known)
        if batch.learned:
            self._holdings.unsend([place for _, place in batch.learned])
        for container in batch.pinned:
            self._store.unpin(container)

    def _note_known(self, more: int) -> None:
        before, self._known = self._known, self._known + more
        self._relief.note(before, self._known)


def _uncount(counts: dict[bytes, int], names: Iterable[bytes]) -> None:
    """Take one from the count of each, and forget it at zero. (`del` of a Counter's is slow.)"""
    for name in names:
        if left := counts.pop(name) - 1:
            counts[name] = left
