"""Reduces headers to what is new in them: in steady traffic they change by the same steps, PDU after PDU.

Each basic header is replaced by its difference, field by field, from a former one with the same opcode in this
direction (`_Former`). Both sides keep the last 128 differences that were new, so one that comes again is a single byte,
its place there. A new difference names the words in which it differs from the last new one of its opcode:

    0x00-0x7f   the difference at that place, with the flags that it had; then the record from its 50th byte on
    0x90-0x9f   a new one: flags in the low four bits, byte 0 of the header, u16 with a bit (lowest first) for each word
                that is given, these words; then the record from its 50th byte on. It takes the oldest one's place
    others      a record that is not a PDU's, as it is (`record.py`)

A word is sent as one byte, whose low four bits say which of the word's four bytes follow, the lowest bit for the lowest
byte. Bytes that do not follow are 0, or 0xff if the first byte has 0x10.

This is exact for any input: both sides do the same arithmetic on the same records. A section of several of them
compresses further; a short one need not be compressed at all.
"""

from struct import Struct

from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import BASIC_BYTES, OPCODE_MASK, Opcode
from proxy.iscsi.record import HEADER_AT, NOT_A_PDU, PDU_FLAGS, SHORTEST_PDU, other_length, pdu_length

PLACES = 128
NEW = 0x90

# Flags, byte 0 and the other fields are subtracted all at once, as one long integer: the top bit of each field is kept
# out of the subtraction, so that no field borrows from the next one, and is corrected by exclusive or.
_FIELDS = [1, 1, 3, *[4] * 11]
_TOPS = int.from_bytes(b"".join(b"\x80" + bytes(size - 1) for size in _FIELDS))
_REST = (1 << 8 * SHORTEST_PDU) - 1 - _TOPS
_OPCODE_AT = 8 * (SHORTEST_PDU - 2)
_BELOW_BYTE_0 = (1 << _OPCODE_AT) - 1
"""The bits of the fields that a difference is taken of. Flags and byte 0 stay as they are: byte 0 has the opcode, which
says which former header is subtracted."""

_WORDS = Struct(">x12I")
_WHOLE = Struct(">B12I")
_FILLED = 0x10
"""In the first byte of a word: its bytes that do not follow are 0xff."""
_ALL = 0xFFFFFFFF
_NEW_HEAD = Struct(">BBH")
_WORD_0 = 0xFFFFFF
_MASK_LIMIT = 1 << 12
_BYTE = [bytes((n,)) for n in range(256)]


def _plus(one: int, other: int) -> int:
    return ((one & _REST) + (other & _REST)) ^ ((one ^ other) & _TOPS)


def _field(at: int, size: int) -> int:
    """The bits of `size` bytes of the header, from byte `at` on."""
    return (1 << 8 * size) - 1 << 8 * (BASIC_BYTES - at - size)


_LENGTHS = 0xFF << 8 * BASIC_BYTES | _field(4, 4)
"""The bits of flags and lengths, which say how long a record is."""
TASKS = 128
"""Tasks whose headers are remembered, at most."""
_TAG = _field(16, 4)
_OWN = _BELOW_BYTE_0 & ~(_TAG | _field(24, 12))
"""A task's own fields in a header of `_OF_TASKS`: all but the tag and the connection's counters (11.7, 11.8)."""
_OF_TASKS = frozenset((int(Opcode.DATA_OUT), int(Opcode.DATA_IN), int(Opcode.R2T)))
"""Opcodes of which a task has many PDUs, while several tasks take turns."""


class _Former:
    """What is subtracted from the next header of a direction: the last one of its opcode.

    If it is another task's turn, the task's own fields are those of that task's last header before or, if none is
    remembered, those of the last header for which none was.
    """

    def __init__(self) -> None:
        self.last = [0] * (OPCODE_MASK + 1)
        self._first = [0] * (OPCODE_MASK + 1)
        self._left: dict[int, int] = {}
        """By tag: the task's last header before another task took its turn."""

    def of(self, opcode: int, header: int) -> int:
        """The former header for this one, of which only the tag is looked at."""
        last = self.last[opcode]
        if opcode not in _OF_TASKS or not (header ^ last) & _TAG:
            return last
        own = self._left.get(header & _TAG, self._first[opcode])
        return (last & ~_OWN) | (own & _OWN)

    def note(self, opcode: int, header: int) -> None:
        """Note a header; to be called with each one once, in order."""
        last = self.last[opcode]
        header &= _BELOW_BYTE_0
        self.last[opcode] = header
        if (header ^ last) & _TAG and opcode in _OF_TASKS:
            self._take_turns(opcode, last, header)

    def restored(self, opcode: int, difference: int) -> int:
        """Compute the header that has this difference, and note it."""
        last = self.last[opcode]
        header = _plus(difference, last)
        if (header ^ last) & _TAG and opcode in _OF_TASKS:
            header = _plus(difference, self.of(opcode, header))
            self.note(opcode, header)
        else:
            self.last[opcode] = header & _BELOW_BYTE_0
        return header

    def _take_turns(self, opcode: int, last: int, header: int) -> None:
        if self._left.pop(header & _TAG, None) is None:
            self._first[opcode] = header
        if len(self._left) == TASKS:
            del self._left[next(iter(self._left))]
        self._left[last & _TAG] = last


class Predictor:
    """Predicts the records of one direction, before compression."""

    def __init__(self) -> None:
        self._former = _Former()
        self._known: dict[int, int] = {}
        self._places: list[int | None] = [None] * PLACES
        self._oldest = 0
        self._usual: list[tuple[int, ...]] = [(0,) * 12] * (OPCODE_MASK + 1)

    def predict(self, record: bytes) -> bytes:
        """What stands for this record in a section. To be called with each record once, in order."""
        if record[0] & NOT_A_PDU:
            return record
        header = int.from_bytes(record[:SHORTEST_PDU])
        opcode = record[HEADER_AT] & OPCODE_MASK
        headers = self._former
        former = headers.last[opcode]
        changed = header ^ former
        if changed & _TAG and opcode in _OF_TASKS:
            former = headers.of(opcode, header)
            changed = header ^ former
            headers.note(opcode, header)
        else:
            headers.last[opcode] = header & _BELOW_BYTE_0
        difference = ((header | _TOPS) - (former & _REST)) ^ (~changed & _TOPS)  # field by field
        place = self._known.get(difference)
        if place is None:
            return self._learn(difference, record[0], record[HEADER_AT]) + record[SHORTEST_PDU:]
        return _BYTE[place] + record[SHORTEST_PDU:]

    def _learn(self, difference: int, flags: int, first: int) -> bytes:
        oldest = self._places[self._oldest]
        if oldest is not None:
            del self._known[oldest]
        self._places[self._oldest] = difference
        self._known[difference] = self._oldest
        self._oldest = (self._oldest + 1) % PLACES
        words = _words(difference)
        usual = self._usual[first & OPCODE_MASK]
        self._usual[first & OPCODE_MASK] = words
        given = [at for at in range(12) if words[at] != usual[at]]
        mask = sum(1 << at for at in given)
        return _NEW_HEAD.pack(NEW | flags, first, mask) + b"".join(_told(words[at]) for at in given)


class Restorer:
    """The inverse of `Predictor`, after decompression."""

    def __init__(self) -> None:
        self._former = _Former()
        self._places: list[int | None] = [None] * PLACES
        self._oldest = 0
        self._usual: list[tuple[int, ...]] = [(0,) * 12] * (OPCODE_MASK + 1)

    def restore(self, section: bytes, most: int) -> list[bytes]:
        """The records of a section, which must be whole and come to `most` bytes at most.

        Each byte of the section may stand for 49. Raises RecordError for what no Predictor writes.
        """
        records: list[bytes] = []
        left = most
        at, end = 0, len(section)
        shape, rest = -1, 0
        while at < end:
            token = section[at]
            if token < PLACES:
                difference = self._places[token]
                if difference is None:
                    raise RecordError(f"place {token} is empty")
                at += 1
            elif token & ~PDU_FLAGS == NEW:
                difference, at = self._learn(section, at)
            else:
                rest = other_length(section, at)
                records.append(_cut(section, at, at + rest))
                left -= rest
                at += rest
                shape = -1
                continue
            header = self._former.restored(difference >> _OPCODE_AT & OPCODE_MASK, difference)
            record = header.to_bytes(SHORTEST_PDU)
            if header & _LENGTHS != shape:
                shape = header & _LENGTHS
                rest = pdu_length(record) - SHORTEST_PDU
            if rest:
                record += _cut(section, at, at + rest)
                at += rest
            records.append(record)
            left -= len(record)
            if left < 0:
                raise RecordError(f"a section of {end} bytes comes to more than {most} bytes of records")
        return records

    def _learn(self, section: bytes, at: int) -> tuple[int, int]:
        """The new difference that is encoded at `at`, and the offset behind it."""
        token, first, mask = _NEW_HEAD.unpack(_cut(section, at, at + _NEW_HEAD.size))
        if mask >= _MASK_LIMIT:
            raise RecordError(f"a header has 12 words; {mask:#06x} names more")
        at += _NEW_HEAD.size
        words = list(self._usual[first & OPCODE_MASK])
        for word in range(12):
            if mask >> word & 1:
                words[word], at = _word(section, at)
        if words[0] > _WORD_0:
            raise RecordError("byte 0 of a header is told twice")
        self._usual[first & OPCODE_MASK] = tuple(words)
        words[0] |= first << 24
        difference = int.from_bytes(_WHOLE.pack(token & PDU_FLAGS, *words))
        self._places[self._oldest] = difference
        self._oldest = (self._oldest + 1) % PLACES
        return difference, at


def _words(difference: int) -> tuple[int, ...]:
    """The twelve words of a header's difference, without byte 0."""
    first, *others = _WORDS.unpack(difference.to_bytes(SHORTEST_PDU))
    return first & _WORD_0, *others


def _told(word: int) -> bytes:
    raw = word.to_bytes(4)
    filled = raw.count(0xFF) > raw.count(0)
    left = word ^ _ALL if filled else word
    given = (left >> 24 and 8) | (left >> 16 & 0xFF and 4) | (left >> 8 & 0xFF and 2) | (left & 0xFF and 1)
    return _BYTE[given | _FILLED if filled else given] + raw.translate(None, b"\xff" if filled else b"\0")


def _word(section: bytes, at: int) -> tuple[int, int]:
    """The word that `_told` has encoded at `at`, and the offset behind it."""
    given = _cut(section, at, at + 1)[0]
    if given >= _FILLED << 1:
        raise RecordError(f"a word has four bytes; {given:#04x} names more")
    at += 1
    word = 0
    for bit in (8, 4, 2, 1):
        byte = 0xFF if given & _FILLED else 0
        if given & bit:
            byte = _cut(section, at, at + 1)[0]
            at += 1
        word = word << 8 | byte
    return word, at


def _cut(section: bytes, at: int, end: int) -> bytes:
    if end > len(section):
        raise RecordError(f"a section of {len(section)} bytes ends within a record")
    return section[at:end]
