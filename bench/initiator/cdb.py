"""Builds SCSI command descriptor blocks (SPC-4, SBC-3) as an initiator sends them, and reads sense data."""

import struct
from typing import NamedTuple

SECTOR = 512
"""Bytes of a logical block of the targets in tests and benches."""
GOOD = 0x00
"""The status of a command that did what it was to do."""


def test_unit_ready() -> bytes:
    return bytes(6)


def inquiry(length: int = 96, page: int | None = None) -> bytes:
    """Standard inquiry data, or a page of vital product data."""
    return struct.pack(">BBBHB", 0x12, page is not None, page or 0, length, 0)


def read_capacity() -> bytes:
    """READ CAPACITY(10). Its answer has 8 bytes."""
    return struct.pack(">B9x", 0x25)


def read(sector: int, count: int) -> bytes:
    """READ(10)."""
    return struct.pack(">BBIBHB", 0x28, 0, sector, 0, count, 0)


def write(sector: int, count: int) -> bytes:
    """WRITE(10)."""
    return struct.pack(">BBIBHB", 0x2A, 0, sector, 0, count, 0)


def read_long(sector: int, count: int) -> bytes:
    """READ(16)."""
    return struct.pack(">BBQIBB", 0x88, 0, sector, count, 0, 0)


def write_long(sector: int, count: int) -> bytes:
    """WRITE(16)."""
    return struct.pack(">BBQIBB", 0x8A, 0, sector, count, 0, 0)


def read_short(sector: int, count: int) -> bytes:
    """READ(6): 21 bits of address, 1 to 256 logical blocks."""
    return struct.pack(">IBB", 0x08 << 24 | sector, count & 0xFF, 0)


def write_short(sector: int, count: int) -> bytes:
    """WRITE(6)."""
    return struct.pack(">IBB", 0x0A << 24 | sector, count & 0xFF, 0)


class Sense(NamedTuple):
    """Why a command failed: fields of sense data in fixed format (SPC-4, section 4.5.3)."""

    key: int
    code: int
    """Additional sense code, and its qualifier in the low byte."""


def sense(data: bytes) -> Sense | None:
    """Read the data of a response: two bytes of length, then the sense data. None if it is too short."""
    if len(data) < 2 + 14:
        return None
    return Sense(data[2 + 2] & 0x0F, data[2 + 12] << 8 | data[2 + 13])
