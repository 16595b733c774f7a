"""How literal bytes travel: one zstd frame, or as they are when that gains nothing.

Decompression is bounded before it starts. python-zstandard's one-shot `decompress` trusts the size that a frame
declares and by default ignores what follows the frame, so both are checked here (RFC 8878, section 3.1.1).
"""

from collections.abc import Callable
from typing import Protocol

import zstandard

from proxy.reduction.batch import CODEC_NONE, CODEC_ZSTD
from proxy.reduction.errors import BatchError

WINDOW_MAX = 8 << 20
"""Largest zstd window accepted: what a decoder must be ready to hold."""

_WORTH_TRYING = 64
_GAIN = 0.97
_SHORTEST_REST = 2
_LONGEST_REST = 32
"""Batches."""


class Compression(Protocol):
    """One stream's way to compress its batches."""

    def encode(self, literals: bytes) -> tuple[int, bytes]:
        """Codec and encoded bytes, of a batch that will be sent: what comes later may build on it."""


class Compressor:
    """Compresses one stream's batches; rests for a growing number of batches while nothing is gained."""

    def __init__(self, compress: Callable[[bytes], bytes] | None) -> None:
        """`compress` yields one zstd frame that declares its content size; None: never compress."""
        self._compress = compress
        self._rest = 0  # batches that go as they are
        self._next_rest = _SHORTEST_REST

    @property
    def resting(self) -> bool:
        """True while the data has been found not to compress."""
        return self._rest > 0

    def encode(self, literals: bytes) -> tuple[int, bytes]:
        """Codec and encoded bytes, never longer than the literals."""
        if self._compress is None or len(literals) < _WORTH_TRYING:
            return CODEC_NONE, literals
        if self._rest:
            self._rest -= 1
            return CODEC_NONE, literals
        encoded = self._compress(literals)
        if len(encoded) < len(literals) * _GAIN:
            self._next_rest = _SHORTEST_REST
            return CODEC_ZSTD, encoded
        self._rest, self._next_rest = self._next_rest, min(2 * self._next_rest, _LONGEST_REST)
        return CODEC_NONE, literals


def zstd(level: int) -> Callable[[bytes], bytes]:
    """A one-frame compressor; one may serve all streams of a loop."""
    return zstandard.ZstdCompressor(level=level, write_content_size=True).compress


_decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW_MAX)


def decode(codec: int, data: memoryview | bytes, length: int) -> memoryview | bytes:
    """Exactly `length` bytes, or BatchError; allocates no more than that."""
    if codec == CODEC_NONE:
        if len(data) != length:
            raise BatchError(f"{len(data)} literal bytes where {length} are declared")
        return data
    if codec != CODEC_ZSTD:
        raise BatchError(f"unknown codec {codec}")
    if not length:  # python-zstandard would not look at what follows
        raise BatchError("a zstd frame where there is nothing to decode")
    try:
        frame = zstandard.get_frame_parameters(data)
        if frame.content_size != length or frame.window_size > WINDOW_MAX or frame.dict_id:
            raise BatchError(f"zstd frame declares {frame.content_size} bytes where {length} are expected")
        decoded = _decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BatchError(f"zstd frame cannot be decoded: {error}") from None
    if len(decoded) != length:
        raise BatchError(f"zstd frame yields {len(decoded)} bytes where {length} are declared")
    return decoded
