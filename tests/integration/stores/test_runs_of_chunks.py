"""What was stored one after another is named as runs, with either store; what that costs where the far store differs.

The wire takes less than references alone would. A far store that holds the same in another order, or has lost it, asks
for a few runs, then none are sent for a while; the bytes are right.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, Pair, drain, run

REFERENCES = 0.002
"""Of the plain bytes: what a reference to each chunk takes."""
AT_FIRST = 0.006
"""After a restart: until containers are loaded, a pause of the source costs literal bytes."""
RUNS = 0.0012
"""With frames, records of TLS, and what runs cost until they are trusted."""
LARGE, SMALL = {"size": "256MiB"}, {"size": "64MiB"}
MISSED_MAX = 64
"""Runs on their way when the first miss comes."""


@pytest.fixture(scope="module")
def content() -> bytes:
    return volume("runs", 64 << 20)


def west(pair: Pair, figure: str) -> int:
    return int(pair.west.status()["bytes"][figure])


@pytest.mark.parametrize("mode", ["memory", "disk"])
def test_a_second_pass(bed: Bed, mode: str, content: bytes) -> None:
    """Across containers; with the disk store also after a restart, when none of them is in memory."""
    with Array() as array:
        pair = bed.pair(array.address, store={"mode": mode, **LARGE})
        run(*pair.sites)
        replicate(pair, content)
        replicate(pair, content)
        assert cost(pair, content) < RUNS
        assert west(pair, "misses") == 0
        drain(*pair.sites)
        if mode == "disk":
            run(*pair.sites)
            assert cost(pair, content) < AT_FIRST
            assert cost(pair, content) < RUNS
            assert west(pair, "misses") == 0
            drain(*pair.sites)


def test_stores_with_other_room_for_writers(bed: Bed) -> None:
    """West's has two containers open, so three streams at once share them; each has its own in east's."""
    parts = [volume(f"part {number}", 12 << 20) for number in range(3)]
    with Array() as array:
        pair = bed.pair(array.address, stores=(LARGE, SMALL))
        run(*pair.sites)
        with ThreadPoolExecutor() as threads:
            for done in [threads.submit(replicate, pair, part) for part in parts]:
                done.result()
        for _ in range(2):
            for part in parts:
                assert cost(pair, part) < 2 * REFERENCES
        assert west(pair, "misses") < MISSED_MAX
        assert not pair.east.status()["peers"][0]["references_suspended"]
        drain(*pair.sites)


def test_what_the_far_store_has_lost(bed: Bed, content: bytes) -> None:
    evicting = volume("others", 72 << 20)
    with Array() as array:
        pair = bed.pair(array.address, stores=(LARGE, SMALL))
        run(*pair.sites)
        kept = content[: 16 << 20]
        for sent in (kept, kept, kept, evicting, kept):
            replicate(pair, sent)
        assert west(pair, "misses") > 0
        assert west(pair, "misses") == pair.east.status()["bytes"]["fills"]
        drain(*pair.sites)
