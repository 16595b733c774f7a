"""Stores of different sizes evict out of step: east refers to what west no longer has.

West asks, east fills, the bytes are right. What it costs is bounded: a chunk is missed once at most, and after a flood
of misses east refers to nothing for a while.
"""

from dataclasses import replace

import pytest

from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array
from tests.integration.bed.passes import cost, replicate
from tests.integration.bed.sites import Bed, drain, run

EAST, WEST = {"size": "256MiB"}, {"size": "64MiB"}
FLOOD_MAX = 1500
"""Misses until references are given up: 5 % of a sample, and what was under way by then."""


@pytest.fixture(scope="module")
def content() -> bytes:
    return volume("content", 96 << 20)


def test_what_is_gone_is_filled(bed: Bed, content: bytes) -> None:
    with Array() as array:
        pair = bed.pair(array.address, stores=(EAST, WEST))
        run(*pair.sites)
        replicate(pair, content)
        for _ in range(2):
            assert cost(pair, content) < 1.05
        misses, fills = pair.west.status()["bytes"]["misses"], pair.east.status()["bytes"]["fills"]
        assert 0 < misses == fills < FLOOD_MAX
        assert pair.east.status()["peers"][0]["references_suspended"]
        assert pair.west.status()["store"]["evicted_containers"] > 0
        drain(*pair.sites)


def test_back_from_the_smaller_store(bed: Bed, content: bytes) -> None:
    """West never refers to what it does not hold; what it holds, east does, too."""
    with Array() as far, Array() as near:
        pair = bed.pair(far.address, near.address, stores=(EAST, WEST))
        run(*pair.sites)
        replicate(pair, content)
        replicate(replace(pair, entrance=pair.back), content)
        assert pair.east.status()["bytes"]["misses"] == 0
        drain(*pair.sites)
