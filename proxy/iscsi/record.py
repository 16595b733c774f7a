"""The format of records: what crosses the WAN of PDUs besides their payload. Each begins with a byte of flags.

    PDU    flags, basic header, additional headers, then unless PAYLOAD is set the data segment, and with AS_IS its tail
    TAIL   flags; with AS_IS also a count and so many bytes
    PLAIN  flags alone: from here on all bytes of this direction are in the payload sequence, as they are

*Tail*: padding and data digest. The far side computes both itself: zeros, and the CRC32C of what it delivers. With
AS_IS it writes what the record has: a digest that was wrong on arrival, padding that is not zero, or less than a whole
tail if the source ended within it. The far side computes header digests as well; after a wrong one the rest is PLAIN.

A PDU with a tail whose data segment is in the payload sequence has a TAIL record behind it: when the tail arrives, the
data has gone already.
"""

from proxy.iscsi.digest import crc32c, digest_bytes
from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import BASIC_BYTES, DIGEST_BYTES

HEADER_DIGEST = 0x01
"""A digest of the header follows it."""
DATA_DIGEST = 0x02
"""A digest of the data segment follows it."""
PAYLOAD = 0x04
"""The data segment is in the payload sequence, otherwise in the record."""
AS_IS = 0x08
"""The tail is in the record."""
NOT_A_PDU = 0x80
TAIL = NOT_A_PDU | 0x40
PLAIN = NOT_A_PDU

HEADER_AT = 1
SHORTEST_PDU = HEADER_AT + BASIC_BYTES
TAIL_MAX = 3 + DIGEST_BYTES

DATA_MAX = 16 << 10
"""Data segments up to this length may be in a record; longer ones are payload, so that none is waited for long.
A record must fit into the smallest window of a stream, 64 KiB, because it is gathered before it is sent."""

PDU_FLAGS = HEADER_DIGEST | DATA_DIGEST | PAYLOAD | AS_IS
_WITH_DATA = DATA_DIGEST | PAYLOAD | AS_IS


def tail_length(flags: int, length: int) -> int:
    """Bytes of padding and digest behind a data segment of `length` bytes, which is not empty."""
    return (-length & 3) + (DIGEST_BYTES if flags & DATA_DIGEST else 0)


def computed_tail(flags: int, length: int, crc: int) -> bytes:
    """Padding and, if flags say so, digest behind a data segment of `length` bytes with this CRC32C."""
    if not length & 3:
        return digest_bytes(crc) if flags & DATA_DIGEST else b""
    zeros = bytes(-length & 3)
    return zeros + digest_bytes(crc32c(zeros, crc)) if flags & DATA_DIGEST else zeros


def pdu_length(record: bytes) -> int:
    """Length of a PDU's record, by its flags and basic header. Raises RecordError if no Framer writes such a record."""
    flags = record[0]
    length = record[6] << 16 | record[7] << 8 | record[8]
    whole = SHORTEST_PDU + record[5] * 4
    if not length:
        if flags & _WITH_DATA:
            raise RecordError(f"a record's flags {flags:#04x} speak of data, its header of none")
        return whole
    if flags & PAYLOAD:
        if flags & AS_IS:
            raise RecordError("a record carries the tail of data that it does not carry")
        return whole
    if length > DATA_MAX:
        raise RecordError(f"a record carries {length} bytes of data; {DATA_MAX} are the most")
    return whole + length + (tail_length(flags, length) if flags & AS_IS else 0)


def other_length(section: bytes, at: int) -> int:
    """Length of the record at `at`, which is not a PDU's. Raises RecordError if no Framer writes such a record."""
    flags = section[at]
    if flags in (PLAIN, TAIL):
        return 1
    if flags != TAIL | AS_IS or at + 2 > len(section) or not 1 <= section[at + 1] <= TAIL_MAX:
        raise RecordError(f"no record has the flags {flags:#04x}, or none such a tail")
    return 2 + section[at + 1]
