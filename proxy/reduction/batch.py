"""A batch's outer form: header, records, tokens, literals (PROTOCOL.md, "Batches" and "Spans")."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from dedupstore.fingerprint import FINGERPRINT_BYTES
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import LITERAL, RUN, Token, parse, read_varint, varint

BATCH_PLAIN_MAX = 512 << 10
"""Plain bytes that one batch may deliver."""

RECORDS_MAX = 128 << 10
"""Bytes of records in one batch, at most: few bytes on the line may stand for many records, and each takes time. Our
encoder writes fewer: as many as call for a batch, then one record more and what one read brings."""

CODEC_NONE = 0
CODEC_ZSTD = 1
CODEC_CONTEXT = 2

_HEADER = struct.Struct(">III")
HEADER_BYTES = _HEADER.size


_CODEC_BITS = 4
"""How many low bits of the codec's byte are the literals' codec. The high bits are 0 without records, otherwise 1 more
than the records' codec."""


class Section(NamedTuple):
    """The records of a batch, predicted and coded."""

    records: int
    """Bytes of the records themselves; 0: there are none, and the batch has no section."""
    codec: int
    length: int
    """Bytes that `coded` has when decoded."""
    coded: bytes | memoryview


NO_SECTION = Section(0, CODEC_NONE, 0, b"")
_SECTION_HEAD_MAX = 15
"""Bytes of the three varints that a section begins with, at most."""


@dataclass(slots=True)
class ReceivedBatch:
    """A batch whose lengths agree with each other; literals and records are still in their codecs."""

    plain: int
    """Bytes that the tokens deliver."""
    section: Section
    codec: int
    tokens: list[Token]
    literal_length: int
    literals: memoryview | bytes


def length_bound(plain: int) -> int:
    """The most bytes that a batch of that plain length may have."""
    return plain + overhead_bound(plain)


def overhead_bound(plain: int) -> int:
    """The most bytes that header, tokens and the lists of RUNs may have together: parsed, tokens take more memory.

    Our encoder stays below: its chunks have at least 512 bytes (`chunking.minimum` is 1 KiB or more, and forced borders
    are at least 512 bytes apart), and each chunk takes at most 44: if a REFERENCE and a RUN with its list name three.
    """
    return plain // 8 + 256


def assemble(
    plain: int, codec: int, tokens: bytes, literal_length: int, literals: Iterable[bytes], section: Section = NO_SECTION
) -> bytes:
    """A batch as it is sent. `plain`: bytes that its tokens deliver; `literals`: in pieces, encoded."""
    if not section.records:
        return b"".join((_HEADER.pack(plain, codec << 24 | len(tokens), literal_length), tokens, *literals))
    codecs = codec | (section.codec + 1) << _CODEC_BITS
    head = _HEADER.pack(plain + section.records, codecs << 24 | len(tokens), literal_length)
    lengths = varint(section.records) + varint(section.length) + varint(len(section.coded))
    return b"".join((head, lengths, section.coded, tokens, *literals))


def token_bytes(data: bytes) -> int:
    """Bytes of tokens that a batch's header declares, unchecked; 0 if it has no whole header."""
    return _HEADER.unpack_from(data)[1] & 0xFFFFFF if len(data) >= HEADER_BYTES else 0


def dissect(data: memoryview) -> ReceivedBatch:
    """Check a batch's lengths and parse its tokens, before anything is decoded. Raises BatchError."""
    size = len(data)
    if size < HEADER_BYTES:
        raise BatchError(f"batch of {size} bytes has no header")
    plain, packed, literal_length = _HEADER.unpack_from(data)
    codec, token_length = packed >> 24, packed & 0xFFFFFF
    if not 1 <= plain <= BATCH_PLAIN_MAX:
        raise BatchError(f"batch delivers {plain} bytes, allowed are 1 to {BATCH_PLAIN_MAX}")
    if size > length_bound(plain):
        raise BatchError(f"batch of {size} bytes for {plain} plain ones is too long")
    section, at = NO_SECTION, HEADER_BYTES
    if codec >> _CODEC_BITS:
        section, at = _section(data, codec >> _CODEC_BITS, plain)
        plain -= section.records
        codec &= (1 << _CODEC_BITS) - 1
    if literal_length > plain:
        raise BatchError(f"{literal_length} literal bytes in a batch of {plain}")
    bound = overhead_bound(plain)
    if at + token_length > size or HEADER_BYTES + token_length > bound:
        raise BatchError(f"tokens of {token_length} bytes are too long for a batch of {size}, {plain} plain ones")
    tokens = parse(data[at : at + token_length])
    literals, chunks = _counts(tokens)
    if literals != literal_length:
        raise BatchError(f"LITERAL tokens do not sum up to {literal_length} bytes")
    if HEADER_BYTES + token_length + chunks * FINGERPRINT_BYTES > bound:
        raise BatchError(f"RUNs of {chunks} chunks in a batch of {plain} plain bytes")
    return ReceivedBatch(plain, section, codec, tokens, literal_length, data[at + token_length :])


def _counts(tokens: list[Token]) -> tuple[int, int]:
    """How many bytes all LITERALs deliver, and how many chunks all RUNs."""
    literals = chunks = 0
    for opcode, n, _, _ in tokens:
        if opcode == LITERAL:
            literals += n
        elif opcode == RUN:
            chunks += n
    return literals, chunks


def _section(data: memoryview, codec: int, plain: int) -> tuple[Section, int]:
    """The section of records, and the offset in the batch at which it ends."""
    head = bytes(data[HEADER_BYTES : HEADER_BYTES + _SECTION_HEAD_MAX])
    records, at = read_varint(head, 0)
    length, at = read_varint(head, at)
    coded, at = read_varint(head, at)
    at += HEADER_BYTES
    if not 1 <= records <= min(plain, RECORDS_MAX):
        raise BatchError(f"{records} bytes of records in a batch of {plain}; {RECORDS_MAX} are the most")
    if not 1 <= length <= 2 * records:
        raise BatchError(f"{length} bytes stand for {records} bytes of records")
    if not coded or at + coded > len(data):
        raise BatchError(f"a section of {coded} bytes in a batch of {len(data)}")
    return Section(records, codec - 1, length, data[at : at + coded]), at + coded
