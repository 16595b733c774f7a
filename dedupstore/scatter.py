"""Whether the chunks that are read lie scattered: then each is read alone, without the container that it lies in.

Data mostly comes back in the order in which it was stored: one read of a container brings the next hundred chunks. A
volume that a database wrote for months, and that is sent anew from its start, comes back in another order: it needs a
chunk here and one there, and megabytes would be read for each. A disk reads such chunks in a fraction of the time if it
is told of many at once, so it hears of those that streams want next.
"""

from collections import OrderedDict

from dedupstore.store import Place

_WORTH_LOADING = 1 / 8
"""Part of a container's chunks that has to be read before it leaves memory for loading it to be worth it."""
_WEIGHT = 1 / 16
"""Of the newest container in the moving average of that part."""
_COUNTED = 64
"""Containers, those last read from, of which it is counted how many chunks were read alone."""
_TOLD_MAX = 32
"""Chunks that the disk is told of and has not been asked for yet: as many as a hard disk puts in order (NCQ). Whoever
wants another one waits behind them."""
_HEARD_FOR = 128
"""Reads of chunks alone, after which one that was announced may be so again: perhaps nobody wanted it."""
_KEPT = 32
"""Chunks that were read alone: more than the reader has read before the loop comes round."""


class Scatter:
    """Not safe by itself: its store guards it with a lock."""

    def __init__(self) -> None:
        self._used = 1.0  # part of the chunks that were read, of containers that left memory lately
        self._read: dict[int, int] = {}  # chunks that were read, by container in memory
        self._alone: OrderedDict[int, int] = OrderedDict()  # chunks that were read alone, by container
        self._reads = 0  # of chunks alone
        self._heard: OrderedDict[bytes, int] = OrderedDict()  # what was announced, and the value of `_reads` then
        self._told: set[bytes] = set()  # of these, what the disk was told of, and not asked for yet
        self._kept: OrderedDict[Place, bytes] = OrderedDict()

    # -- containers --------------------------------------------------------------------------------------------

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
        return self._used < _WORTH_LOADING

    # -- chunks that are read alone ------------------------------------------------------------------------------

    def announce(self, name: bytes) -> bool:
        """The chunk is wanted soon. True if the disk is to be told; `untold` if it cannot be."""
        if not self.scattered or name in self._heard or len(self._told) >= _TOLD_MAX:
            return False
        self._heard[name] = self._reads
        self._told.add(name)
        return True

    def untold(self, name: bytes) -> None:
        """The disk does not have the chunk, or memory has it as well."""
        self._told.discard(name)

    def alone(self, name: bytes, container: int, chunks: int) -> bool:
        """Whether the chunk, which is wanted now, is to be read alone. `chunks`: how many its container has.

        Not once that was so with as many of them as would have made the container worth loading: they may be wanted in
        order again.
        """
        self._told.discard(name)
        self._reads += 1
        self._forget_announcements()
        count = self._alone.get(container, 0) + 1
        if count > max(1, chunks * _WORTH_LOADING):
            return False
        self._alone[container] = count
        self._alone.move_to_end(container)
        if len(self._alone) > _COUNTED:
            self._alone.popitem(last=False)
        return True

    def _forget_announcements(self) -> None:
        while self._heard and next(iter(self._heard.values())) < self._reads - _HEARD_FOR:
            name, _ = self._heard.popitem(last=False)
            self._told.discard(name)

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
