"""What compression makes of the data, measured in stretches of it that are spread evenly.

`zlib` is the usual measure of compressibility: level 6, all bytes, duplicates or not (its window is 32 KiB). The other
two are what a site does with what deduplication leaves: on a fast line frames of zstd 1, on a slow one a context
through the whole stream, for which level 3 stands here: higher ones leave up to a sixth less.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from proxy.reduction.compression import Compressor, zstd
from proxy.reduction.contexts import ContextWriter
from proxy.reduction.drafts import BATCH_TARGET
from proxy.reduction.windows import WINDOW_LOG_MAX

ZLIB_LEVEL = 6
CONTEXT_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Compressed:
    """What one way to compress has left."""

    before: int
    """Bytes."""
    after: int

    @property
    def ratio(self) -> float:
        """Of after to before; 1 where nothing was measured."""
        return min(1.0, self.after / self.before) if self.before else 1.0


class Stretches:
    """Which parts of the input are looked at: stretches of equal length at equal distances."""

    def __init__(self, total: int, length: int, most: int) -> None:
        """`total`: bytes that will come; `most`: bytes to look at, at most."""
        self._length = length
        self._every = max(1, -(-total // max(1, most)))

    def includes(self, offset: int) -> bool:
        """Whether the byte at that offset is in one."""
        return offset // self._length % self._every == 0


class Plain:
    """zlib, of whatever comes."""

    def __init__(self) -> None:
        self._before = self._after = 0

    def take(self, data: bytes) -> None:
        """A buffer, compressed by itself."""
        self._before += len(data)
        self._after += len(zlib.compress(data, ZLIB_LEVEL))

    def result(self) -> Compressed:
        """Of everything so far."""
        return Compressed(self._before, self._after)


class Literals:
    """What deduplication leaves, in batches such as a site makes."""

    def __init__(self, compress: Callable[[bytes], int]) -> None:
        """`compress`: the bytes that are left of a batch."""
        self._compress = compress
        self._waiting: list[bytes] = []
        self._length = self._before = self._after = 0

    def take(self, chunk: memoryview) -> None:
        """A new chunk."""
        self._waiting.append(bytes(chunk))
        self._length += len(chunk)
        if self._length >= BATCH_TARGET:
            self.flush()

    def flush(self) -> None:
        """Nothing more comes, for now."""
        if self._length:
            self._before += self._length
            self._after += self._compress(b"".join(self._waiting))
            self._waiting, self._length = [], 0

    def result(self) -> Compressed:
        """Of everything so far, once it is flushed."""
        return Compressed(self._before, self._after)


def quickly() -> Literals:
    """As on a fast line."""
    compressor = Compressor(zstd(1))
    return Literals(lambda batch: sum(map(len, compressor.encode((batch,), len(batch))[1])))


def thoroughly() -> Literals:
    """As on a slow line."""
    writer = ContextWriter(CONTEXT_LEVEL, WINDOW_LOG_MAX)
    return Literals(lambda batch: min(len(batch), len(writer.encode(batch))))
