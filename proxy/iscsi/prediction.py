"""Headers as differences: what compresses well is what repeats, and steady traffic changes by the same steps.

Each basic header is replaced by its difference, field by field, from the last one with the same opcode in this
direction. Exact for any input: both sides do the same arithmetic on the same records, and nothing is left out.
"""

from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import BASIC_BYTES, OPCODE_MASK
from proxy.iscsi.record import HEADER_AT, PDU_FLAGS, SHORTEST_PDU, other_length, pdu_length

# Fields are subtracted all at once, as one long integer: the top bit of each field is kept out of the subtraction,
# so that nothing is borrowed from the next one, and put right by exclusive or.
_FIELDS = [1, 3, *[4] * 11]
"""Bytes each: byte 0, which goes as it is (it says which header is meant), and words."""
_TOPS = int.from_bytes(b"".join(b"\x80" + bytes(size - 1) for size in _FIELDS))
_REST = (1 << 8 * BASIC_BYTES) - 1 - _TOPS
_WITHOUT_OPCODE = (1 << 8 * (BASIC_BYTES - 1)) - 1


def _minus(one: int, other: int) -> int:
    return ((one | _TOPS) - (other & _REST)) ^ (~(one ^ other) & _TOPS)


def _plus(one: int, other: int) -> int:
    return ((one & _REST) + (other & _REST)) ^ ((one ^ other) & _TOPS)


class Predictor:
    """Of one direction, before compression: records become differences."""

    def __init__(self) -> None:
        self._last = [0] * (OPCODE_MASK + 1)

    def predict(self, record: bytes) -> bytes:
        """What stands for this record, as long as it. Each record once, in order."""
        if record[0] & ~PDU_FLAGS:
            return record
        header = int.from_bytes(record[HEADER_AT:SHORTEST_PDU])
        opcode = record[HEADER_AT] & OPCODE_MASK
        difference = _minus(header, self._last[opcode])
        self._last[opcode] = header & _WITHOUT_OPCODE
        return record[:HEADER_AT] + difference.to_bytes(BASIC_BYTES) + record[SHORTEST_PDU:]


class Restorer:
    """The inverse of `Predictor`, after decompression."""

    def __init__(self) -> None:
        self._last = [0] * (OPCODE_MASK + 1)

    def restore(self, section: bytes) -> list[bytes]:
        """The records of a section, which has whole ones only. RecordError for what no Predictor writes."""
        records = []
        at = 0
        while at < len(section):
            record = self._record(section, at)
            records.append(record)
            at += len(record)
        return records

    def _record(self, section: bytes, at: int) -> bytes:
        flags = section[at]
        if flags & ~PDU_FLAGS:
            return _cut(section, at, other_length(section, at))
        difference = _cut(section, at + HEADER_AT, BASIC_BYTES)
        opcode = difference[0] & OPCODE_MASK
        header = _plus(int.from_bytes(difference), self._last[opcode])
        self._last[opcode] = header & _WITHOUT_OPCODE
        basic = header.to_bytes(BASIC_BYTES)
        rest = _cut(section, at + SHORTEST_PDU, pdu_length(flags, basic) - SHORTEST_PDU)
        return section[at : at + HEADER_AT] + basic + rest


def _cut(section: bytes, at: int, length: int) -> bytes:
    if at + length > len(section):
        raise RecordError(f"a section of {len(section)} bytes ends within a record")
    return section[at : at + length]
