"""Fifty kills at random moments, each of a site at work on its disk store; the store is opened and verified after each.

It opens without being set aside. A kill may cost what lay in the slot that was being overwritten, and no more: what
fails verification is dropped, then everything is sound. Bytes are compared throughout: each transfer that was cut is
an exact prefix, and the last one arrives whole, on those same stores.
"""

import threading
from pathlib import Path
from random import Random

import pytest

from dedupstore.disk import DiskStore
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import OPEN, Array, prefix_of, receipt, send, whole
from tests.integration.bed.sites import Bed, Pair, run

ROUNDS = 25
SIZE = 64 << 20
CONTENTS, CONTENT = 4, 20 << 20
"""So many, and their size: together more than a store holds, so containers are overwritten in most rounds, and read in
many."""
LOST_MAX = 1136
"""Chunks that one container may have (FORMAT.md): what a torn slot costs."""
LONGEST = 0.5
"""Seconds that a site lives after its transfer has begun."""


@pytest.mark.timeout(480)
def test_stores_survive(bed: Bed) -> None:
    draw = Random(1)
    contents = [volume(f"volume {number}", CONTENT) for number in range(CONTENTS)]
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": "disk", "size": "64MiB"})
        for number in range(ROUNDS):
            run(*pair.sites)
            content = contents[number % CONTENTS]
            cut_short(pair, content, draw)
            check_arrivals(array, content)
            for site in pair.sites:
                verify(bed.directory / f"{site.name}-store")
        run(*pair.sites)
        whole(receipt(contents[0]), send(cut(contents[0], 1 << 18), pair.entrance))


def cut_short(pair: Pair, content: bytes, draw: Random) -> None:
    """Send, while each site is killed at a moment of its own."""
    timers = [threading.Timer(draw.uniform(0, LONGEST), site.kill) for site in pair.sites]
    for timer in timers:
        timer.start()
    send(cut(content, 1 << 18), pair.entrance)
    for timer in timers:
        timer.join()


def check_arrivals(array: Array, content: bytes) -> None:
    """Each is a prefix of the content; one that ended in order is all of it."""
    for arrival in array.arrivals:
        arrival.wait()
        prefix_of(content, arrival)
        assert arrival.ended != OPEN
    array.arrivals.clear()


def verify(path: Path) -> None:
    """Open the store as a site would, and read everything twice."""
    store = DiskStore(path, SIZE, cache_bytes=32 << 20)
    try:
        assert not store.alarms
        sound, dropped = store.verify()
        assert dropped <= LOST_MAX
        assert store.verify() == (sound, 0)
    finally:
        store.close()
