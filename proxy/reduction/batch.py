"""A batch's outer form: header, tokens, literals (PROTOCOL.md, "Batches")."""

import struct
from dataclasses import dataclass

from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import LITERAL, Token, parse

BATCH_PLAIN_MAX = 512 << 10
"""Plain bytes that one batch may deliver."""

CODEC_NONE = 0
CODEC_ZSTD = 1
CODEC_CONTEXT = 2

_HEADER = struct.Struct(">III")
HEADER_BYTES = _HEADER.size


@dataclass(slots=True)
class ReceivedBatch:
    """A batch whose lengths agree with each other; the literals are still in their codec."""

    plain: int
    codec: int
    tokens: list[Token]
    literal_length: int
    literals: memoryview | bytes


def length_bound(plain: int) -> int:
    """The most bytes that a batch of that plain length may have."""
    return plain + overhead_bound(plain)


def overhead_bound(plain: int) -> int:
    """The most bytes that header and tokens may have. Tokens take more memory than bytes, so they have their own bound.

    Our encoder stays below: its chunks have at least 256 bytes, and their tokens at most 33.
    """
    return plain // 8 + 256


def assemble(plain: int, codec: int, tokens: bytes, literal_length: int, literals: bytes) -> bytes:
    """A batch in the form in which it travels."""
    return b"".join((_HEADER.pack(plain, codec << 24 | len(tokens), literal_length), tokens, literals))


def dissect(data: memoryview) -> ReceivedBatch:
    """Check a batch's lengths and parse its tokens, before anything is decoded. Raises BatchError."""
    if len(data) < HEADER_BYTES:
        raise BatchError(f"batch of {len(data)} bytes has no header")
    plain, packed, literal_length = _HEADER.unpack_from(data)
    codec, token_length = packed >> 24, packed & 0xFFFFFF
    if not 1 <= plain <= BATCH_PLAIN_MAX:
        raise BatchError(f"batch delivers {plain} bytes, allowed are 1 to {BATCH_PLAIN_MAX}")
    if len(data) > length_bound(plain):
        raise BatchError(f"batch of {len(data)} bytes for {plain} plain ones is too long")
    if literal_length > plain:
        raise BatchError(f"{literal_length} literal bytes in a batch of {plain}")
    if HEADER_BYTES + token_length > min(len(data), overhead_bound(plain)):
        raise BatchError(f"tokens of {token_length} bytes are too long for a batch of {len(data)}, {plain} plain ones")
    tokens = parse(data[HEADER_BYTES : HEADER_BYTES + token_length])
    if sum(token[1] for token in tokens if token[0] == LITERAL) != literal_length:
        raise BatchError(f"LITERAL tokens do not sum up to {literal_length} bytes")
    return ReceivedBatch(plain, codec, tokens, literal_length, data[HEADER_BYTES + token_length :])
