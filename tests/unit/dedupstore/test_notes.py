"""What is noted about peers is due by itself: a store that learns nothing more would keep it in memory only."""

import errno
import os
import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore import container_file, open_store
from dedupstore.beliefs import MOST_STORES, SITE_BYTES, RecordedBeliefs
from dedupstore.errors import DiskFull, StoreFault
from dedupstore.index import Index
from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER, fill
from tests.unit.dedupstore.failing_disk import due
from tests.unit.dedupstore.stores import SIZE, failing, opened

PEER = b"a site, a store."
WRITTEN, OPEN = 1, 2
"""Containers: the one that is on disk, and the one that is being filled."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChunkStore]:
    store = opened(tmp_path / "store")
    fill(store, range(A_CONTAINER + 1))
    store.remember(PEER, b"an epoch")
    store.write()
    yield store
    store.close()


def after_a_power_cut(tmp_path: Path) -> ChunkStore:
    """What opens from the files as they lie there now."""
    shutil.copytree(tmp_path / "store", tmp_path / "later")
    return opened(tmp_path / "later")


def test_belief_about_a_container_on_disk_is_due_until_it_is_written(store: ChunkStore, tmp_path: Path) -> None:
    assert not due(store)
    store.believe(PEER, WRITTEN, 0b11)
    assert due(store)
    assert not store.unwritten
    store.write()
    assert not due(store)
    later = after_a_power_cut(tmp_path)
    assert (later.recall(PEER), later.belief(PEER, WRITTEN)) == (b"an epoch", 0b11)
    later.close()


def test_notes_survive_a_disk_that_is_gone_for_a_while(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes nothing, nor says how full it is, or how long a file: that passed for a defect, without an alarm, and
    they were lost."""
    store.believe(PEER, WRITTEN, 0b11)
    allowed = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(os, "statvfs", failing(errno.ENOTCONN))
    monkeypatch.setattr(container_file, "fstat", failing(errno.ENOTCONN))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, allowed[1]))
    try:
        store.write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
        monkeypatch.undo()
    (alarm,) = store.alarms
    assert "cannot be used (the index failed: " in alarm
    store.write()
    assert not store.alarms
    later = after_a_power_cut(tmp_path)
    assert later.belief(PEER, WRITTEN) == 0b11
    later.close()


def test_belief_about_a_container_that_is_being_filled_waits_for_it(store: ChunkStore) -> None:
    store.believe(PEER, OPEN, 1)
    assert not due(store)


def test_an_epoch_and_disbelief_are_due(store: ChunkStore, tmp_path: Path) -> None:
    store.remember(PEER, b"a newer ")
    assert due(store)
    store.write()
    store.disbelieve(PEER)
    assert due(store)
    store.write()
    assert not due(store)
    later = after_a_power_cut(tmp_path)
    assert later.recall(PEER) is None
    later.close()


def test_what_was_believed_of_a_peer_that_is_met_anew_stays_forgotten(store: ChunkStore, tmp_path: Path) -> None:
    store.believe(PEER, WRITTEN, 0b11)
    store.write()
    store.disbelieve(PEER)
    store.remember(PEER, b"another.")
    store.write()
    later = after_a_power_cut(tmp_path)
    assert (later.recall(PEER), later.belief(PEER, WRITTEN)) == (b"another.", 0)
    later.close()


def test_belief_about_a_container_that_has_gone_is_never_due() -> None:
    beliefs = RecordedBeliefs(lambda: 0.0, {}, lambda peer, container: 0)
    for container in (WRITTEN, OPEN):
        beliefs.believe(PEER, container, 1)
    beliefs.forget(WRITTEN)
    assert beliefs.changes(lambda container: True).bits == {(PEER, OPEN): 1}
    assert not beliefs.due(lambda container: True)


def test_nor_is_that_about_one_that_went_while_it_could_not_be_written() -> None:
    beliefs = RecordedBeliefs(lambda: 0.0, {}, lambda peer, container: 0)
    for container in (WRITTEN, OPEN):
        beliefs.believe(PEER, container, 1)
    beliefs.changes(lambda container: True)
    beliefs.forget(WRITTEN)
    beliefs.give_back()
    assert beliefs.changes(lambda container: True).bits == {(PEER, OPEN): 1}


def test_belief_that_is_not_written_down_yet_makes_no_room_for_what_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked up is kept in memory, and not for ever; what is nowhere else has to be."""
    monkeypatch.setattr(RecordedBeliefs, "MOST_HELD", 4)
    looked_up: list[int] = []

    def recorded(peer: bytes, container: int) -> int:
        looked_up.append(container)
        return 1

    beliefs = RecordedBeliefs(lambda: 0.0, {}, recorded)
    for container in range(3):
        beliefs.believe(PEER, container, 0b11)
    for _ in range(2):
        assert [beliefs.belief(PEER, container) for container in range(10)] == [0b11] * 3 + [1] * 7
    assert len(looked_up) > 7, "otherwise all of it was kept"
    assert beliefs.changes(lambda container: True).bits == {(PEER, container): 0b11 for container in range(3)}


def test_what_a_peer_was_believed_to_hold_is_not_believed_of_its_next_store_while_it_is_being_dropped() -> None:
    """The record still has it."""
    beliefs = RecordedBeliefs(lambda: 0.0, {}, lambda peer, container: 0b11)
    beliefs.disbelieve(PEER)
    beliefs.remember(PEER, b"epoch")
    assert beliefs.changes(lambda container: True).disbelieved == {PEER}
    assert beliefs.belief(PEER, 1) == 0


def test_of_a_peer_that_was_forgotten_before_it_was_written_down_nothing_is() -> None:
    beliefs = RecordedBeliefs(lambda: 0.0, {}, lambda peer, container: 0)
    beliefs.remember(PEER, b"epoch")
    beliefs.disbelieve(PEER)
    notes = beliefs.changes(lambda container: True)
    assert notes.disbelieved == {PEER}
    assert not notes.peers


def test_of_a_sites_many_stores_the_latest_stays_though_the_clock_was_set_back() -> None:
    times = iter([100.0] * MOST_STORES + [50.0])
    beliefs = RecordedBeliefs(lambda: next(times), {}, lambda peer, container: 0)
    stores = [PEER[:SITE_BYTES] + number.to_bytes(8) for number in range(MOST_STORES + 1)]
    for store in stores:
        beliefs.remember(store, b"epoch")
    assert list(beliefs.peers) == stores[1:]


def test_nothing_is_due_while_writing_rests_after_a_failure(store: ChunkStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(container_file, "pwrite", failing(errno.EIO))
        fill(store, range(100, 100 + A_CONTAINER * 2))
    assert store.alarms
    store.believe(PEER, WRITTEN, 1)
    assert not due(store)


def test_a_store_in_memory_has_nothing_to_write_down() -> None:
    store = open_store("memory", SIZE)
    store.remember(PEER, b"an epoch")
    assert not due(store)
    store.close()


def test_notes_that_find_the_disk_full_cost_one_container_not_one_each_time(
    store: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever fills the disk may take at once what was given back for them."""

    def full(*_: object) -> None:
        raise DiskFull("the disk has no room for the index")

    fill(store, range(100, 100 + A_CONTAINER * 3))
    store.write()
    before = store.figures().containers
    with monkeypatch.context() as broken:
        broken.setattr(Index, "commit", full)
        store.believe(PEER, WRITTEN, 1)
        store.write()
    assert store.figures().containers == before - 1
    assert not due(store)


def write_in_vain(store: ChunkStore) -> None:
    """The disk fails while the index is written."""

    def failing(*_: object) -> None:
        raise StoreFault("the disk failed: Input/output error")

    with pytest.MonkeyPatch.context() as broken:
        broken.setattr(Index, "commit", failing)
        store.write()


def test_disbelief_that_could_not_be_written_is_written_the_next_time(store: ChunkStore, tmp_path: Path) -> None:
    """Row 20: a peer whose store is an older one must not be believed to have what was exchanged since."""
    store.believe(PEER, WRITTEN, 0b11)
    store.write()
    store.disbelieve(PEER)
    store.remember(PEER, b"another.")
    write_in_vain(store)
    assert store.belief(PEER, WRITTEN) == 0
    store.write()
    later = after_a_power_cut(tmp_path)
    assert (later.recall(PEER), later.belief(PEER, WRITTEN)) == (b"another.", 0)
    later.close()


def test_so_is_belief(store: ChunkStore, tmp_path: Path) -> None:
    store.believe(PEER, WRITTEN, 0b11)
    store.remember(PEER, b"a newer ")
    write_in_vain(store)
    store.write()
    later = after_a_power_cut(tmp_path)
    assert (later.recall(PEER), later.belief(PEER, WRITTEN)) == (b"a newer ", 0b11)
    later.close()


@pytest.mark.parametrize("fails", [False, True])
def test_belief_that_is_being_written_is_not_forgotten(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """Others are asked for meanwhile, and the record does not have it yet."""
    monkeypatch.setattr(RecordedBeliefs, "MOST_HELD", 4)
    record: dict[tuple[bytes, int], int] = {(PEER, 1): 0b1}
    beliefs = RecordedBeliefs(lambda: 0.0, {}, lambda peer, container: record.get((peer, container), 0))
    beliefs.believe(PEER, 1, 0b11)
    notes = beliefs.changes(lambda container: True)
    for container in range(2, 10):
        beliefs.belief(PEER, container)
    assert beliefs.belief(PEER, 1) == 0b11
    if fails:
        beliefs.give_back()
        notes = beliefs.changes(lambda container: True)
    record.update(notes.bits)
    beliefs.written()
    assert beliefs.belief(PEER, 1) == record[PEER, 1] == 0b11
    for container in range(2, 10):
        beliefs.belief(PEER, container)
    assert len(beliefs._bits) <= RecordedBeliefs.MOST_HELD
