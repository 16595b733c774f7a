"""What an analysis has found, and what follows from it for a line and for a site's settings."""

from collections.abc import Iterator
from dataclasses import dataclass

from dedupstore.chunker import AVERAGE
from dedupstore.fitting import LEAST_BYTES
from proxy.analysis.chunks import Chunked
from proxy.analysis.compressibility import Compressed
from proxy.analysis.stores import Hits
from proxy.plan.line import Line
from proxy.plan.replication import Way, Work, ways
from proxy.reduction.compression import GAIN
from proxy.reduction.tokens import learn_token, literal_token, reference_token

ARRAY_WINDOWS = (72_000, 1_000_000)
"""Bytes: what arrays that are left to themselves use, as in `isthmus plan`."""
SLIGHT = 0.005
"""Share of all bytes for which it is not worth to have twice as many chunks: each costs CPU and memory."""
THOROUGH_RATE = 170e6 * 8
"""Bits of literals a second that level 3 with a context compresses, on a core that is somewhat slower than that of the
table in DECISIONS.md (210 MB/s)."""
SPARED_RATE = 1.3e9
"""Bits a second that a line carries from which on a site leaves compression out, if nothing else holds it up
(DECISIONS.md)."""
UPDATED, RUN, SPOILT = 0.01, 18 << 10, 1.5
"""What is taken to have changed when the data is replicated again: that share of it, in runs of so many bytes; a run
takes about so many chunks with it. `make bench-chunking` measures the like: the figures agree within half."""
WORTHWHILE = 0.02
"""Share of all bytes that a larger store has to find beyond what a smaller one does."""
STORE_ROOM = 1.05
"""Room in a store for so much more than the chunks: containers are not filled to the last byte."""

_NAME = bytes(32)
REFERENCE_BYTES = len(reference_token(_NAME))


@dataclass(frozen=True, slots=True)
class Findings:
    """Of all bytes that were read."""

    chunked: tuple[Chunked, ...]
    """By average size, ascending."""
    zlib: Compressed
    quick: Compressed
    """What is new, as on a fast line."""
    thorough: Compressed
    """What is new, as on a slow line."""
    stores: tuple[Hits, ...]
    """What stores find while all is replicated once; ascending."""

    @property
    def usual(self) -> Chunked:
        """With chunks of the size that a site uses."""
        return next(each for each in self.chunked if each.average == AVERAGE)

    @property
    def total(self) -> int:
        """Bytes."""
        return self.usual.total

    def crossing(self, chunked: Chunked, compressed: Compressed) -> float:
        """Share of the bytes that crosses the line when all of them are new to the far side, tokens included."""
        if not chunked.total:
            return 0.0
        literals = min(chunked.distinct, chunked.total) * compressed.ratio
        return min(1.0, (literals + self._tokens(chunked)) / chunked.total)

    def _tokens(self, chunked: Chunked) -> float:
        """Bytes that name chunks."""
        new = min(chunked.distinct_chunks, chunked.chunks)
        learnt = len(literal_token(chunked.average)) + len(learn_token(chunked.average, _NAME))
        return new * learnt + (chunked.chunks - new) * REFERENCE_BYTES

    def warm(self, chunked: Chunked) -> float:
        """Share that crosses when the far side holds all of it, at most: a reference a chunk, not a name a run."""
        return min(1.0, chunked.chunks * REFERENCE_BYTES / chunked.total) if chunked.total else 0.0

    def updated(self, chunked: Chunked, compressed: Compressed) -> float:
        """Share that crosses when the far side holds all but a hundredth of it, which has changed here and there."""
        spoilt = min(1.0, UPDATED * (1 + SPOILT * chunked.average / RUN))
        return min(1.0, spoilt * compressed.ratio + self.warm(chunked))

    def compressed_for(self, line: Line) -> Compressed:
        """As a site compresses on that line: thoroughly, unless the line takes more than that yields."""
        return self.quick if line.goodput / max(self.thorough.ratio, 0.01) > THOROUGH_RATE else self.thorough

    def spared(self, line: Line) -> bool:
        """Whether a site would compress on that line only until it has found that this holds it up."""
        return line.goodput > SPARED_RATE and self.compressed_for(line).ratio < GAIN

    @property
    def best(self) -> Chunked:
        """The largest chunk size that leaves hardly more to send than the best one does, at first and again."""
        costs = [
            (self.crossing(each, self.thorough) + self.updated(each, self.thorough), each) for each in self.chunked
        ]
        least = min(cost for cost, _ in costs)
        return [each for cost, each in costs if cost <= least + SLIGHT][-1]

    @property
    def store_for_once(self) -> Hits:
        """The smallest store that finds nearly all that repeats while all is replicated once."""
        return next(each for each in self.stores if each.share >= self.stores[-1].share - WORTHWHILE)

    @property
    def store_for_all(self) -> int:
        """Bytes of a store that still holds all of it when it is replicated again: with less, the beginning has gone
        when it comes again, and then each part of the rest."""
        needed = round(min(self.usual.distinct, self.total) * STORE_ROOM)
        return max(LEAST_BYTES, needed) if needed else 0

    def times(self, line: Line) -> Iterator[tuple[int | None, Way]]:
        """How long a replication of all of it takes, as `isthmus plan` computes it; nothing if there is nothing."""
        if self.total:
            reduction = 1 - self.crossing(self.usual, self.compressed_for(line))
            yield from ways(line, Work(self.total, max(0.0, reduction)), ARRAY_WINDOWS)
