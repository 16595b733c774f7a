"""How the store is used: at which age chunks are found again, and what a larger store would still have held.

Fed with one fingerprint in 256 (they are evenly spread), so that the rest cost one comparison. What was put lately is
remembered beyond its eviction, by how much has been put since; a miss among it would have been a hit in a store that
holds so much. [Waldspurger et al., Efficient MRC Construction with SHARDS, FAST 2015, samples like this.]
"""

from collections import OrderedDict

SAMPLED = 1
"""Fingerprints are looked at whose first byte is below that."""
AGES = 10
"""Parts of the store, by age."""
FACTORS = (2, 4, 8)
"""Sizes that are judged, as multiples of the store's."""
REMEMBERED = 32_768
"""Fingerprints, some 5 MB; beyond that only each second one is looked at, and so on."""
_ALL = SAMPLED << 24
"""The same as a bound of the first four bytes, big-endian."""
_PREFIX = slice(0, 4)


class Reuse:
    """Not safe by itself; loop thread. Bytes are of chunks."""

    def __init__(self, size_bytes: int) -> None:
        """`size_bytes`: the store's bound."""
        self._size = size_bytes
        self._below = _ALL  # bound of what is remembered, lowered when that is too much
        self._put: OrderedDict[bytes, int] = OrderedDict()
        self._ages = [0] * AGES
        self._missed = [0.0] * len(FACTORS)

    @property
    def hits_by_age(self) -> list[int]:
        """Sampled look-ups that found their chunk, by its age: the newest part of the store first."""
        return list(self._ages)

    @property
    def missed_by_size(self) -> list[tuple[int, float]]:
        """By factor: look-ups, of all, that a store so much larger would have answered."""
        return [(factor, sum(self._missed[: at + 1])) for at, factor in enumerate(FACTORS)]

    def hit(self, age: float) -> None:
        """Found at that age: 0 for the newest, 1 for the oldest of a full store."""
        self._ages[max(0, min(AGES - 1, int(age * AGES)))] += 1

    def miss(self, name: bytes, put_bytes: int) -> None:
        """Not found, when so many bytes had been put in all."""
        at = self._put.get(name)
        if at is None:
            return
        for part, factor in enumerate(FACTORS):
            if put_bytes - at <= factor * self._size:
                self._missed[part] += 256 / SAMPLED * _ALL / self._below
                return

    def put(self, name: bytes, put_bytes: int) -> None:
        """Stored, when so many bytes had been put in all."""
        if int.from_bytes(name[_PREFIX]) >= self._below:
            return
        self._put.pop(name, None)
        self._put[name] = put_bytes
        while len(self._put) > 1 and put_bytes - next(iter(self._put.values())) > FACTORS[-1] * self._size:
            self._put.popitem(last=False)
        if len(self._put) > REMEMBERED:
            self._below //= 2
            kept = (item for item in self._put.items() if int.from_bytes(item[0][_PREFIX]) < self._below)
            self._put = OrderedDict(kept)
