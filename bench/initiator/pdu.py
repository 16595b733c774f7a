"""The PDUs of RFC 7143, section 11, as values: encoded with or without digests, and read from a socket.

Every header has 48 bytes: opcode, flags, two bytes of detail, lengths, LUN, task tag, and seven words whose meaning
depends on the opcode. `Pdu.word(offset)` names a word as the RFC does, by its offset in the header.
"""

import socket
import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from crc32c import crc32c

HEADER_BYTES = 48
DIGEST_BYTES = 4
FINAL = 0x80
"""F: the last PDU of a sequence. In a login T: the stage is to end."""
IMMEDIATE = 0x40
"""I: the target takes the request out of turn, and it uses up no CmdSN."""
NO_TAG = 0xFFFFFFFF
NO_LUN = bytes(8)
_HEADER = struct.Struct(">BBHI8sI28s")
_WORDS_AT = 20
READ_BYTES = 1 << 20


def digest(data: bytes | memoryview) -> bytes:
    """CRC32C (section 13.1) of a header with its AHS, or of a data segment with its padding."""
    return crc32c(data).to_bytes(4, "little")


class Opcode(IntEnum):
    """What a PDU is (section 11.2.1.2)."""

    NOP_OUT = 0x00
    COMMAND = 0x01
    TASK_REQUEST = 0x02
    LOGIN_REQUEST = 0x03
    TEXT_REQUEST = 0x04
    DATA_OUT = 0x05
    LOGOUT_REQUEST = 0x06
    NOP_IN = 0x20
    RESPONSE = 0x21
    TASK_RESPONSE = 0x22
    LOGIN_RESPONSE = 0x23
    TEXT_RESPONSE = 0x24
    DATA_IN = 0x25
    LOGOUT_RESPONSE = 0x26
    READY = 0x31
    """Ready to transfer (R2T)."""
    ASYNC = 0x32
    REJECT = 0x3F


class Digests(NamedTuple):
    """Which digests PDUs carry."""

    header: bool = False
    data: bool = False


class InitiatorFailure(Exception):
    """The target did what the protocol does not allow, or did not do what it was asked; the message says what."""


class WrongDigest(InitiatorFailure):
    """A digest does not fit what it covers; the message says which."""


class Pdu(NamedTuple):
    """One PDU; `data` without padding."""

    opcode: Opcode
    flags: int = FINAL
    detail: int = 0
    """Bytes 2 and 3."""
    lun: bytes = NO_LUN
    """Bytes 8 to 15: the LUN, or what else the opcode has there."""
    tag: int = NO_TAG
    rest: bytes = bytes(28)
    """Bytes 20 to 47."""
    data: bytes | memoryview = b""
    immediate: bool = False
    ahs: bytes = b""
    """Additional header segments, padded."""

    def word(self, offset: int) -> int:
        """The 32-bit word at that offset of the header, 20 to 44."""
        return int.from_bytes(self.rest[offset - _WORDS_AT : offset - _WORDS_AT + 4], "big")

    def encode(self, digests: Digests) -> Iterator[bytes | memoryview]:
        """Its bytes, in pieces to be sent one after another."""
        lengths = len(self.ahs) // 4 << 24 | len(self.data)
        first = self.opcode | (IMMEDIATE if self.immediate else 0)
        header = _HEADER.pack(first, self.flags, self.detail, lengths, self.lun, self.tag, self.rest) + self.ahs
        yield header
        if digests.header:
            yield digest(header)
        if self.data:
            yield from _segment(self.data, digests.data)


def _segment(data: bytes | memoryview, with_digest: bool) -> Iterator[bytes | memoryview]:
    padding = bytes(-len(data) % 4)
    yield data
    yield padding
    if with_digest:
        yield digest(b"".join((data, padding)) if padding else data)


def words(*values: int) -> bytes:
    """The last seven words of a header, from byte 20 on; those that are not given are zero."""
    return struct.pack(f">{len(values)}I", *values).ljust(28, b"\0")


def lun_field(lun: int) -> bytes:
    """The LUN field of a header, for a unit's number below 256 (SAM, peripheral device addressing)."""
    return bytes([0, lun, 0, 0, 0, 0, 0, 0])


class Reader:
    """Reads PDUs from a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self.digests = Digests()
        self._connection = connection
        self._held = bytearray()

    def read(self) -> Pdu:
        """The next PDU. Raises ConnectionError at the end of the connection, WrongDigest, TimeoutError."""
        head = self._exactly(HEADER_BYTES)
        first, flags, detail, lengths, lun, tag, rest = _HEADER.unpack(head)
        ahs = self._exactly((lengths >> 24) * 4)
        if self.digests.header:
            self._check("header", head + ahs)
        data = self._data(lengths & 0xFFFFFF)
        immediate = bool(first & IMMEDIATE)
        return Pdu(Opcode(first & ~IMMEDIATE), flags, detail, lun, tag, rest, data, immediate, ahs)

    def _data(self, length: int) -> bytes:
        padded = self._exactly(length + -length % 4)
        if padded and self.digests.data:
            self._check("data", padded)
        return padded[:length]

    def _check(self, what: str, covered: bytes) -> None:
        if self._exactly(DIGEST_BYTES) != digest(covered):
            raise WrongDigest(f"wrong {what} digest")

    def _exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            part = self._connection.recv(READ_BYTES)
            if not part:
                raise ConnectionResetError("the target has ended the connection")
            self._held += part
        found = bytes(self._held[:count])
        del self._held[:count]
        return found
