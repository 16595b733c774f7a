"""What a store of a given size finds, against stores that were played through with every chunk."""

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.analysis.stores import OldestFirst, Stores


def played(names: list[int], size: int) -> int:
    """Chunks of one byte that a store finds whose oldest goes first."""
    held: deque[int] = deque(maxlen=size)
    found = 0
    for name in names:
        if name in held:
            found += 1
        else:
            held.append(name)
    return found


@given(st.lists(st.integers(0, 40)), st.integers(1, 30))
def test_the_oldest_goes_first(names: list[int], size: int) -> None:
    store = OldestFirst(size)
    for name in names:
        store.meet(name, 1)
        assert len(store) <= size
    assert store.found == played(names, size)


def hits(names: list[int], followed: int) -> dict[int, float]:
    stores = Stores(len(names), smallest=64, followed=followed)
    for name in names:
        stores.meet(name << 32, 1)
    return {each.size: each.share for each in stores.result(1.0)}


def test_sizes_double_until_a_larger_store_finds_no_more() -> None:
    names = [*range(200)] * 3
    assert hits(names, 10_000) == {64: 0, 128: 0, 256: pytest.approx(2 / 3)}
    assert hits([*range(1000)], 10_000) == {64: 0}
    assert hits([], 10_000) == {64: 0}


def test_a_sample_is_close_also_where_a_few_chunks_are_most_of_it() -> None:
    draw = random.Random(3)
    names = [draw.choice((7, 1000 + int(draw.paretovariate(0.3)) % 20_000)) for _ in range(60_000)]
    names = [name * 0x9E3779B1 % (1 << 32) for name in names]
    exact, sampled = hits(names, 1 << 20), hits(names, 500)
    assert sampled != exact, "of four thousand chunks"
    for size in (64, 256, 1024):
        assert sampled[size] == pytest.approx(exact[size], abs=0.03)
