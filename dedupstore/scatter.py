"""Whether what is read lies scattered: then a chunk is read alone, not with the container that it lies in.

Data mostly comes back in the order in which it was stored, and whoever reads a container for one chunk has the next
hundred. What was written in one order, as a database does for months, and comes back in another, as when the whole
volume is sent anew, needs a chunk here and one there: megabytes would be read for each.
"""

from collections import OrderedDict

from dedupstore.store import Place

_FEW = 1 / 8
"""Part of a container's chunks: a disk that seeks reads so much of it in the time of two or three that lie apart."""
_WEIGHT = 1 / 16
_CONTAINERS = 64
"""Of which it is known how many chunks were read alone of late: so it shows when they are worth reading again."""
_TOLD_MAX = 32
"""Chunks that the disk is told of before they are wanted: as many as a hard disk puts in order (NCQ). Whoever wants
another one waits behind them."""
_HEARD_FOR = 128
"""Loads after which what it was told of seems not to be wanted any more, and may be told again."""
_KEPT = 32
"""Chunks that were read alone: more than the reader has read before the loop comes round."""


class Scatter:
    """Not safe by itself: its store guards it with a lock."""

    def __init__(self) -> None:
        self._used = 1.0  # part of the chunks that were read, of containers that left memory lately
        self._loads = 0
        self._read: dict[int, int] = {}  # by container
        self._alone: OrderedDict[int, int] = OrderedDict()  # how many chunks were read so, by container
        self._heard: dict[bytes, int] = {}  # what was to be told: when that was, in loads
        self._told: set[bytes] = set()  # and was, and is not read yet
        self._kept: OrderedDict[Place, bytes] = OrderedDict()

    def loaded(self, container: int) -> None:
        """It came to memory for one of its chunks. What was read of it alone before counts as well."""
        self._read[container] = self._alone.pop(container, 0)

    def touched(self, container: int) -> None:
        """A chunk of it is read."""
        if container in self._read:
            self._read[container] += 1

    def left(self, container: int, chunks: int) -> None:
        """It leaves memory, with so many chunks."""
        read = self._read.pop(container, None)
        if read is not None:
            self._used += (min(1.0, read / max(1, chunks)) - self._used) * _WEIGHT

    @property
    def scattered(self) -> bool:
        """True while containers are hardly worth reading."""
        return self._used < _FEW

    def tell(self, name: bytes) -> bool:
        """Whether the disk is to be told of that chunk, which is wanted soon, if it lies there alone."""
        if not self.scattered or name in self._heard or len(self._told) >= _TOLD_MAX:
            return False
        self._heard[name] = self._loads
        self._told.add(name)
        return True

    def spare(self, name: bytes) -> None:
        """The disk was not told: it does not have the chunk, or memory has it as well."""
        self._told.discard(name)

    def alone(self, name: bytes, container: int, chunks: int) -> bool:
        """Whether the chunk, which is wanted now, is to be read alone, although its container has so many.

        Not once that has been so with as many of them as would have made it worth reading: others may follow.
        """
        self._told.discard(name)
        self._loads += 1
        while self._heard and next(iter(self._heard.values())) < self._loads - _HEARD_FOR:
            late = next(iter(self._heard))
            del self._heard[late]
            self._told.discard(late)
        count = self._alone.get(container, 0) + 1
        if count > max(1, chunks * _FEW):
            return False
        self._alone[container] = count
        self._alone.move_to_end(container)
        if len(self._alone) > _CONTAINERS:
            self._alone.popitem(last=False)
        return True

    def keep(self, place: Place, data: bytes) -> None:
        """A chunk that was read alone, not verified yet.

        By its place, not its name: what was read while the slot was written over says nothing of where the chunk was
        stored since.
        """
        self._kept[place] = data
        self._kept.move_to_end(place)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def get(self, place: Place) -> bytes | None:
        """It, if it is still there."""
        return self._kept.get(place)

    def drop(self, place: Place) -> None:
        """It is not what its name says."""
        self._kept.pop(place, None)
