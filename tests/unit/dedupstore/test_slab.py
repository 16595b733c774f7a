"""Memory that is touched ahead of need, where that can be done."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dedupstore import container_file
from dedupstore.container import PAGE_BYTES, Slab
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, name_of
from tests.unit.dedupstore.stores import FIVE, failing, failing_but_for_the_superblock, opened


def test_each_slot_is_prepared_once() -> None:
    slab = Slab(2, PAGE_BYTES)
    assert [slab.prepare() for _ in range(3)] == [True, True, False]
    assert len(slab) == 2


@pytest.mark.parametrize("error", [errno.ENOENT, errno.EMFILE])
def test_a_slot_that_cannot_be_prepared_is_not_lost(monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    """Out of descriptors, or without /dev: a defect in the store was logged, and a slot of its cache gone for good."""
    slab = Slab(2, PAGE_BYTES)
    monkeypatch.setattr("dedupstore.container.open", failing(error), raising=False)
    assert not slab.prepare()
    assert len(slab) == 2
    assert [slab.take() is not None for _ in range(3)] == [True, True, False]


def test_reads_that_fail_take_no_memory_for_good(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(path)
    for attempt in range(5):
        numbers = range(1000 * attempt, 1000 * attempt + A_CONTAINER * 11)
        fill(store, numbers)
        for number in numbers[:: 2 * A_CONTAINER]:
            with monkeypatch.context() as disk:
                disk.setattr(container_file, "preadv", failing_but_for_the_superblock)
                store.load(name_of(number))
            store.load(name_of(number + A_CONTAINER))
    fill(store, FIVE)
    assert [fetch(store, name_of(number)) for number in FIVE] == [chunk(number) for number in FIVE]
    store.close()


def test_a_container_that_is_evicted_while_it_is_read_takes_no_memory_for_good(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread learns meanwhile, and the oldest container is the one that makes room."""
    store = opened(path)
    fill(store, range(A_CONTAINER * 12))
    for attempt in range(1, 11):
        oldest = name_of(attempt * A_CONTAINER)
        assert store.find(oldest) is not None

        def evicting(file: int, buffers: list[Any], offset: int, first: int = 1000 * attempt) -> int:
            monkeypatch.undo()
            fill(store, range(first, first + A_CONTAINER))
            return os.preadv(file, buffers, offset)

        monkeypatch.setattr(container_file, "preadv", evicting)
        store.load(oldest)
        assert store.find(oldest) is None
    numbers = range(10_000, 10_000 + A_CONTAINER)
    assert [fetch(store, name_of(number)) for number in numbers] == [chunk(number) for number in numbers]
    store.close()
