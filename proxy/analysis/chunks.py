"""Chunks of one average size: how many there are, and how many of the bytes are distinct.

Each distinct chunk is remembered until there are too many of them. From then on only those count whose fingerprints,
which are as good as drawn by lot, end in so many zero bits: half of them, then a quarter, and so on. What the sample
says is multiplied; `margin` says how far that may be from the truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from dedupstore.chunker import LARGEST_CHUNK, Chunker
from dedupstore.fingerprint import fingerprint

DEVIATIONS = 2
"""Standard deviations within which a sample is said to be true: 95 of 100 are."""


@dataclass(frozen=True, slots=True)
class Chunked:
    """What one chunk size finds in all bytes."""

    average: int
    total: int
    """Bytes."""
    chunks: int
    distinct: float
    """Bytes of distinct chunks, those that have to be sent."""
    distinct_chunks: float
    sampled: float
    """Share of the distinct chunks that were remembered."""
    margin: float
    """Bytes by which `distinct` may be wrong."""

    @property
    def duplicates(self) -> float:
        """Share of the bytes that deduplication finds."""
        return 1 - min(1.0, self.distinct / self.total) if self.total else 0.0


class Distinct:
    """Lengths of distinct chunks, in a sample of bounded size."""

    def __init__(self, most: int) -> None:
        """Remembers `most` chunks at most; each takes about 150 bytes."""
        self._most = most
        self._mask = 0
        self._lengths: dict[int, int] = {}

    @property
    def share(self) -> float:
        """Of the chunks that are in the sample."""
        return 1 / (self._mask + 1)

    def note(self, name: int, length: int) -> bool | None:
        """Whether the chunk is new; None if it is not in the sample."""
        if name & self._mask:
            return None
        if name in self._lengths:
            return False
        self._lengths[name] = length
        if len(self._lengths) > self._most:
            self._thin()
        return True

    def estimate(self) -> tuple[float, float, float]:
        """Bytes of distinct chunks, their number, and by how many bytes the former may be wrong."""
        lengths = self._lengths.values()
        spread = sqrt((1 - self.share) * sum(length * length for length in lengths)) / self.share
        return sum(lengths) / self.share, len(lengths) / self.share, DEVIATIONS * spread

    def _thin(self) -> None:
        self._mask = 2 * self._mask + 1
        self._lengths = {name: length for name, length in self._lengths.items() if not name & self._mask}


@dataclass(frozen=True, slots=True)
class Cut:
    """A chunk of the input."""

    name: int
    """The first eight bytes of its fingerprint."""
    data: memoryview
    new: bool | None
    """Whether it is the first of its kind; None if it is not in the sample."""


class Cutter:
    """Cuts a sequence of buffers as a site does whose `chunking.average` is this; the other sizes in proportion."""

    def __init__(self, average: int, most: int) -> None:
        """`most`: distinct chunks to remember."""
        self._average = average
        self._chunker = Chunker(average // 4, average, min(4 * average, LARGEST_CHUNK))
        self._distinct = Distinct(most)
        self._rest = b""
        self._total = self._chunks = 0

    def cut(self, data: bytes, final: bool = False) -> Iterator[Cut]:
        """The chunks that are complete now; they have to be taken before the next call."""
        data = self._rest + data
        view, start = memoryview(data), 0
        for length in self._chunker.cut(view, final):
            chunk = view[start : start + length]
            start += length
            name = int.from_bytes(fingerprint(chunk)[:8])
            yield Cut(name, chunk, self._distinct.note(name, length))
            self._chunks += 1
        self._total += start
        self._rest = data[start:]

    def result(self) -> Chunked:
        """Of everything that was cut."""
        distinct, count, margin = self._distinct.estimate()
        share = self._distinct.share
        return Chunked(self._average, self._total, self._chunks, distinct, count, share, margin)
