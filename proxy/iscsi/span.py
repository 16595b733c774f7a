"""What a `Framer` cuts a direction into: records of the header sequence and bytes of the payload sequence."""

from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """Which of the two sequences a span belongs to."""

    RECORD = "record"
    """One whole record of the header sequence (`record.py`)."""
    PAYLOAD = "payload"


class Address(NamedTuple):
    """A place on a volume: the LUN as the eight bytes of the header say it, and a byte from the volume's start."""

    lun: int
    byte: int


class Span(NamedTuple):
    """A run of bytes of one kind; a record's are whole, payload's point into what the Framer was given."""

    kind: Kind
    data: bytes | memoryview
    address: Address | None = None
    """Where the first byte belongs on a volume, if that is known; of payload only."""

    def __repr__(self) -> str:
        # Not the bytes: a login's text has the answers to CHAP's challenges.
        return f"Span({self.kind.value}, {len(self.data)} bytes, {self.address})"
