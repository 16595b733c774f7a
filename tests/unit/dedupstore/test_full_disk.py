"""A disk that has no room for the whole store, and one that has some again (FORMAT.md)."""

import errno
import shutil
from pathlib import Path

import pytest

from dedupstore.change import Change
from dedupstore.disk import DiskStore
from dedupstore.errors import ChunkMissing, DiskFull
from dedupstore.index import Index
from dedupstore.store import CONTAINER_BYTES
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.failing_disk import SLOTS, Clock, Disk, gives_back_all
from tests.unit.dedupstore.stores import FIVE, SIZE, opened


@pytest.mark.parametrize(
    ("error", "words"),
    [(errno.ENOSPC, "The disk is full: "), (errno.EFBIG, "No file may be longer on this file system: ")],
)
def test_a_full_disk_keeps_the_store_at_its_size(
    store: DiskStore, disk: Disk, tmp_path: Path, error: int, words: str
) -> None:
    """So does a file system whose longest file (16 TiB with ext4) is shorter than the store: nothing was learned any
    more from there on, but slots were given up one by one, as if the disk were bad."""
    disk.room, disk.no_room = 5 * CONTAINER_BYTES + 1234, error
    fill(store, range(A_CONTAINER * 20))
    assert len(store.alarms) == 1
    assert store.alarms[0].startswith(words)
    assert "configure less" in store.alarms[0]
    assert store.figures().containers == 4
    assert (tmp_path / "containers").stat().st_size <= disk.room
    youngest = range(A_CONTAINER * 18, A_CONTAINER * 19)
    assert [fetch(store, name_of(number)) for number in youngest] == [chunk(number) for number in youngest]
    assert store.verify() == (store.figures().chunks, 0)


def test_a_disk_that_was_full_may_be_used_after_a_restart(disk: Disk, clock: Clock, tmp_path: Path) -> None:
    store = opened(tmp_path, clock=clock)
    disk.room = 5 * CONTAINER_BYTES
    fill(store, range(A_CONTAINER * 6))
    store.close()
    disk.room = None
    store = opened(tmp_path, clock=clock)
    assert healthy(store)
    fill(store, range(1000, 1000 + A_CONTAINER * SLOTS))
    assert store.figures().containers == SLOTS
    store.close()


def test_no_room_at_all(store: DiskStore, disk: Disk) -> None:
    disk.room = CONTAINER_BYTES
    places = fill(store, range(A_CONTAINER * 3))
    assert places[-1] is None
    assert "stays at 0 MiB" in store.alarms[0]
    with pytest.raises(ChunkMissing):
        store.read(name_of(0))


def test_a_disk_that_has_room_again_is_used_again(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """One that had been full for a moment kept the store as it was until a restart, at nothing if that was early."""
    disk.room = CONTAINER_BYTES
    fill(store, range(A_CONTAINER * 3))
    disk.room, disk.free_slots = None, 7
    clock.now += 59
    assert put(store, 0) is None, "it does not look at once"
    clock.now += 2
    assert store.write_due
    store.write()
    assert "stays at 0 MiB" in store.alarms[0], "half of what is free is for others, and that is little"

    disk.free_slots = 10
    clock.now += 61
    store.write()
    assert "stays at 20 MiB" in store.alarms[0]
    fill(store, range(1000, 1000 + A_CONTAINER * 8))
    assert store.figures().containers == 5

    disk.free_slots = 1000
    clock.now += 61
    store.write()
    gives_back_all(store)
    assert store.figures().containers == SLOTS


def test_a_disk_that_is_full_again_is_looked_at_less_often(store: DiskStore, disk: Disk, clock: Clock) -> None:
    disk.free_slots = 1000
    for minutes in (1, 2, 4):
        disk.room = 5 * CONTAINER_BYTES
        fill(store, range(A_CONTAINER * 10))
        assert "stays at" in store.alarms[0]
        disk.room = None
        clock.now += 60 * minutes - 1
        store.write()
        assert store.alarms
        clock.now += 2
        store.write()
        assert healthy(store)


def test_a_file_that_may_not_be_longer_is_not_tried_again(store: DiskStore, disk: Disk, clock: Clock) -> None:
    disk.free_slots = 1000
    disk.room, disk.no_room = 5 * CONTAINER_BYTES, errno.EFBIG
    fill(store, range(A_CONTAINER * 10))
    clock.now += 100_000
    store.write()
    assert "restart" in store.alarms[0]

    disk.room, disk.no_room = 3 * CONTAINER_BYTES, errno.ENOSPC
    fill(store, range(1000, 1000 + A_CONTAINER * 10))
    assert store.alarms[0].startswith("The disk is full")
    disk.room = None
    clock.now += 61
    store.write()
    assert store.alarms[0].startswith("No file may be longer"), "it is as large as it may be"


def test_what_was_written_before_in_the_same_write_is_not_cut_off(disk: Disk, clock: Clock, tmp_path: Path) -> None:
    """Nor does the store shrink to what it held before."""
    store = opened(tmp_path, clock=clock)
    disk.room = 4 * CONTAINER_BYTES
    fill(store, range(A_CONTAINER + 1))
    store.pin(3)
    for number in range(A_CONTAINER + 1, A_CONTAINER * 4 + 1):
        put(store, number)
    store.write()
    kept = list(range(A_CONTAINER * 3))
    assert held(store, range(A_CONTAINER * 4)) == kept
    assert "stays at 12 MiB" in store.alarms[0]
    assert [fetch(store, name_of(number)) for number in kept] == [chunk(number) for number in kept]
    store.unpin(3)
    store.close()
    store = opened(tmp_path, clock=clock)
    assert healthy(store)
    assert held(store, range(A_CONTAINER * 4)) == kept
    store.close()


def test_what_lay_where_the_file_is_cut_is_forgotten_at_once(path: Path, disk: Disk, tmp_path: Path) -> None:
    """Though another writer's container was to take its slot, and is not full yet: the index would lead behind the
    file's end, and after a crash the operator be told that the file is too short and has lost something."""
    size, slots = 2 * SIZE, 27
    last = A_CONTAINER * (2 * slots - 2)
    store = opened(path, size)
    fill(store, range(last + 1))
    assert store.figures().containers == slots, "the oldest is in the last one, and what is filled before it"
    store.put(name_of(9999), chunk(9999), 1)
    for number in range(last + 1, last + A_CONTAINER + 1):
        put(store, number)
    disk.write_error = errno.ENOSPC
    store.write()
    assert store.alarms[0].startswith("The disk is full")
    shutil.copytree(path, tmp_path / "crashed")
    crashed = opened(tmp_path / "crashed", size)
    assert healthy(crashed)
    assert crashed.figures().containers == slots - 2
    crashed.close()
    store.close()


def test_a_container_that_goes_for_the_index_at_the_close_is_not_missed(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file had been cut, which the index did not know: the next opening said that the file is too short."""
    commit, failures = Index.commit, [DiskFull("the disk has no room for the index")]

    def failing_once(index: Index, change: Change) -> None:
        if failures:
            raise failures.pop()
        commit(index, change)

    store = opened(filled)
    store.remember(b"p" * 16, b"epoch--1")
    monkeypatch.setattr(Index, "commit", failing_once)
    store.close()
    store = opened(filled)
    assert healthy(store)
    assert held(store, FIVE) == list(FIVE[:-A_CONTAINER])
    assert store.recall(b"p" * 16) == b"epoch--1"
    store.close()


def test_a_disk_that_is_full_in_the_middle(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """Copy-on-write file systems, and slots that were filled in part, need room where there are bytes already."""
    fill(store, range(A_CONTAINER * SLOTS + 1))
    disk.write_error = errno.ENOSPC
    fill(store, range(1000, 1000 + A_CONTAINER * 3))
    disk.write_error = 0
    assert "The disk is full" in store.alarms[0]
    fill(store, range(3000, 3000 + A_CONTAINER * SLOTS))
    assert len(store.alarms) == 1
    assert SLOTS - 4 <= store.figures().containers < SLOTS, "it gave a slot up each time"
    assert store.verify()[1] == 0


def test_a_full_disk_does_not_take_what_is_pinned(store: DiskStore, disk: Disk, clock: Clock) -> None:
    fill(store, range(A_CONTAINER * SLOTS + 1))
    for container in range(2, SLOTS + 1):
        store.pin(container)
    disk.write_error = errno.ENOSPC
    fill(store, range(1000, 1000 + A_CONTAINER * 3))
    assert "has no room for another container" in store.alarms[0]
    assert held(store, range(A_CONTAINER * SLOTS)) == list(range(A_CONTAINER, A_CONTAINER * SLOTS))
    disk.write_error = 0
    clock.now += 11
    fill(store, range(3000, 3000 + A_CONTAINER + 1))
    assert healthy(store)
    assert fetch(store, name_of(3000)) == chunk(3000)
