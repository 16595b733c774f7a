"""Codec 2: a stream's literals as parts of one endless zstd frame, so that a small batch can refer to earlier ones.

A batch carries whole blocks of the frame, the first batch the frame's header as well. Nothing that a peer sends is
decoded before its block headers were checked (RFC 8878, section 3.1.1.2): the last block ends where the batch ends, and
none is the frame's last, so no other frame can follow unseen. Decoded blocks go through a buffer of one batch's size.
"""

from typing import IO, cast

import zstandard

from proxy.reduction.batch import BATCH_PLAIN_MAX
from proxy.reduction.errors import BatchError
from proxy.reduction.windows import WINDOW_LOG_MAX, ContextMemory, cost_of

_MAGIC = zstandard.FRAME_HEADER
"""A batch that begins so begins a frame: as a block header this would announce 381 KiB, more than a block may have."""

_BLOCK_HEADER = 3
_BLOCK_MAX = 128 << 10
_RAW, _RLE, _COMPRESSED = range(3)

_TABLES_BELOW_WINDOW = 3
"""By how much log2 of a table's entries is below log2 of the window's bytes: so a context's two tables, of 4 bytes an
entry, together take no more than its window."""


class ContextWriter:
    """The sender's end of one frame."""

    def __init__(self, level: int, window_log: int) -> None:
        """The window has 2 ** window_log bytes. Distant repeats are found by sampled hashes, cheaply at any level."""
        usual = zstandard.ZstdCompressionParameters.from_level(level)
        parameters = zstandard.ZstdCompressionParameters.from_level(
            level,
            window_log=window_log,
            hash_log=min(usual.hash_log, window_log - _TABLES_BELOW_WINDOW),
            chain_log=min(usual.chain_log, window_log - _TABLES_BELOW_WINDOW),
            enable_ldm=True,
            write_content_size=False,
            write_checksum=False,
        )
        self.level = level
        self.window = 1 << window_log
        self._frame = zstandard.ZstdCompressor(compression_params=parameters).compressobj()

    def encode(self, literals: bytes) -> bytes:
        """The frame's next blocks, for one literal byte or more. They have to be sent: later ones refer to them."""
        return self._frame.compress(literals) + self._frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class _Sink:
    """Collects what a frame yields; raises BatchError at the first byte beyond `room`."""

    def __init__(self) -> None:
        self.room = 0
        self.pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self.room -= len(piece)
        if self.room < 0:
            raise BatchError("zstd frame yields more bytes than are declared")
        self.pieces.append(piece)
        return len(piece)


class ContextReader:
    """The receiver's end of a stream's frames. After an error it must not be used any more, except to `close` it."""

    def __init__(self, memory: ContextMemory) -> None:
        self._memory = memory
        self._held = 0
        self._window = 0
        self._sink = _Sink()
        self._frame: zstandard.ZstdDecompressionWriter | None = None

    def decode(self, data: memoryview | bytes, length: int) -> bytes:
        """Exactly the `length` bytes that the next batch's blocks yield, or BatchError."""
        if not length:
            raise BatchError("a zstd frame where there is nothing to decode")
        at = self._begin(data) if bytes(data[: len(_MAGIC)]) == _MAGIC else 0
        if self._frame is None:
            raise BatchError("a zstd frame is continued that was not begun")
        _walk(data, at, min(self._window, _BLOCK_MAX))
        sink = self._sink
        sink.room = length
        try:
            self._frame.write(data)
        except zstandard.ZstdError as error:
            raise BatchError(f"zstd frame cannot be decoded: {error}") from None
        if sink.room:
            raise BatchError(f"zstd frame yields {length - sink.room} bytes where {length} are declared")
        decoded, sink.pieces = b"".join(sink.pieces), []
        return decoded

    def close(self) -> None:
        """The stream or the frame has ended: give the window's memory back."""
        self._frame = None
        self._memory.give(self._held)
        self._held = 0

    def _begin(self, data: memoryview | bytes) -> int:
        """Begin the frame whose header is here, in place of the former one; returns the length of that header."""
        try:
            frame = zstandard.get_frame_parameters(data)
            header = zstandard.frame_header_size(data)
        except zstandard.ZstdError as error:
            raise BatchError(f"zstd frame cannot be begun: {error}") from None
        if frame.content_size != zstandard.CONTENTSIZE_UNKNOWN or frame.dict_id or frame.has_checksum:
            raise BatchError("a zstd frame that is to be endless declares a size, a dictionary or a checksum")
        if frame.window_size > 1 << WINDOW_LOG_MAX:
            raise BatchError(f"zstd frame has a window of {frame.window_size} bytes, at most 2^{WINDOW_LOG_MAX} may be")
        self.close()
        self._memory.take(cost_of(frame.window_size))
        self._held = cost_of(frame.window_size)
        self._window = frame.window_size
        # A batch's bytes fit into one piece, so that none stay behind in the decompressor.
        decompressor = zstandard.ZstdDecompressor(max_window_size=max(frame.window_size, 1 << 10))
        self._frame = decompressor.stream_writer(cast(IO[bytes], self._sink), write_size=BATCH_PLAIN_MAX + 1)
        return header


def _walk(data: memoryview | bytes, at: int, most: int) -> None:
    """Raise BatchError unless the data from `at` on is whole blocks, none of them empty or the frame's last."""
    if at == len(data):
        raise BatchError("zstd frame without a block")
    while at < len(data):
        head = int.from_bytes(data[at : at + _BLOCK_HEADER], "little")
        kind, size = head >> 1 & 3, head >> 3
        if head & 1 or kind > _COMPRESSED or not 1 <= size <= most:
            raise BatchError(f"zstd block at {at} is the last one, or of no legal kind or size ({head:#x})")
        at += _BLOCK_HEADER + (1 if kind == _RLE else size)
    if at > len(data):
        raise BatchError("zstd block is cut off where the batch ends")
