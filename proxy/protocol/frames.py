"""The layout of each frame's payload, except for HELLO (`hello`) and the batch in DATA (`proxy.reduction`).

Every `decode_*` takes the payload as it came and raises PeerError, naming the type, if it is not exactly what
PROTOCOL.md says. Texts come back fit for a log line.
"""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import TypeVar

from proxy.protocol.codes import CloseCode, ResetCode
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.reader import (
    CHUNK_MAX,
    FINGERPRINT_BYTES,
    MARK_MAX,
    MISS_MAX,
    NAME_MAX,
    PLAIN_MAX,
    REASON_MAX,
    Buffer,
)
from proxy.text import printable

OVER = (1 << 64) - 1
"""In ACK: the stream is over."""
NUMBER_MAX = (1 << 32) - 1
"""The highest number of a stream."""
BATCH_MIN = 12
"""Bytes of a batch's own header."""
LANES_MAX = 128
"""Lanes that a tunnel may have, so that a hostile peer's lanes cost bounded memory."""
WISHES_MAX = LANES_MAX // 2
"""Lanes that one side may wish for, so that the wishes of both sides fit into LANES_MAX."""

_Code = TypeVar("_Code", CloseCode, ResetCode)

_U16 = Struct(">H")
_U32 = Struct(">I")
_U64 = Struct(">Q")
_ACK = Struct(">IQ")
_CREDIT = Struct(">IQQ")
_FILL = Struct(">32sBI")


# -- parts of payloads -----------------------------------------------------------------------------------------------


def encode_text(text: str, longest: int) -> bytes:
    """UTF-8, cut at a character's border if it is too long."""
    return text.encode(errors="replace")[:longest].decode(errors="ignore").encode()


def decode_text(name: str, data: Buffer) -> str:
    """UTF-8, made fit for a log line. Raises PeerError that names the frame."""
    try:
        return printable(str(data, "utf-8"))
    except UnicodeDecodeError as error:
        raise PeerError(name, f"text is not UTF-8 ({error.reason} at byte {error.start})") from None


def _expect(name: str, condition: bool, reason: str) -> None:
    if not condition:
        raise PeerError(name, reason)


def _decode_u64(name: str, payload: Buffer) -> int:
    _expect(name, len(payload) == 8, f"{len(payload)} bytes instead of 8")
    return int(_U64.unpack(payload)[0])


def _decode_why(name: str, payload: Buffer, codes: type[_Code]) -> tuple[_Code, str]:
    """A code, which has to be one of `codes`, and a reason."""
    _expect(name, len(payload) >= 2, "it has no code")
    (number,) = _U16.unpack_from(payload)
    try:
        code = codes(number)
    except ValueError:
        raise PeerError(name, f"unknown code {number}") from None
    return code, decode_text(name, payload[2:])


# -- frames of the tunnel --------------------------------------------------------------------------------------------


def encode_close(code: CloseCode, reason: str) -> bytes:
    """CLOSE."""
    return _U16.pack(code) + encode_text(reason, REASON_MAX)


def decode_close(payload: Buffer) -> tuple[CloseCode, str]:
    """CLOSE: code and reason."""
    return _decode_why("CLOSE", payload, CloseCode)


def encode_token(token: int) -> bytes:
    """PING and PONG."""
    return _U64.pack(token)


def decode_token(name: str, payload: Buffer) -> int:
    """PING and PONG: the token."""
    return _decode_u64(name, payload)


def encode_ack(entries: Iterable[tuple[int, int]]) -> bytes:
    """ACK of (stream, next) pairs."""
    return b"".join([_ACK.pack(*entry) for entry in entries])


def decode_ack(payload: Buffer) -> Iterator[tuple[int, int]]:
    """ACK: (stream, next) pairs; there may be none."""
    _expect("ACK", len(payload) % _ACK.size == 0, f"{len(payload)} bytes are no whole entries")
    return _ACK.iter_unpack(payload)


def encode_credit(entries: Iterable[tuple[int, int, int]]) -> bytes:
    """CREDIT of (stream, consumed, limit) triples."""
    return b"".join([_CREDIT.pack(*entry) for entry in entries])


def decode_credit(payload: Buffer) -> Iterator[tuple[int, int, int]]:
    """CREDIT: (stream, consumed, limit) triples; there may be none."""
    _expect("CREDIT", len(payload) % _CREDIT.size == 0, f"{len(payload)} bytes are no whole entries")
    return _CREDIT.iter_unpack(payload)


def encode_drain(reason: str) -> bytes:
    """DRAIN."""
    return encode_text(reason, REASON_MAX)


def decode_drain(payload: Buffer) -> str:
    """DRAIN: the reason."""
    return decode_text("DRAIN", payload)


def encode_lanes(counts: Mapping[int, int]) -> bytes:
    """LANES: how many lanes of each mark. Raises Misuse for what the peer would refuse."""
    payload = b"".join([bytes(entry) for entry in sorted(counts.items())])
    try:
        decode_lanes(payload)
    except PeerError as error:
        raise Misuse(str(error)) from None
    return payload


def decode_lanes(payload: Buffer) -> dict[int, int]:
    """LANES: how many lanes of each mark, 1 or more, and WISHES_MAX together at most."""
    _expect("LANES", len(payload) % 2 == 0, f"{len(payload)} bytes are no whole entries")
    counts = dict(zip(payload[::2], payload[1::2], strict=True))
    _expect("LANES", len(counts) * 2 == len(payload), "a mark comes twice")
    _expect("LANES", all(mark <= MARK_MAX for mark in counts), f"marks are 0 to {MARK_MAX}")
    _expect("LANES", 0 not in counts.values(), "it wishes for no lanes of a mark")
    _expect("LANES", sum(counts.values()) <= WISHES_MAX, f"it wishes for more than {WISHES_MAX} lanes")
    return counts


def encode_store(rate: int) -> bytes:
    """STORE: how many plain bytes a second our store gives of what is referred to."""
    return _U64.pack(rate)


def decode_store(payload: Buffer) -> int:
    """STORE: plain bytes a second; 0: the store holds nobody up."""
    return _decode_u64("STORE", payload)


# -- frames of a stream ----------------------------------------------------------------------------------------------


def encode_open(export: str, origin: str) -> bytes:
    """OPEN. Raises Misuse if the export's name is empty or too long; the origin is cut."""
    name, where = export.encode(), encode_text(origin, NAME_MAX)
    if not 1 <= len(name) <= NAME_MAX:
        raise Misuse(f"the name of an export has 1 to {NAME_MAX} bytes of UTF-8, {export!r} has {len(name)}")
    return b"".join((bytes((len(name),)), name, bytes((len(where),)), where))


def decode_open(payload: Buffer) -> tuple[str, str]:
    """OPEN: export and origin."""
    name_end = 1 + payload[0] if len(payload) else 0
    _expect("OPEN", 2 <= name_end < len(payload), "the export's name is empty or reaches beyond the end")
    _expect("OPEN", name_end + 1 + payload[name_end] == len(payload), "the origin does not reach to the end")
    return decode_text("OPEN", payload[1:name_end]), decode_text("OPEN", payload[name_end + 1 :])


def decode_accept(payload: Buffer) -> None:
    """ACCEPT: nothing."""
    _expect("ACCEPT", len(payload) == 0, "it has a payload")


def decode_data(payload: Buffer) -> int:
    """DATA: the plain length of the batch. Checks it and the batch's size, and looks at nothing else."""
    size = len(payload)
    if size < BATCH_MIN:
        raise PeerError("DATA", f"{size} bytes are no batch")
    plain: int = _U32.unpack_from(payload)[0]
    if not 1 <= plain <= PLAIN_MAX:
        raise PeerError("DATA", f"a plain length of {plain} bytes, but 1 to {PLAIN_MAX} are allowed")
    if size > plain + plain // 8 + 256:
        raise PeerError("DATA", f"a batch of {size} bytes for a plain length of {plain}")
    return plain


def encode_end(total: int, tokens: Buffer) -> bytes:
    """END."""
    return _U64.pack(total) + tokens


def decode_end(payload: Buffer) -> tuple[int, bytes]:
    """END: total of plain bytes, tokens."""
    _expect("END", len(payload) >= 8, "it has no total")
    (total,) = _U64.unpack_from(payload)
    return int(total), bytes(payload[8:])


def encode_reset(code: ResetCode, reason: str) -> bytes:
    """RESET."""
    return _U16.pack(code) + encode_text(reason, REASON_MAX)


def decode_reset(payload: Buffer) -> tuple[ResetCode, str]:
    """RESET: code and reason."""
    return _decode_why("RESET", payload, ResetCode)


def encode_miss(fingerprints: Iterable[bytes]) -> bytes:
    """MISS of 1 to 1024 fingerprints. Raises Misuse for any other number or length."""
    names = list(fingerprints)
    if not 1 <= len(names) <= MISS_MAX or any(len(name) != FINGERPRINT_BYTES for name in names):
        raise Misuse(f"MISS holds 1 to {MISS_MAX} fingerprints of {FINGERPRINT_BYTES} bytes, not these {len(names)}")
    return b"".join(names)


def decode_miss(payload: Buffer) -> tuple[bytes, ...]:
    """MISS: the fingerprints."""
    count, rest = divmod(len(payload), FINGERPRINT_BYTES)
    _expect("MISS", rest == 0 and 1 <= count <= MISS_MAX, f"{len(payload)} bytes are not 1 to {MISS_MAX} fingerprints")
    data = bytes(payload)
    return tuple(data[at : at + FINGERPRINT_BYTES] for at in range(0, len(data), FINGERPRINT_BYTES))


def encode_fill(fingerprint: bytes, codec: int, size: int, data: Buffer) -> bytes:
    """FILL. Raises Misuse for what the peer would refuse."""
    if len(fingerprint) != FINGERPRINT_BYTES:
        raise Misuse(f"a fingerprint has {FINGERPRINT_BYTES} bytes, not {len(fingerprint)}")
    payload = _FILL.pack(fingerprint, codec, size) + data
    try:
        decode_fill(payload)
    except PeerError as error:
        raise Misuse(str(error)) from None
    return payload


def decode_fill(payload: Buffer) -> tuple[bytes, int, int, bytes]:
    """FILL: fingerprint (or a run's name), codec, size when decoded (0: gone), data in that codec."""
    _expect("FILL", len(payload) >= _FILL.size, f"{len(payload)} bytes have no room for its fields")
    fingerprint, codec, size = _FILL.unpack_from(payload)
    data = bytes(payload[_FILL.size :])
    _expect("FILL", codec in (0, 1), f"unknown codec {codec}")
    _expect("FILL", size <= CHUNK_MAX, f"a chunk of {size} bytes, but at most {CHUNK_MAX} are allowed")
    _expect("FILL", len(data) == size if codec == 0 else size > 0, f"{len(data)} bytes of data for a size of {size}")
    _expect("FILL", len(data) <= size + size // 8 + 256, f"{len(data)} bytes of data for a size of {size}")
    return fingerprint, codec, size, data


def encode_waive(amount: int) -> bytes:
    """WAIVE of so much credit, 1 or more."""
    return _U64.pack(amount)


def decode_waive(payload: Buffer) -> int:
    """WAIVE: the amount."""
    amount = _decode_u64("WAIVE", payload)
    _expect("WAIVE", amount > 0, "it waives nothing")
    return amount
