"""The analysis itself: fed with bytes, it hands them to everything that counts."""

from dataclasses import dataclass

from dedupstore.chunker import AVERAGE
from proxy.analysis.chunks import Cut, Cutter
from proxy.analysis.compressibility import Plain, Stretches, quickly, thoroughly
from proxy.analysis.findings import Findings
from proxy.analysis.stores import Stores

AVERAGES = (4 << 10, 8 << 10, AVERAGE, 32 << 10, 64 << 10)
"""Chunk sizes that are compared; a site uses the middle one if nothing else is configured."""
MIB = 1 << 20
GATHERED = MIB


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is remembered and looked at; the defaults take about 200 MiB and a minute for compression."""

    chunks: int = 1 << 18
    """Distinct chunks of the usual size that are remembered: of 4 GiB."""
    other_chunks: int = 1 << 17
    """Likewise of each other size."""
    literals: int = 2048 * MIB
    """Bytes in which what is new is compressed as a site would."""
    plain: int = 64 * MIB
    """Bytes that zlib is tried on."""


class Analysis:
    """Of one volume, or of many files one after another. Use on one thread."""

    def __init__(self, total: int, bounds: Bounds | None = None) -> None:
        """`total`: bytes that are expected; it decides which stretches are compressed."""
        bounds = bounds or Bounds()
        self._cutter = Cutter(AVERAGE, bounds.chunks)
        self._others = [Cutter(average, bounds.other_chunks) for average in AVERAGES if average != AVERAGE]
        self._stores = Stores(total)
        self._plain = Plain()
        self._plain_stretches = Stretches(total, MIB, bounds.plain)
        self._quick, self._thorough = quickly(), thoroughly()
        self._literal_stretches = Stretches(total, 64 * MIB, bounds.literals)
        self._waiting: list[bytes] = []
        self._gathered = self._read = self._cut = 0

    def feed(self, data: bytes) -> None:
        """The next bytes, at most some MiB at once. Small pieces are gathered: each costs a search anew."""
        self._waiting.append(data)
        self._gathered += len(data)
        if self._gathered >= GATHERED:
            self._take(final=False)

    def finish(self) -> Findings:
        """Nothing follows."""
        self._take(final=True)
        for literals in (self._quick, self._thorough):
            literals.flush()
        chunked = sorted((cutter.result() for cutter in (self._cutter, *self._others)), key=lambda each: each.average)
        return Findings(
            chunked=tuple(chunked),
            zlib=self._plain.result(),
            quick=self._quick.result(),
            thorough=self._thorough.result(),
            stores=tuple(self._stores.result(self._cutter.result().duplicates)),
        )

    def _take(self, final: bool) -> None:
        data = b"".join(self._waiting)
        self._waiting, self._gathered = [], 0
        if data and self._plain_stretches.includes(self._read):
            self._plain.take(data)
        self._read += len(data)
        for chunk in self._cutter.cut(data, final):
            self._meet(chunk)
        for other in self._others:
            for _ in other.cut(data, final):
                pass

    def _meet(self, chunk: Cut) -> None:
        length = len(chunk.data)
        self._stores.meet(chunk.name, length)
        if chunk.new and self._literal_stretches.includes(self._cut):
            self._quick.take(chunk.data)
            self._thorough.take(chunk.data)
        self._cut += length
