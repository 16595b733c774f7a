"""Frames on a lane: the header, how long each type may be, and the reader that cuts bytes into frames."""

from struct import Struct
from typing import NamedTuple

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import Misuse, PeerError, describe

Buffer = bytes | bytearray | memoryview

HEADER_BYTES = 16
PAYLOAD_MAX = 1 << 20
REASON_MAX = 512
NAME_MAX = 255
HELLO_MAX = 4096
FINGERPRINT_BYTES = 32
MISS_MAX = 1024
CHUNK_MAX = 256 << 10
PLAIN_MAX = 512 << 10
"""Plain bytes of one batch."""
BATCH_MAX = PLAIN_MAX + PLAIN_MAX // 8 + 256
END_TOKENS_MAX = 1024
"""Bytes of tokens in END, though it has one LEARN at most, of fourteen bytes."""
MARK_MAX = 63
"""DSCP marks have six bits (RFC 2474, section 3)."""
OFFERED_MIN = 64 << 10
"""Bytes that a reader offers for one read, at least."""
_CAPACITY = HEADER_BYTES + PAYLOAD_MAX + OFFERED_MIN
"""Bytes of a reader's buffer, at most: the longest frame, and room for one more read."""

_HEADER = Struct(">IIQ")
_FILL_FIELDS = FINGERPRINT_BYTES + 1 + 4
FILL_MAX = _FILL_FIELDS + CHUNK_MAX + CHUNK_MAX // 8 + 256

_LONGEST: dict[int, int] = {
    FrameType.HELLO: HELLO_MAX,
    FrameType.CLOSE: 2 + REASON_MAX,
    FrameType.PING: 8,
    FrameType.PONG: 8,
    FrameType.ACK: PAYLOAD_MAX,
    FrameType.CREDIT: PAYLOAD_MAX,
    FrameType.DRAIN: REASON_MAX,
    FrameType.LANES: 2 * (MARK_MAX + 1),
    FrameType.STORE: 8,
    FrameType.OPEN: 2 + 2 * NAME_MAX,
    FrameType.ACCEPT: 0,
    FrameType.DATA: BATCH_MAX,
    FrameType.END: 8 + END_TOKENS_MAX,
    FrameType.RESET: 2 + REASON_MAX,
    FrameType.MISS: MISS_MAX * FINGERPRINT_BYTES,
    FrameType.FILL: FILL_MAX,
    FrameType.WAIVE: 8,
}
_LIMITS = [_LONGEST.get(kind, -1) for kind in range(256)]
"""Longest payload by type; -1 for unknown types, so that no length is within it."""
_FIRST_LIMITS = [_LONGEST[kind] if kind in (FrameType.HELLO, FrameType.CLOSE) else -1 for kind in range(256)]
"""The same as long as only HELLO and CLOSE may come on a lane."""


class Frame(NamedTuple):
    """One frame as it came. The payload of a reader's frame is valid until the reader's next `get_buffer`."""

    type: int
    stream: int
    number: int
    payload: Buffer


def expect_of_tunnel(frame: Frame) -> None:
    """Raise PeerError if the frame, whose type is of the tunnel, names a stream or has a number."""
    if frame.stream or frame.number:
        raise PeerError.of(frame, "it belongs to no stream and has no number")


def header(kind: int, length: int, stream: int, number: int) -> bytes:
    """The sixteen bytes before a payload of that length."""
    return _HEADER.pack(kind << 24 | length, stream, number)


def encode(kind: int, stream: int, number: int, *parts: Buffer) -> bytes:
    """A whole frame in one piece. Raises Misuse if it is longer than its type may be."""
    length = sum(map(len, parts))
    if length > _LIMITS[kind]:
        raise Misuse(f"{describe(kind, stream, number)} of {length} bytes is longer than {_LIMITS[kind]}")
    return b"".join((_HEADER.pack(kind << 24 | length, stream, number), *parts))


class FrameReader:
    """Cuts the bytes of one lane into frames.

    Fill what `get_buffer` gives, say `received`, then call `next_frame` until it gives None.

    The buffer starts small, because what stays in the processor's cache is fast, and grows to the longest frame that
    came, at most to what the longest frame of any type needs.
    """

    def __init__(self) -> None:
        self._limits = _FIRST_LIMITS  # until `go_on`: before HELLO nobody gets room for more than that or CLOSE
        self._view = memoryview(bytearray(4 * OFFERED_MIN))
        self._start = 0
        self._end = 0

    def get_buffer(self) -> memoryview:
        """Where to write what the lane brings: at least 64 KiB, if all frames have been taken.

        Payloads that were given out are no longer valid.
        """
        wanted = OFFERED_MIN
        if self._start == self._end:
            self._start = self._end = 0
        else:
            wanted = max(self._missing(), wanted)
        if len(self._view) - self._end < wanted:
            self._make_room(wanted)
        return self._view[self._end :]

    def received(self, n: int) -> None:
        """The first `n` bytes of the last `get_buffer` have been written. Raises Misuse if it is shorter than that."""
        if not 0 <= n <= len(self._view) - self._end:
            raise Misuse(f"{n} bytes cannot have been read into {len(self._view) - self._end}")
        self._end += n

    def go_on(self) -> None:
        """HELLO has come: from now on any frame may come."""
        self._limits = _LIMITS

    def next_frame(self) -> Frame | None:
        """The next whole frame; None until more bytes have come.

        Raises PeerError for an unknown type, for a length that its type cannot have, and for what may not come first,
        as soon as the header has come; the reader gets no further than that frame.
        """
        body = self._start + HEADER_BYTES
        if body > self._end:
            return None
        word, stream, number = _HEADER.unpack_from(self._view, self._start)
        kind, length = word >> 24, word & 0xFFFFFF
        if length > self._limits[kind]:
            raise _refuse(kind, stream, number, length)
        end = body + length
        if end > self._end:
            return None
        self._start = end
        return Frame(kind, stream, number, self._view[body:end])

    def _missing(self) -> int:
        """Bytes that the frame at the front still lacks, if its header is there and will not be refused."""
        if self._end - self._start < HEADER_BYTES:
            return 0
        word, _, _ = _HEADER.unpack_from(self._view, self._start)
        kind, length = word >> 24, word & 0xFFFFFF
        return 0 if length > self._limits[kind] else max(0, HEADER_BYTES + int(length) - (self._end - self._start))

    def _make_room(self, wanted: int) -> None:
        kept = self._view[self._start : self._end]
        size = min(len(kept) + wanted, _CAPACITY)
        target = self._view if size <= len(self._view) else memoryview(bytearray(min(2 * size, _CAPACITY)))
        target[: len(kept)] = kept
        self._view, self._start, self._end = target, 0, len(kept)


def _refuse(kind: int, stream: int, number: int, length: int) -> PeerError:
    name = describe(kind, stream, number)
    if _LIMITS[kind] < 0:
        return PeerError(name, "no such type")
    if length <= _LIMITS[kind]:
        return PeerError(name, "comes before HELLO")
    return PeerError(name, f"a length of {length} bytes, but at most {_LIMITS[kind]} are allowed")
