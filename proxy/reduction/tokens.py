"""Tokens: the instructions of a batch (PROTOCOL.md, "Batches").

Each `*_token` function yields the bytes of one token; `parse` turns the bytes of all of them into tuples
`(opcode, n, offset, name)`, where `n` counts bytes (a RUN's: chunks) and `name` is a fingerprint or a LEARN's check.
"""

from collections.abc import Iterable
from struct import Struct

from dedupstore.fingerprint import CHECK_BYTES, FINGERPRINT_BYTES
from proxy.reduction.errors import BatchError

LITERAL = 1
"""varint n: the next n literal bytes are delivered."""
REFERENCE = 2
"""fingerprint: the whole chunk is delivered; a chunk border."""
LEARN = 3
"""varint n, check: the last n bytes delivered, the whole tail, form a chunk that both sides store."""
SLICE = 4
"""fingerprint, varint offset, varint n: n bytes of the chunk are delivered."""
MORE = 5
"""varint n: the next n bytes of the chunk that the last SLICE named are delivered."""
RUN = 6
"""varint n, name: behind a REFERENCE, the n chunks that the receiver's store holds behind that chunk are delivered. The
name is the fingerprint of their fingerprints."""

RUN_MIN = 2
"""Chunks of a RUN, at least: for one chunk a REFERENCE is no longer."""

Token = tuple[int, int, int, bytes]

_LITERAL = bytes((LITERAL,))
_REFERENCE = bytes((REFERENCE,))
_LEARN = bytes((LEARN,))
_SLICE = bytes((SLICE,))
_MORE = bytes((MORE,))
_RUN = bytes((RUN,))
_VARINT_LIMIT = 1 << 32
_PACKED = Struct("=BIIB")
_BYTE = [bytes((n,)) for n in range(256)]


def varint(value: int) -> bytes:
    """LEB128 in its shortest form."""
    out = b""
    while value >= 0x80:
        out += _BYTE[value & 0x7F | 0x80]
        value >>= 7
    return out + _BYTE[value]


def literal_token(n: int) -> bytes:
    """LITERAL of n bytes."""
    return _LITERAL + varint(n)


def reference_token(fingerprint: bytes) -> bytes:
    """REFERENCE to a chunk."""
    return _REFERENCE + fingerprint


def learn_token(n: int, fingerprint: bytes) -> bytes:
    """LEARN of the last n bytes, with the check taken from their fingerprint."""
    return _LEARN + varint(n) + fingerprint[:CHECK_BYTES]


def slice_token(fingerprint: bytes, offset: int, n: int) -> bytes:
    """SLICE of n bytes at an offset of a chunk."""
    return _SLICE + fingerprint + varint(offset) + varint(n)


def more_token(n: int) -> bytes:
    """MORE: n further bytes of the last SLICE's chunk."""
    return _MORE + varint(n)


def run_token(n: int, name: bytes) -> bytes:
    """RUN of n chunks."""
    return _RUN + varint(n) + name


def parse(data: memoryview | bytes) -> list[Token]:
    """All tokens; raises BatchError with the offset of what is wrong."""
    raw = bytes(data)
    tokens: list[Token] = []
    at, end = 0, len(raw)
    while at < end:
        start, opcode = at, raw[at]
        at += 1
        if not LITERAL <= opcode <= RUN:
            raise BatchError(f"unknown token {opcode} at offset {start}")
        n = offset = 0
        name = b""
        if opcode in (REFERENCE, SLICE):
            name, at = _take(raw, at, FINGERPRINT_BYTES)
        if opcode == SLICE:
            offset, at = read_varint(raw, at)
        if opcode != REFERENCE:
            n, at = read_varint(raw, at)
            if n == 0:
                raise BatchError(f"token {opcode} at offset {start} counts no bytes")
        if opcode == LEARN:
            name, at = _take(raw, at, CHECK_BYTES)
        elif opcode == RUN:
            name, at = _take(raw, at, FINGERPRINT_BYTES)
            if n < RUN_MIN or not tokens or tokens[-1][0] != REFERENCE:
                raise BatchError(f"RUN of {n} chunks at offset {start} is too short, or behind no REFERENCE")
        tokens.append((opcode, n, offset, name))
    return tokens


def pack(tokens: Iterable[Token]) -> bytes:
    """Parsed tokens, in a tenth of their memory."""
    return b"".join([_PACKED.pack(opcode, n, offset, len(name)) + name for opcode, n, offset, name in tokens])


def unpack(packed: bytes) -> list[Token]:
    """The inverse of `pack`."""
    tokens: list[Token] = []
    at = 0
    while at < len(packed):
        opcode, n, offset, length = _PACKED.unpack_from(packed, at)
        end = at + _PACKED.size + length
        tokens.append((opcode, n, offset, packed[end - length : end]))
        at = end
    return tokens


def _take(raw: bytes, at: int, n: int) -> tuple[bytes, int]:
    if at + n > len(raw):
        raise BatchError(f"token cut short at offset {at}")
    return raw[at : at + n], at + n


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins at that offset, and the offset behind it. Raises BatchError."""
    value = shift = 0
    for byte in raw[at : at + 5]:
        if byte < 0x80:
            value |= byte << shift
            if value >= _VARINT_LIMIT or (byte == 0 and shift):
                raise BatchError(f"varint out of range or not in shortest form at offset {at}")
            return value, at + shift // 7 + 1
        value |= (byte & 0x7F) << shift
        shift += 7
    raise BatchError(f"varint cut short or too long at offset {at}")
