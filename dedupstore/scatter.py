"""Decides whether the chunks that are read lie scattered: then each is read alone, without its container.

Data mostly comes back in the order in which it was stored: one read of a container brings the next hundred chunks. A
volume that a database wrote for months, and that is sent anew from its start, comes back in another order: it needs a
chunk here and one there, and megabytes would be read for each. A disk reads such chunks in a fraction of the time if it
is told of many at once, so it is told of those that streams want next.
"""

from collections import OrderedDict

from dedupstore.store import Place

_WORTH_LOADING = 1 / 8
"""Loading a container is worth it if at least this part of its chunks is read before it leaves memory."""
_WEIGHT = 1 / 16
"""Weight of the newest container in the moving average of that part."""
_COUNTED = 64
"""Containers for which chunks read alone are counted: those last read from."""
_TOLD_MAX = 32
"""Chunks that the disk is told of and has not been asked for yet, at most: as many as a hard disk puts in order (NCQ).
Any other chunk has to wait behind them."""
_ANNOUNCED_FOR = 128
"""An announced chunk is forgotten after so many were asked for: perhaps nobody wants it any more. Each that is asked
for announces a few dozen, so this also bounds how many are remembered."""
_KEPT = 32
"""Chunks read alone that are kept: more than the reader reads before the loop comes round."""


class Scatter:
    """What is known of the reads of one store. Not thread-safe: its store guards it with a lock."""

    def __init__(self) -> None:
        self._used = 1.0  # part of a container's chunks that was read in memory: average of those that left lately
        self._read: dict[int, int] = {}  # by container in memory: how many chunks were read
        self._alone: OrderedDict[int, int] = OrderedDict()  # by container: how many chunks were read alone
        self._wanted = 0  # how many chunks were asked for
        self._announced: OrderedDict[bytes, int] = OrderedDict()  # by chunk: the value of `_wanted` then
        self._told: dict[bytes, int] = {}  # by announced chunk that the disk is yet to be asked for: its container
        self._kept: OrderedDict[tuple[bytes, Place], bytes] = OrderedDict()

    # -- containers --------------------------------------------------------------------------------------------

    def loaded(self, container: int, *, measured: bool) -> None:
        """The container was loaded. `measured`: for one of its chunks, so that reads of it are counted.

        If chunks of it were read alone before, they count, and it is measured in any case: when runs bring data in
        order again, containers are loaded only for what lies behind such a chunk. The disk will not be asked for any
        single chunk of it now.
        """
        alone = self._alone.pop(container, 0)
        if measured or alone:
            self._read[container] = alone
        for name in [name for name, told in self._told.items() if told == container]:
            del self._told[name]

    def touched(self, container: int, count: int = 1) -> None:
        """So many chunks of the container are read."""
        if container in self._read:
            self._read[container] += count

    def left(self, container: int, chunks: int) -> None:
        """The container, which has so many chunks, leaves memory."""
        read = self._read.pop(container, None)
        if read is not None:
            self._used += (min(1.0, read / max(1, chunks)) - self._used) * _WEIGHT

    @property
    def scattered(self) -> bool:
        """True while containers are not worth loading."""
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

        It is not any more once the chunks that were read alone would have made loading the container worth it: they may
        be wanted in order again.
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
        """Keep a chunk that was read alone and is not verified yet.

        It is kept by its place as well: if it was read while the slot was written over, that says nothing of the place
        where the chunk was stored since. Wrong data need not be removed: its place is not looked up again.
        """
        self._kept[name, place] = data
        self._kept.move_to_end((name, place))
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)

    def get(self, name: bytes, place: Place) -> bytes | None:
        """The chunk that was kept for that place, if it is still there."""
        return self._kept.get((name, place))
