"""The list of containers, in the order in which they will be evicted, and which of them must stay for now."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Row:
    """What is known of a container without looking into it."""

    slot: int
    entries: int = 0
    """How many of its chunks can still be read."""
    bytes: int = 0
    """Bytes of these chunks together."""
    sealed: int = 0
    """When it was sealed, in seconds since the epoch; 0 if it is not."""
    settled: bool = False
    """Whether it may be evicted: it is neither being filled nor waiting to be written."""
    before: int = 0
    """The container that the same writer filled before, or 0."""


class Roster:
    """First in, first out: the oldest container is evicted when room is needed, and none while it is pinned.

    Not thread-safe: its store guards it with a lock.
    """

    def __init__(self) -> None:
        self._rows: OrderedDict[int, Row] = OrderedDict()
        self._pins: Counter[int] = Counter()
        self._after: dict[int, int] = {}
        self.chunks = 0
        self.bytes = 0

    def __contains__(self, container: int) -> bool:
        return container in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[int]:
        """Ids of containers, in the order in which they will be evicted."""
        return iter(self._rows)

    def __getitem__(self, container: int) -> Row:
        return self._rows[container]

    def get(self, container: int) -> Row | None:
        """The container's row, if there is such a container."""
        return self._rows.get(container)

    def add(self, container: int, row: Row) -> None:
        """Add the youngest container."""
        self._rows[container] = row
        if row.before:
            self._after[row.before] = container
        self.chunks += row.entries
        self.bytes += row.bytes

    def seal(self, container: int, entries: int, used: int, sealed: int) -> None:
        """Note that the container was filled, with `entries` chunks of `used` bytes in all.

        Its age counts from now on: a container that was begun long ago by a slow writer holds young chunks, too.
        """
        row = self._rows[container]
        self._rows.move_to_end(container)
        row.sealed = sealed
        row.entries += entries
        row.bytes += used
        self.chunks += entries
        self.bytes += used

    def lose(self, container: int, length: int) -> None:
        """Note that one of the container's chunks is gone.

        Counts end at 0: a row of a damaged index may count fewer chunks than there are, and a negative number could not
        be written.
        """
        row = self._rows[container]
        self.recount(container, max(0, row.entries - 1), max(0, row.bytes - length))

    def recount(self, container: int, entries: int, used: int) -> None:
        """Note that the container has `entries` chunks of `used` bytes in all."""
        row = self._rows[container]
        self.chunks += entries - row.entries
        self.bytes += used - row.bytes
        row.entries, row.bytes = entries, used

    def remove(self, container: int) -> Row:
        """Take a container out."""
        row = self._rows.pop(container)
        self._after.pop(row.before, None)
        self._after.pop(container, None)
        self.chunks -= row.entries
        self.bytes -= row.bytes
        return row

    def after(self, container: int) -> int | None:
        """The container that the same writer filled next, or is filling."""
        return self._after.get(container)

    def oldest(self) -> Row | None:
        """The row of the container that was filled first."""
        return next((row for row in self._rows.values() if row.sealed), None)

    def evictable(self) -> int | None:
        """The oldest container that may be evicted now. Pinned ones are passed over, so that learning goes on."""
        return next((one for one, row in self._rows.items() if row.settled and not self._pins[one]), None)

    def pin(self, container: int) -> None:
        """Keep the container from eviction; pins are counted."""
        self._pins[container] += 1

    def unpin(self, container: int) -> None:
        """Undo one `pin`."""
        self._pins[container] -= 1
        if self._pins[container] <= 0:
            del self._pins[container]

    def pinned(self, container: int) -> bool:
        """True if the container has a pin."""
        return container in self._pins
