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
_WHOLE = 16
"""Also then one in so many is read with its container: so it shows when that is worth it again."""
_KEPT = 32
"""Chunks that were read alone: more than the reader has read before the loop comes round."""


class Scatter:
    """Not safe by itself: its store guards it with a lock."""

    def __init__(self) -> None:
        self._used = 1.0  # part of the chunks that were read, of containers that left memory lately
        self._loads = 0
        self._read: dict[int, int] = {}  # by container
        self._kept: OrderedDict[Place, bytes] = OrderedDict()

    def loaded(self, container: int) -> None:
        """It came to memory for one of its chunks."""
        self._read[container] = 0

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

    def alone(self) -> bool:
        """Whether the chunk that is wanted now is to be read alone."""
        if not self.scattered:
            return False
        self._loads += 1
        return self._loads % _WHOLE != 0

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
