"""West's store is on a hard disk, and what east sends comes back in another order than it was stored in."""

import random

from proxy.net.reading import FAST
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array
from tests.integration.bed.forked import ForkedSite
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, Pair, drain, run
from tests.patience import at_best

SIZE = 64 << 20
PIECE = 128 << 10
PART = SIZE // PIECE // 6
"""Pieces of a pass."""
STORE = {"mode": "disk", "size": "256MiB", "cache": "32MiB"}
DISK_RATE = 300_000_000
"""In order it gives far more than `FAST`, in pieces from all over the store some 10 MB/s."""


def shuffled(content: bytes) -> list[bytes]:
    """Six parts of the content, each of pieces from all over it."""
    pieces = [bytes(piece) for piece in cut(content, PIECE)]
    random.Random(1).shuffle(pieces)
    return [b"".join(pieces[at : at + PART]) for at in range(0, len(pieces), PART)]


def store_rate(pair: Pair) -> int | None:
    """What west says of its store."""
    rate: int | None = pair.east.status()["peers"][0]["store_bytes_per_second"]
    return rate


def test_what_a_slow_store_would_hold_up_goes_by_the_line(bed: Bed) -> None:
    """Once east has heard of it most goes literally, though west holds it; and nothing any more when it is in order."""
    content = volume("content", SIZE)
    with Array() as array:
        pair = bed.pair(array.address, store=STORE)
        assert isinstance(pair.west, ForkedSite)
        pair.west.disk_rate = DISK_RATE
        run(*pair.sites)
        replicate(pair, content)
        first, second, *_ = shuffled(content)
        replicate(pair, first)
        pair.east.wait_for(lambda: store_rate(pair) is not None, "has not heard of west's store")  # told once a second
        assert 0 < (store_rate(pair) or 0) < FAST / 2
        before = pair.east.status()["bytes"]["relieved"]
        replicate(pair, second)
        assert pair.east.status()["bytes"]["relieved"] > before + len(second) // 10
        assert pair.west.status()["bytes"]["misses"] == 0
        for _ in range(20):
            replicate(pair, content)
            if store_rate(pair) is None:
                break
        else:
            raise AssertionError("east believes west's store slow, whatever comes in order")
        assert at_best(lambda: cost(pair, content), lambda part: part < 0.02) < 0.02
        drain(*pair.sites)
