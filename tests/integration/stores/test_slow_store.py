"""West's store is on a hard disk, and what east sends comes back in another order than it was stored in."""

import random

from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array
from tests.integration.bed.forked import ForkedSite
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, Pair, drain, run

CONTENT = volume("content", 96 << 20)
PIECE = 128 << 10
PART = len(CONTENT) // PIECE // 8
"""Pieces of a pass."""
STORE = {"mode": "disk", "size": "256MiB", "cache": "32MiB"}
DISK_RATE = 100_000_000


def shuffled() -> list[bytes]:
    """Eight parts of the content, each of pieces from all over it."""
    pieces = [bytes(piece) for piece in cut(CONTENT, PIECE)]
    random.Random(1).shuffle(pieces)
    return [b"".join(pieces[at : at + PART]) for at in range(0, len(pieces), PART)]


def store_rate(pair: Pair) -> int | None:
    """What west says of its store."""
    rate: int | None = pair.east.status()["peers"][0]["store_bytes_per_second"]
    return rate


def test_what_a_slow_store_would_hold_up_goes_by_the_line(bed: Bed) -> None:
    """Once east has heard of it most goes literally, though west holds it; and nothing any more when it is in order."""
    with Array() as array:
        pair = bed.pair(array.address, store=STORE)
        assert isinstance(pair.west, ForkedSite)
        pair.west.disk_rate = DISK_RATE
        run(*pair.sites)
        replicate(pair, CONTENT)
        first, second, *_ = shuffled()
        replicate(pair, first)
        assert 0 < (store_rate(pair) or 0) < DISK_RATE / 4
        before = pair.east.status()["bytes"]["relieved"]
        replicate(pair, second)
        assert pair.east.status()["bytes"]["relieved"] > before + len(second) // 10
        assert pair.west.status()["bytes"]["misses"] == 0
        for _ in range(20):
            if store_rate(pair) is None:
                break
            replicate(pair, CONTENT)
        assert cost(pair, CONTENT) < 0.02
        drain(*pair.sites)
