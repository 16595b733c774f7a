"""iSCSI PDUs as RFC 7143, section 11 lays them out: what a header says of itself, and who may send which.

A PDU is a basic header of 48 bytes, additional headers, a header digest if negotiated, a data segment padded to four
bytes, and its digest if negotiated. Offsets here are into the basic header; integers are big-endian.
"""

from enum import Enum, IntEnum

BASIC_BYTES = 48
DIGEST_BYTES = 4

OPCODE_MASK = 0x3F
"""Byte 0, without the mark for immediate delivery. The bit above that is reserved (11.2.1.1)."""
FINAL = 0x80
"""Byte 1: last PDU of a sequence; in login PDUs T, "go to the next stage"."""
CONTINUED = 0x40
"""Byte 1 of login and text PDUs: the text goes on in the next one (6.2)."""
HAS_STATUS = 0x01
"""Byte 1 of Data-In: it carries the command's status, so no SCSI Response follows (11.7.3)."""
UNDERFLOW = 0x02
"""Byte 1 of a PDU that carries a status: fewer bytes were moved than expected, by the residual count (11.4.5)."""
LUN = slice(8, 16)
TASK_TAG = slice(16, 20)
EXPECTED_LENGTH = slice(20, 24)
"""How many bytes a SCSI Command is to move (11.3.5)."""
BUFFER_OFFSET = slice(40, 44)
RESIDUAL = slice(44, 48)
CDB_AT = 32


class Sender(Enum):
    """Who sent a PDU."""

    INITIATOR = "initiator"
    TARGET = "target"


class Opcode(IntEnum):
    """What a PDU is; each opcode cites its section, and says what it means to somebody who only watches."""

    NOP_OUT = 0x00
    """11.18: ping, or the answer to one; its data belongs to no volume."""
    SCSI_COMMAND = 0x01
    """11.3: begins a task: LUN at 8, task tag at 16, expected length at 20, CDB at 32; immediate data of a write."""
    TASK_MANAGEMENT = 0x02
    """11.5: function in the low 7 bits of byte 1, LUN at 8, the tag that it concerns at 20; may end other tasks."""
    LOGIN_REQUEST = 0x03
    """11.12: first of every connection: stages in byte 1, versions at 2 and 3, keys as text."""
    TEXT_REQUEST = 0x04
    """11.10: keys as text."""
    DATA_OUT = 0x05
    """11.7: data of a write: task tag at 16, buffer offset at 40."""
    LOGOUT_REQUEST = 0x06
    """11.14: ends this connection, another one, or all."""
    SNACK_REQUEST = 0x10
    """11.16: asks for PDUs again."""
    VENDOR_OUT_1 = 0x1C
    VENDOR_OUT_2 = 0x1D
    VENDOR_OUT_3 = 0x1E
    NOP_IN = 0x20
    """11.19: ping, or the answer to one."""
    SCSI_RESPONSE = 0x21
    """11.4: ends a task: response at 2, status at 3, task tag at 16; sense data."""
    TASK_MANAGEMENT_RESPONSE = 0x22
    """11.6: response at 2, 0 if the function was carried out."""
    LOGIN_RESPONSE = 0x23
    """11.13: stages in byte 1, status class at 36. With T and full feature phase as next stage, digests begin."""
    TEXT_RESPONSE = 0x24
    """11.11: keys as text, also the list of targets."""
    DATA_IN = 0x25
    """11.7: data of a read: task tag at 16, buffer offset at 40, perhaps with the status at 3, which ends the task."""
    LOGOUT_RESPONSE = 0x26
    """11.15."""
    R2T = 0x31
    """11.8: the target asks for data of a write."""
    ASYNC_MESSAGE = 0x32
    """11.9: events, sense data."""
    VENDOR_IN_1 = 0x3C
    VENDOR_IN_2 = 0x3D
    VENDOR_IN_3 = 0x3E
    REJECT = 0x3F
    """11.17: the header of a PDU that the target does not take, as data."""


def opcodes_of(sender: Sender) -> frozenset[int]:
    """Opcodes that a sender's PDUs may have: those of a target have bit 0x20 (11.2.1.2)."""
    return frozenset(opcode for opcode in Opcode if bool(opcode & 0x20) == (sender is Sender.TARGET))


def first_bytes_of(sender: Sender) -> frozenset[int]:
    """Values that byte 0 of a sender's PDUs may have, with the immediate bit or without; the reserved bit is clear."""
    return frozenset(opcode | mark for opcode in opcodes_of(sender) for mark in (0, 0x40))
