"""The part of SCSI that has to be known: which commands move a volume's data, and where it lies (SBC-4, SPC-5)."""

from enum import Enum
from struct import Struct

from proxy.iscsi.pdu import CDB_AT

READ_CAPACITY_10 = 0x25
SERVICE_ACTION_IN_16 = 0x9E
READ_CAPACITY_16 = 0x10
"""Service action of SERVICE ACTION IN(16)."""
UNIT_LENGTHS = range(256, (64 << 10) + 1)
"""Plausible lengths of a logical block, in bytes."""


class Access(Enum):
    """What a command does with its unit."""

    READ = "read"
    WRITE = "write"
    OTHER = "other"
    """The data that it moves, if any, belongs to no volume: inquiry data, mode pages, reservations."""
    UNKNOWN = "unknown"
    """A vendor's command, or one of variable length: it may move any data."""


_SIX = Struct(">IB")
_TEN = Struct(">2xIxH")
_TWELVE = Struct(">2xII")
_SIXTEEN = Struct(">2xQI")

_MOVES = {
    0x28: (Access.READ, _TEN),
    0xA8: (Access.READ, _TWELVE),
    0x88: (Access.READ, _SIXTEEN),
    0x2A: (Access.WRITE, _TEN),
    0xAA: (Access.WRITE, _TWELVE),
    0x8A: (Access.WRITE, _SIXTEEN),
    # WRITE AND VERIFY
    0x2E: (Access.WRITE, _TEN),
    0xAE: (Access.WRITE, _TWELVE),
    0x8E: (Access.WRITE, _SIXTEEN),
}
_MOVES_6 = {0x08: Access.READ, 0x0A: Access.WRITE}


def command_of(header: bytes) -> tuple[Access, int, int]:
    """What the CDB in a SCSI Command's header asks for: access, first logical block, number of logical blocks."""
    opcode = header[CDB_AT]
    move = _MOVES.get(opcode)
    if move is not None:
        access, layout = move
        lba, units = layout.unpack_from(header, CDB_AT)
        return access, lba, units
    if opcode in _MOVES_6:
        word, units = _SIX.unpack_from(header, CDB_AT)
        return _MOVES_6[opcode], word & 0x1FFFFF, units or 256
    return Access.UNKNOWN if opcode >= 0xC0 or 0x60 <= opcode < 0x80 else Access.OTHER, 0, 0


def unit_number(lun: int) -> str:
    """The LUN as operators write it: the unit's number if it has one level (SAM-5, 4.7), otherwise 16 hex digits."""
    if not lun & 0xFFFF_FFFF_FFFF and lun >> 56 in (0, *range(0x40, 0x80)):
        return str(lun >> 48 & 0x3FFF)
    return f"{lun:016x}"


def asks_for_capacity(header: bytes) -> bool:
    """True for READ CAPACITY, 10 and 16."""
    opcode = header[CDB_AT]
    return opcode == READ_CAPACITY_10 or (
        opcode == SERVICE_ACTION_IN_16 and header[CDB_AT + 1] & 0x1F == READ_CAPACITY_16
    )


def unit_length(opcode: int, answer: bytes) -> int | None:
    """Bytes of a logical block, from the answer to a READ CAPACITY; the CDB's opcode tells whether that is 10 or 16.

    None if the answer is too short or has no plausible length.
    """
    at = 4 if opcode == READ_CAPACITY_10 else 8
    length = int.from_bytes(answer[at : at + 4])
    sensible = len(answer) >= at + 4 and length in UNIT_LENGTHS and not length & (length - 1)
    return length if sensible else None
