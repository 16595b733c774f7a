"""How much a store of a given size would find: many sizes at once, each the oldest out first, as our stores do it.

Only a sample of the chunks is followed, chosen by their fingerprints, and each stands for as many as were left out:
Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from dedupstore.fitting import LEAST_BYTES

FOLLOWED = 1 << 15
"""Chunks that a store's model remembers at most."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What a store of this size finds."""

    size: int
    share: float
    """Of all bytes."""


class OldestFirst:
    """A store of so many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found = 0.0
        """Bytes."""
        self._written = 0.0
        self._places: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._places)

    def meet(self, name: int, length: float) -> None:
        """A chunk comes: it is found, or stored."""
        if name in self._places:
            self.found += length
            return
        self._written += length
        self._places[name] = self._written
        while self._written - self._places[oldest := next(iter(self._places))] >= self.size:
            del self._places[oldest]

    def thin(self, mask: int) -> None:
        """Follow only those."""
        self._places = {name: place for name, place in self._places.items() if not name & mask}


class Stores:
    """Stores of all sizes in doubling steps, up to the first that holds everything."""

    def __init__(self, total: int, smallest: int = LEAST_BYTES, followed: int = FOLLOWED) -> None:
        """`total`: bytes that will come, at most."""
        self._followed = followed
        self._total = 0
        self._met = 0
        """Bytes that the chunks that are followed stand for."""
        self._mask = 0
        self._stores = [OldestFirst(size) for size in _doubling(smallest, total)]

    def meet(self, name: int, length: int) -> None:
        """A chunk of the input."""
        self._total += length
        # Other bits than those by which `chunks.Distinct` chooses, so that one sample is not a part of the other.
        turned = name >> 32
        if turned & self._mask:
            return
        self._met += length * (self._mask + 1)
        for store in self._stores:
            store.meet(turned, length * (self._mask + 1))
        if len(self._stores[-1]) > self._followed:
            self._mask = 2 * self._mask + 1
            for store in self._stores:
                store.thin(self._mask)

    def result(self, most: float) -> list[Hits]:
        """From the smallest to the first that finds no less than the largest does. `most`: share that can be found."""
        hits = [Hits(store.size, min(most, self._share(store))) for store in self._stores]
        last = next(index for index, each in enumerate(hits) if each.share >= hits[-1].share - 0.001)
        return hits[: last + 1]

    def _share(self, store: OldestFirst) -> float:
        """What the sample has too much or too little of are the few chunks that come again and again, such as zeros;
        any store finds those."""
        if not self._total:
            return 0.0
        return max(0.0, min(1.0, (store.found + self._total - self._met) / self._total))


def _doubling(size: int, total: int) -> Iterator[int]:
    yield size
    while size < total:
        size *= 2
        yield size
