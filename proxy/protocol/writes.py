"""What lanes that have room write next: a frame goes by the first of them that carries its kind."""

from collections.abc import Collection, Iterator, Sequence

from proxy.protocol.share import WRITE_OVERHEAD, Marks


class Write:
    """One lane's, in the making. Sizes in bytes."""

    __slots__ = ("beside", "bulk", "lane", "marks", "pieces", "room", "used")

    def __init__(self, lane: int, room: int, own: list[bytes], marks: Marks | None, *, bulk: bool) -> None:
        """`own`: what the lane says first, of the tunnel. It carries shares of these marks, and `bulk` or not.

        Room 0: no frame of a stream may go by it yet.
        """
        self.lane = lane
        self.room = room - sum(map(len, own))
        self.pieces = own
        self.marks = marks
        self.bulk = bulk
        self.beside: Sequence[int] = ()
        """Lanes by which what is urgent may go as well."""
        self.used = False
        """Frames of streams have gone into it."""

    @property
    def overhead(self) -> int:
        """What the next frame costs beyond its size."""
        return 0 if self.pieces else WRITE_OVERHEAD


class Writes:
    """Of one round. `urgent` and `bulk`: marks that lanes with room left carry of these; None: all, empty: none."""

    def __init__(self, writes: Collection[Write]) -> None:
        """In the order in which lanes are preferred."""
        self.open = [write for write in writes if write.room > 0]
        """Those of lanes with room left."""
        self._all = {write.lane: write for write in writes}
        self._review()

    def __iter__(self) -> Iterator[Write]:
        return iter(self._all.values())

    def first(self, mark: int, *, urgent: bool) -> Write:
        """The lane to carry a frame of that mark, one of those that `urgent` or `bulk` names."""
        for write in self.open:
            if (urgent or write.bulk) and (write.marks is None or mark in write.marks):
                return write
        raise AssertionError(f"no lane with room carries mark {mark}")

    def beside(self, write: Write) -> list[Write]:
        """Where what is urgent and goes by that lane may go as well."""
        return [self._all[lane] for lane in write.beside if lane in self._all]

    def took(self, write: Write, size: int) -> None:
        """So much of its room has gone, which may be more than it had."""
        write.used = True
        write.room -= size
        if write.room <= 0 and write in self.open:
            self.open.remove(write)
            self._review()

    def _review(self) -> None:
        self.urgent: Marks | None = _carried(self.open)
        self.bulk: Marks | None = _carried([write for write in self.open if write.bulk])


def _carried(writes: Collection[Write]) -> Marks | None:
    marks = [write.marks for write in writes]
    return None if None in marks else {mark for each in marks for mark in each or ()}
