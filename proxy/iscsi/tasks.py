"""The commands under way on a connection, by task tag: they tell where on its volume the data of a PDU belongs."""

from collections import OrderedDict
from dataclasses import dataclass

from proxy.iscsi.pdu import CDB_AT, EXPECTED_LENGTH, LUN, TASK_TAG
from proxy.iscsi.scsi import UNIT_LENGTHS, Access, asks_for_capacity, command_of, unit_length
from proxy.iscsi.span import Address, address_of

TASKS_MAX = 512
"""Tasks that are remembered, at most; beyond that the oldest is forgotten, and its data has no address. Arrays queue
hundreds."""
UNITS_MAX = 256
"""Units whose length of a logical block is remembered, at most."""
DEFAULT_UNIT_LENGTH = 512


_OTHER, _UNKNOWN = Access.OTHER, Access.UNKNOWN


@dataclass(slots=True)
class Task:
    """A SCSI command under way."""

    tag: bytes
    lun: int
    opcode: int
    """The CDB's."""
    access: Access
    byte: int
    """The first byte that it reads or writes, counted from the volume's start."""
    start: Address | None
    """The same as an address, if that is known."""
    extent: int
    """How many bytes of the volume it reads or writes there."""
    length: int
    """How many bytes it moves: more than `extent`, if blocks come with protection information."""
    began: float
    number: int
    """Which of the connection's tasks it is, counted from 1."""
    capacity: bool = False
    """Whether it is a READ CAPACITY, whose answer says how long logical blocks are."""


class Tasks:
    """The tasks under way on one connection. Bounded: see `TASKS_MAX`."""

    def __init__(self) -> None:
        self.begun = 0
        """How many tasks have begun so far."""
        self._tasks: OrderedDict[bytes, Task] = OrderedDict()
        self._unit_lengths: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, header: bytes, now: float) -> tuple[Task, Task | None]:
        """A SCSI Command passed; returns its task, and the task that is dropped for it, if any.

        That is the one under way with the same tag or, if there are too many, the oldest.
        """
        lun = int.from_bytes(header[LUN])
        access, lba, units = command_of(header)
        expected = int.from_bytes(header[EXPECTED_LENGTH])
        size = self._unit_lengths.get(lun) or _unit_length(expected, units)
        tag = header[TASK_TAG]
        byte = lba * size
        start = None if access is _UNKNOWN else address_of(lun, byte)
        extent = units * size
        length = (units and expected) or extent
        self.begun += 1
        task = Task(tag, lun, header[CDB_AT], access, byte, start, extent, length, now, self.begun)
        if access is _OTHER:
            task.capacity = asks_for_capacity(header)
        former = self._tasks.pop(tag, None)
        self._tasks[tag] = task
        if len(self._tasks) > TASKS_MAX:
            _, former = self._tasks.popitem(last=False)
        return task, former

    def find(self, header: bytes) -> Task | None:
        """The task that a PDU belongs to, by the tag in its header."""
        return self._tasks.get(header[TASK_TAG])

    def end(self, tag: bytes) -> Task | None:
        """The task is over; returns it if it was known."""
        return self._tasks.pop(tag, None)

    def end_all(self, *, lun: int | None = None, tag: bytes | None = None, begun: int | None = None) -> list[Task]:
        """All tasks are over, or only those of unit `lun`, with that tag, and among the first `begun`; returns them."""
        ended = [
            task
            for task in self._tasks.values()
            if lun in (None, task.lun) and tag in (None, task.tag) and (begun is None or task.number <= begun)
        ]
        for task in ended:
            del self._tasks[task.tag]
        return ended

    def capacity(self, task: Task, answer: bytes) -> None:
        """The answer to a READ CAPACITY passed: note how long the unit's logical blocks are."""
        length = unit_length(task.opcode, answer)
        if length is None or (len(self._unit_lengths) >= UNITS_MAX and task.lun not in self._unit_lengths):
            return
        self._unit_lengths[task.lun] = length


def _unit_length(expected: int, units: int) -> int:
    """Length of a logical block if no answer to READ CAPACITY has told: bytes of a command divided by its blocks."""
    length, rest = divmod(expected, units or 1)
    sensible = not rest and length in UNIT_LENGTHS and not length & (length - 1)
    return length if sensible else DEFAULT_UNIT_LENGTH
