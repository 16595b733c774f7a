"""Codecs 0 and 1: a batch's literals as they are, or compressed as one zstd frame if that gains anything.

Decompression is bounded before it starts. python-zstandard's one-shot `decompress` trusts the size that a frame
declares and by default ignores what follows the frame, so both are checked here (RFC 8878, section 3.1.1).
"""

from collections.abc import Callable, Sequence
from time import thread_time
from typing import Protocol

import zstandard

from proxy.reduction.batch import CODEC_NONE, CODEC_ZSTD
from proxy.reduction.errors import BatchError

WINDOW_MAX = 8 << 20
"""Largest zstd window accepted: what a decoder must be ready to hold."""

WORTH_TRYING = 64
"""Fewer bytes than this go as they are."""

GAIN = 0.97
"""Compression is worth it if it leaves less than this share of the bytes."""
_TELLING_BYTES = 2048
"""A batch with fewer bytes of literals does not show that data does not compress."""
_SHORTEST_REST = 2
_LONGEST_REST = 32
"""Batches that are not tried after one that gained nothing: at first, and after many in a row."""
_RATIO_BATCHES = 8
"""Batches over which the ratio is averaged."""


class Compression(Protocol):
    """One stream's way to compress its batches."""

    seconds: float
    """CPU seconds spent on compression so far."""
    spared: int
    """Literal bytes sent as they are so far because the line is faster than compression."""

    @property
    def in_words(self) -> str:
        """What compression does at the moment, as shown to operators."""

    @property
    def ratio(self) -> float:
        """Encoded bytes divided by literal bytes, over the last few batches; 1 while nothing is gained."""

    def close(self) -> None:
        """The stream is over: release all that is held for it."""

    def encode(self, literals: Sequence[bytes], length: int) -> tuple[int, Sequence[bytes]]:
        """Return codec and encoded bytes. The batch has to be sent: later ones may refer to it.

        Both are in pieces, so that what is sent as it is need not be joined. `length`: bytes of all literals.
        """


class Backoff:
    """Exponential backoff: while data does not compress, ever more batches are sent as they are without a try."""

    def __init__(self) -> None:
        self.ratio = 1.0
        """See `Compression.ratio`."""
        self._left = 0
        self._next = _SHORTEST_REST

    @property
    def resting(self) -> bool:
        """True if the next batch is to be sent as it is."""
        return self._left > 0

    def passes(self) -> bool:
        """Count the next batch; returns True if it is to be sent as it is."""
        if not self._left:
            return False
        self._left -= 1
        return True

    def gains(self, length: int, encoded: int) -> bool:
        """Whether compressing a batch was worth it (GAIN). If not, the next batches rest, unless this one was short."""
        if encoded < length * GAIN:
            self._next = _SHORTEST_REST
            self.ratio += (encoded / length - self.ratio) / _RATIO_BATCHES
            return True
        if length >= _TELLING_BYTES:
            self.ratio = 1.0
            self._left, self._next = self._next, min(2 * self._next, _LONGEST_REST)
        return False


class Compressor:
    """Compresses one stream's batches, always in the same way."""

    def __init__(self, compress: Callable[[bytes], bytes] | None, name: str = "none") -> None:
        """`compress` yields one zstd frame that declares its content size; None: never compress."""
        self.seconds = 0.0
        self.spared = 0
        self._compress = compress
        self._name = name
        self._backoff = Backoff()

    @property
    def ratio(self) -> float:
        """Encoded bytes divided by literal bytes, over the last few batches; 1 while nothing is gained."""
        return self._backoff.ratio

    @property
    def in_words(self) -> str:
        """The name given to it, or "none" while batches are not tried because the data did not compress."""
        return "none" if self._backoff.resting else self._name

    def close(self) -> None:
        """The stream is over: nothing is held."""

    def encode(self, literals: Sequence[bytes], length: int) -> tuple[int, Sequence[bytes]]:
        """Codec and encoded bytes, never longer than the literals."""
        if self._compress is None or length < WORTH_TRYING or self._backoff.passes():
            return CODEC_NONE, literals
        begun = thread_time()
        encoded = self._compress(b"".join(literals))
        self.seconds += thread_time() - begun
        if self._backoff.gains(length, len(encoded)):
            return CODEC_ZSTD, (encoded,)
        return CODEC_NONE, literals


def zstd(level: int) -> Callable[[bytes], bytes]:
    """A function that compresses bytes into one frame; it may serve all streams of a loop."""
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
            raise BatchError(_fault(frame, length))
        decoded = _decompressor.decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BatchError(f"zstd frame cannot be decoded: {error}") from None
    if len(decoded) != length:
        raise BatchError(f"zstd frame yields {len(decoded)} bytes where {length} are declared")
    return decoded


def _fault(frame: zstandard.FrameParameters, length: int) -> str:
    """Why a frame with this header is refused."""
    if frame.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        return f"zstd frame does not declare its size where {length} bytes are expected"
    if frame.content_size != length:
        return f"zstd frame declares {frame.content_size} bytes where {length} are expected"
    if frame.dict_id:
        return f"zstd frame needs dictionary {frame.dict_id}"
    return f"zstd frame has a window of {frame.window_size} bytes, at most {WINDOW_MAX} may be"
