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
_ANNOUNCED_FOR = 128
"""Chunks that are asked for, after which one that was announced is forgotten: perhaps nobody wants it any more. Each of
them announces a few dozen, so that is also what bounds those that are remembered."""
_KEPT = 32
"""Chunks that were read alone: more than the reader has read before the loop comes round."""


class Scatter:
    """Not safe by itself: its store guards it with a lock."""

    def __init__(self) -> None:
        self._used = 1.0  # part of the chunks that were read, of containers that left memory lately
        self._read: dict[int, int] = {}  # chunks that were read, by container in memory
        self._alone: OrderedDict[int, int] = OrderedDict()  # chunks that were read alone, by container
        self._wanted = 0  # chunks that were asked for
        self._announced: OrderedDict[bytes, int] = OrderedDict()  # chunks, and the value of `_wanted` then
        self._told: dict[bytes, int] = {}  # of these, what the disk has yet to be asked for, with its container
        self._kept: OrderedDict[tuple[bytes, Place], bytes] = OrderedDict()

    # -- containers --------------------------------------------------------------------------------------------

    def loaded(self, container: int, *, measured: bool) -> None:
        """It came to memory. `measured`: for one of its chunks; what was read of it alone before counts as well.

        One of which chunks were read alone is measured in any case: where runs bring data in order again, containers
        come only for what lies behind such a chunk. The disk is not asked for any chunk of it now.
        """
        alone = self._alone.pop(container, 0)
        if measured or alone:
            self._read[container] = alone
        for name in [name for name, told in self._told.items() if told == container]:
            del self._told[name]

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

    def wanted(self, name: bytes) -> None:
        """The chunk is asked for."""
        self._told.pop(name, None)
        self._wanted += 1
        while self._announced and next(iter(self._announced.values())) < self._wanted - _ANNOUNCED_FOR:
            forgotten, _ = self._announced.popitem(last=False)
            self._told.pop(forgotten, None)

    def announce(self, name: bytes) -> bool:
        """The chunk will be asked for soon. True if the disk may be `told` of it."""
        if not self.scattered or name in self._announced or len(self._told) >= _TOLD_MAX:
            return False
        self._announced[name] = self._wanted
        return True

    def told(self, name: bytes, container: int) -> None:
        """The disk was told of the chunk, which lies in that container."""
        self._told[name] = container

    def alone(self, container: int, chunks: int) -> bool:
        """Whether a chunk of the container, which has so many, is to be read alone.

        Not once that was so with as many of them as would have made the container worth loading: they may be wanted in
        order again.
        """
        count = self._alone.get(container, 0) + 1
        if count > max(1, chunks * _WORTH_LOADING):
            return False
        self._alone[container] = count
        self._alone.move_to_end(container)
        if len(self._alone) > _COUNTED:
            self._alone.popitem(last=False)
        return True

    def keep(self, name: bytes, place: Place, data: bytes) -> None:
        """A chunk that was read alone, not verified yet.

        By its place, too: what was read while the slot was written over says nothing of where the chunk was stored
        since. What turns out to be wrong goes as anything else: its place is not looked up again.
        """
        self._kept[name, place] = data
        self._kept.move_to_end((name, place))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def get(self, name: bytes, place: Place) -> bytes | None:
        """It, if it is still there."""
        return self._kept.get((name, place))
