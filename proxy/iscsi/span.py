"""The spans that a `Framer` cuts a direction into: records of the header sequence, bytes of the payload sequence."""

from typing import Protocol

_BYTE_BITS = 80
"""Bits of a byte's number on its volume: enough for the largest block address times the length of a block."""

Address = int
"""A place on a volume: the LUN (the eight bytes of the header) in the high bits, a byte's number on the volume in the
low ones. So the address behind a place, or at a multiple of some length, is found by plain arithmetic."""


def address_of(lun: int, byte: int) -> Address:
    """The address of a byte of a unit."""
    return (lun << _BYTE_BITS) + byte


class Spans(Protocol):
    """Takes the spans of a direction, in order."""

    def record(self, record: bytes, coming: int) -> None:
        """Take one whole record of the header sequence (`record.py`); it announces `coming` bytes of payload."""

    def payload(self, data: memoryview, address: Address | None) -> None:
        """Take bytes of the payload sequence; they may point into what the Framer was given.

        `address`: where on a volume the first byte belongs, if that is known.
        """
