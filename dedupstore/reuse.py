"""Measures how the store is used: at which age chunks are found again, and what a larger store would still have held.

It is fed with one fingerprint in 256 (they are evenly spread), so that the others cost one comparison. A fingerprint
that was put is remembered beyond its chunk's eviction, with how many bytes had been put before. If it is missed then,
it would have been a hit in a store that holds as much as has been put since. [Waldspurger et al., Efficient MRC
Construction with SHARDS, FAST 2015, samples like this.]
"""

from collections import OrderedDict

SAMPLED = 1
"""Only fingerprints whose first byte is below this are looked at."""
AGES = 10
"""Parts of the store that are told apart by age."""
FACTORS = (2, 4, 8)
"""Sizes of a store that are judged, as multiples of this one's."""
REMEMBERED = 32_768
"""Fingerprints that are remembered, some 5 MB; beyond that only every second one is, and so on."""
_ALL = SAMPLED << 24
"""SAMPLED as a bound of the first four bytes, big-endian."""
_PREFIX = slice(0, 4)


class Reuse:
    """The use of one store. Not thread-safe; loop thread. Bytes are of chunks."""

    def __init__(self, size_bytes: int) -> None:
        """`size_bytes`: the store's bound."""
        self._size = size_bytes
        self._below = _ALL  # bound of the fingerprints that are remembered, lowered when these are too many
        self._put: OrderedDict[bytes, int] = OrderedDict()
        self._ages = [0] * AGES
        self._missed = [0.0] * len(FACTORS)

    @property
    def hits_by_age(self) -> list[int]:
        """Sampled look-ups that found their chunk, by the chunk's age: the newest part of the store first."""
        return list(self._ages)

    @property
    def missed_by_size(self) -> list[tuple[int, float]]:
        """For each factor: how many of all missed look-ups a store so many times as large would have answered."""
        return [(factor, sum(self._missed[: at + 1])) for at, factor in enumerate(FACTORS)]

    def hit(self, age: float) -> None:
        """A chunk was found at that age: 0 for the newest, 1 for the oldest of a full store."""
        self._ages[max(0, min(AGES - 1, int(age * AGES)))] += 1

    def miss(self, name: bytes, put_bytes: int) -> None:
        """A chunk was not found, when `put_bytes` had been put in all."""
        at = self._put.get(name)
        if at is None:
            return
        for part, factor in enumerate(FACTORS):
            if put_bytes - at <= factor * self._size:
                self._missed[part] += 256 / SAMPLED * _ALL / self._below
                return

    def put(self, name: bytes, put_bytes: int) -> None:
        """A chunk was stored, when `put_bytes` had been put in all."""
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
