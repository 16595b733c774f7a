"""The bound up to which sealed containers may wait for the disk leaves room for what is under way when it is passed."""

from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.container import LARGE as LARGE_SLOTS
from dedupstore.container import SMALL, Layout
from dedupstore.disk import DiskStore
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, name_of

UNDER_WAY = A_CONTAINER - 1
"""Chunks of the batches that come although the sources were told to rest."""


@pytest.mark.parametrize("layout", [SMALL, LARGE_SLOTS], ids=lambda layout: f"{layout.slot_bytes >> 20} MiB")
@pytest.mark.parametrize("cache", [32 << 20, 64 << 20, 256 << 20])
def test_nothing_passes_unlearned_before_the_loop_rests(tmp_path: Path, cache: int, layout: Layout) -> None:
    store = DiskStore(tmp_path, 512 << 20, cache_bytes=cache, new=layout)
    number = 0
    while store.unwritten <= store.unwritten_max:
        store.put(name_of(number), chunk(number, LARGE))
        number += 1
    for later in range(number, number + UNDER_WAY):
        store.put(name_of(later), chunk(later, LARGE))
    assert store.figures().unlearned == 0
    assert store.unwritten_max <= min(64 << 20, cache // 2)
    store.close()


def test_one_write_is_one_transaction_and_the_end_writes_all(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, 512 << 20)
    number = 0
    while store.unwritten <= 40 << 20:
        store.put(name_of(number), chunk(number, LARGE))
        number += 1
    waiting = store.unwritten
    store.write()
    assert 24 << 20 < waiting - store.unwritten <= 32 << 20
    store.close()
    reopened = DiskStore(tmp_path, 512 << 20)
    assert reopened.figures().chunks == number
    reopened.close()


def test_a_quarter_of_a_small_store_waits_at_most(tmp_path: Path) -> None:
    store = DiskStore(tmp_path, 64 << 20)
    assert 4 << 20 <= store.unwritten_max <= 16 << 20
    store.close()


def test_a_store_in_memory_never_lags() -> None:
    store = open_store("memory", 64 << 20)
    assert store.unwritten <= store.unwritten_max
    store.close()
