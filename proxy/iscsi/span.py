"""What a `Framer` cuts a direction into: records of the header sequence and bytes of the payload sequence."""

from typing import Protocol

_BYTE_BITS = 80
"""Room for the largest block address and length of a block."""

Address = int
"""A place on a volume: the LUN as the eight bytes of the header say it, and below that a byte from the volume's start.
So what lies behind it, or at a multiple of some length, is found by plain arithmetic."""


def address_of(lun: int, byte: int) -> Address:
    """That byte of that unit."""
    return (lun << _BYTE_BITS) + byte


class Spans(Protocol):
    """Who is told of each run of bytes, in order."""

    def record(self, record: bytes, coming: int) -> None:
        """One whole record of the header sequence (`record.py`), which announces so many bytes of payload."""

    def payload(self, data: memoryview, address: Address | None) -> None:
        """Bytes of the payload sequence; they may point into what the Framer was given.

        `address`: where the first byte belongs on a volume, if that is known.
        """
