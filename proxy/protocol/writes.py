"""What lanes with room write next. A frame goes by the first of these that carries its mark and kind (urgent, bulk)."""

from collections.abc import Collection, Sequence

from proxy.protocol.share import WRITE_OVERHEAD, Marks


class Write:
    """What one lane is to write, while it is being put together. Sizes in bytes."""

    __slots__ = ("bulk", "copy_lanes", "lane", "marks", "pieces", "room", "used")

    def __init__(self, lane: int, room: int, own: list[bytes], marks: Marks | None, *, bulk: bool) -> None:
        """`own`: frames of the tunnel, which go first. `marks`: of the shares that the lane carries, None: of all;
        `bulk`: it carries bulk, too. `room` 0: no frame of a stream may go by it yet.
        """
        self.lane = lane
        self.room = room - sum(map(len, own)) if own else room
        self.pieces = own
        self.marks = marks
        self.bulk = bulk
        self.copy_lanes: Sequence[int] = ()
        """Numbers of lanes that may carry copies of its urgent frames."""
        self.used = False
        """Frames of streams have gone into it."""

    @property
    def overhead(self) -> int:
        """Bytes on the wire that the next frame costs beyond its size."""
        return 0 if self.pieces else WRITE_OVERHEAD


class Writes:
    """The writes of one `Tunnel.take`.

    `urgent`, `bulk`: the marks of which frames of that kind can still be carried, by lanes that have room; None: all
    marks, empty: none.
    """

    def __init__(self, writes: Collection[Write]) -> None:
        """`writes`: in the order in which lanes are preferred."""
        self.open = [write for write in writes if write.room > 0]
        """Those that have room left."""
        self._all = writes
        self._review()

    def first(self, mark: int, *, urgent: bool) -> Write:
        """The write for a frame of that mark. The mark has to be in `self.urgent` or, for bulk, in `self.bulk`."""
        for write in self.open:
            if (urgent or write.bulk) and (write.marks is None or mark in write.marks):
                return write
        raise AssertionError(f"no lane with room carries mark {mark}")

    def for_copies(self, write: Write) -> list[Write]:
        """The writes that may get copies of the urgent frames in `write`."""
        return [other for lane in write.copy_lanes for other in self._all if other.lane == lane]

    def took(self, write: Write, size: int) -> None:
        """A frame of `size` bytes was added, which may be more than there was room for."""
        write.used = True
        write.room -= size
        if write.room <= 0 and write in self.open:
            self.open.remove(write)
            if self.open:  # otherwise nothing more goes
                self._review()

    def _review(self) -> None:
        self.urgent: Marks | None = _carried(self.open)
        self.bulk: Marks | None = _carried([write for write in self.open if write.bulk])


def _carried(writes: Collection[Write]) -> Marks | None:
    carried: set[int] = set()
    for write in writes:
        if write.marks is None:
            return None
        carried.update(write.marks)
    return carried
