"""PDUs as an array would send them, right or wrong on purpose, by RFC 7143, section 11."""

import struct
from typing import Any

from proxy.iscsi.digest import digest_of
from proxy.iscsi.pdu import Opcode

NEXT_FULL_FEATURE = 0x87
"""Byte 1 of a login PDU: from operational negotiation to full feature phase."""


def pdu(
    opcode: int,
    first: int = 0x80,
    *,
    lun: int = 0,
    tag: int = 0,
    rest: bytes = b"",
    additional: bytes = b"",
    data: bytes = b"",
    header_digest: bool = False,
    data_digest: bool = False,
    padding: bytes | None = None,
    flip: int = 0,
) -> bytes:
    """One PDU. `first`: byte 1; `rest`: from byte 20 on; `padding`: not zeros; `flip` spoils the data digest."""
    header = bytes((opcode, first, 0, 0, len(additional) // 4)) + len(data).to_bytes(3)
    header += lun.to_bytes(8) + tag.to_bytes(4) + rest.ljust(28, b"\0") + additional
    out = header + (digest_of(header) if header_digest else b"")
    if data:
        padded = data + (bytes(-len(data) & 3) if padding is None else padding[: -len(data) & 3])
        out += padded + (digest_of(padded) if data_digest else b"")
        if flip and data_digest:
            out = out[:-1] + bytes((out[-1] ^ flip,))
    return out


def text(**keys: str) -> bytes:
    """Keys as the text of a login or text PDU."""
    return b"".join(f"{key}={value}\0".encode() for key, value in keys.items())


def login(data: bytes = b"", first: int = NEXT_FULL_FEATURE) -> bytes:
    """A Login Request. It names the initiator, as the first one has to."""
    named = data if b"InitiatorName=" in data else text(InitiatorName="iqn.i") + data
    return pdu(Opcode.LOGIN_REQUEST | 0x40, first, data=named)


def login_answer(data: bytes = b"", first: int = NEXT_FULL_FEATURE, status: int = 0) -> bytes:
    """A Login Response."""
    return pdu(Opcode.LOGIN_RESPONSE, first, rest=bytes(16) + bytes((status,)), data=data)


def digests(header: bool, data: bool) -> bytes:
    """The keys that agree on digests."""
    names = {False: "None", True: "CRC32C"}
    return text(HeaderDigest=names[header], DataDigest=names[data])


def command(tag: int, cdb: bytes, data: bytes = b"", *, lun: int = 0, additional: bytes = b"", **more: Any) -> bytes:
    """A SCSI Command, perhaps with immediate data."""
    rest = bytes(12) + cdb.ljust(16, b"\0")
    return pdu(Opcode.SCSI_COMMAND, lun=lun, tag=tag, rest=rest, additional=additional, data=data, **more)


def read_10(lba: int, units: int) -> bytes:
    """The CDB of READ(10)."""
    return struct.pack(">BxIxHx", 0x28, lba, units)


def write_10(lba: int, units: int) -> bytes:
    """The CDB of WRITE(10)."""
    return struct.pack(">BxIxHx", 0x2A, lba, units)


INQUIRY = bytes((0x12, 0, 0, 0, 96, 0))
READ_CAPACITY_10 = bytes((0x25,)) + bytes(9)
READ_CAPACITY_16 = bytes((0x9E, 0x10)) + bytes(14)


def data_out(tag: int, data: bytes, offset: int = 0, **more: Any) -> bytes:
    """A Data-Out."""
    return pdu(Opcode.DATA_OUT, tag=tag, rest=bytes(20) + offset.to_bytes(4), data=data, **more)


def data_in(tag: int, data: bytes, offset: int = 0, *, status: bool = False, **more: Any) -> bytes:
    """A Data-In, with the status that ends the task or without."""
    first = 0x81 if status else 0x80
    return pdu(Opcode.DATA_IN, first, tag=tag, rest=bytes(20) + offset.to_bytes(4), data=data, **more)


def response(tag: int, status: int = 0, sense: bytes = b"", **more: Any) -> bytes:
    """A SCSI Response."""
    whole = pdu(Opcode.SCSI_RESPONSE, tag=tag, data=sense, **more)
    return whole if not status else whole[:3] + bytes((status,)) + whole[4:]
