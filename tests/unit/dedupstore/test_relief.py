"""A full index costs the oldest container: nothing about it is written down afterwards."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dedupstore.change import Change
from dedupstore.container import LARGE
from dedupstore.errors import ChunkInvalid, IndexFull
from dedupstore.index import Index
from tests.conformance.filling import A_CONTAINER, fetch, fill, name_of, put
from tests.unit.dedupstore.stores import damage, opened

PEER = b"p" * 16


def crowded_once(patch: pytest.MonkeyPatch) -> None:
    """The index seems to have no room for the next change."""
    answers = iter([True])
    patch.setattr(Index, "crowded", lambda index, change: next(answers, False))


def full_once(patch: pytest.MonkeyPatch) -> None:
    """The next transaction finds the map full."""
    commit, failures = Index.commit, iter([IndexFull("the index map is full")])

    def committing(index: Index, change: Change) -> None:
        if failure := next(failures, None):
            raise failure
        commit(index, change)

    patch.setattr(Index, "commit", committing)


@pytest.mark.parametrize("fail", [crowded_once, full_once])
def test_nothing_is_left_of_a_container_that_went_for_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: Callable[[pytest.MonkeyPatch], None]
) -> None:
    store = opened(tmp_path)
    fill(store, range(A_CONTAINER * 3))
    store.close()
    damage(tmp_path, 1, LARGE.data_offset + 77)
    store = opened(tmp_path)
    store.remember(PEER, b"epoch--1")
    store.write()
    with pytest.raises(ChunkInvalid):
        fetch(store, name_of(0))
    for container in (1, 2):
        store.believe(PEER, container, 7)
    for number in range(100, 100 + A_CONTAINER + 1):
        put(store, number)
    assert store.unwritten
    fail(monkeypatch)
    store.write()
    monkeypatch.undo()
    assert [store.belief(PEER, container) for container in (1, 2)] == [0, 7]
    store.close()
    index = Index(tmp_path / "index", 16 << 20)
    try:
        assert min(number for number, _ in index.rows()) == 2
        assert [index.belief(PEER, container) for container in (1, 2)] == [0, 7]
    finally:
        index.close()


@pytest.mark.parametrize("fail", [crowded_once, full_once])
def test_the_slot_of_a_container_that_went_for_the_index_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail: Callable[[pytest.MonkeyPatch], None]
) -> None:
    store = opened(tmp_path)
    fill(store, range(A_CONTAINER * 12))
    most = store.figures().containers
    for attempt in range(1, 4):
        with monkeypatch.context() as patch:
            fail(patch)
            fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER + 1))
    fill(store, range(10_000, 10_000 + A_CONTAINER * 24))
    assert store.figures().containers == most
    store.close()
