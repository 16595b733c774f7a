"""A disk that works but for a place, or again: the store does without the slot there, and says no more than is true."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore import container_file, open_store
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, name_of, put

SIZE = 64 << 20
SLOTS = 11


class Disk:
    """The system's disk, that of some slots takes nothing, or has no room where nothing is yet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bad = range(0)
        self.error = errno.EIO
        self.errors = 0
        self.full = False
        self.now = 1_700_000_000.0
        monkeypatch.setattr(container_file, "pwrite", self.pwrite)

    def pwrite(self, file: int, data: memoryview, offset: int) -> int:
        if offset // CONTAINER_BYTES in self.bad:
            self.errors += 1
            raise OSError(self.error, os.strerror(self.error))
        if self.full and is_hole(file, offset):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(file, data, offset)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[ChunkStore]:
    opened = open_store("disk", SIZE, tmp_path, cache_bytes=32 << 20, clock=lambda: disk.now)
    yield opened
    opened.close()


def is_hole(file: int, offset: int) -> bool:
    """Whether a write there takes room."""
    return offset >= os.fstat(file).st_size or os.lseek(file, offset, os.SEEK_DATA) != offset


def due(store: ChunkStore) -> bool:
    return store.write_due


def test_a_slot_that_cannot_be_written_is_left_alone(store: ChunkStore, disk: Disk) -> None:
    """Being free it was the next one each time, so half of all that came was lost, and the alarm came and went."""
    disk.bad = range(3, 4)
    for number in range(A_CONTAINER * SLOTS * 3):
        disk.now += 1
        fill(store, range(number, number + 1))
    assert disk.errors == 2
    assert store.figures().containers == SLOTS - 1
    (alarm,) = store.alarms
    assert "does without 4 MiB of its file, which cannot be written (the disk failed: Input/output error)" in alarm
    unlearned = store.figures().unlearned
    fill(store, range(10_000, 10_000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().unlearned == unlearned
    assert store.verify()[1] == 0


def test_slots_that_cannot_be_written_are_left_alone_by_a_single_stream(store: ChunkStore, disk: Disk) -> None:
    """It filled one after the other: no container was written between their failures, and nothing ever learned."""
    disk.bad = range(3, 6)
    for number in range(A_CONTAINER * SLOTS * 9):
        disk.now += 5
        put(store, number)
        if store.unwritten or store.write_due:  # as each second
            store.write()
    assert store.figures().containers == SLOTS - 3
    (alarm,) = store.alarms
    assert "does without 12 MiB" in alarm


def test_a_disk_that_is_full_when_it_is_tried_costs_no_containers(store: ChunkStore, disk: Disk) -> None:
    """As where each write takes room, and what is given back is in a snapshot still: one went each second."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    disk.bad = range(SLOTS + 1)
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    disk.now += 641
    fill(store, range(2000, 2001))
    disk.error = errno.ENOSPC
    before, errors = store.figures().containers, disk.errors
    for _ in range(100):
        disk.now += 1
        if store.write_due:
            store.write()
    assert store.figures().containers == before
    assert disk.errors - errors < 4
    assert "takes nothing new (the disk has no room" in store.alarms[0]


def test_slots_that_a_whole_disk_did_not_take_are_used_again(store: ChunkStore, disk: Disk) -> None:
    fill(store, range(A_CONTAINER * 2))
    for attempt in range(1, 6):
        disk.bad = range(SLOTS + 1)
        fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER * 3))
        assert store.alarms
        disk.bad = range(0)
        disk.now += 641
        fill(store, range(1000 * attempt + 500, 1000 * attempt + 500 + A_CONTAINER * 3))
    fill(store, range(10_000, 10_000 + A_CONTAINER * SLOTS * 2))
    assert healthy(store)
    assert store.figures().containers == SLOTS


def test_a_slot_that_was_written_in_between_has_not_failed_again(store: ChunkStore, disk: Disk) -> None:
    """A disk that fails once a week at the same place would lose its store slot by slot, until the next restart."""
    number = 0
    for _ in range(3):
        disk.bad, errors = range(3, 4), disk.errors
        for _ in range(2 * A_CONTAINER * SLOTS):
            if disk.errors == errors:
                fill(store, range(number, number := number + 1))
        disk.bad = range(0)
        disk.now += 641
        fill(store, range(number, number := number + 2 * A_CONTAINER))
    assert disk.errors == 3, "or it is not tried any more"
    assert healthy(store)
    fill(store, range(number, number + A_CONTAINER * SLOTS))
    assert store.figures().containers == SLOTS


def test_a_disk_that_is_gone_again_and_again_costs_no_slots(store: ChunkStore, disk: Disk) -> None:
    """Where little came each failure was one more of a slot: all were said to be bad, and the store learned nothing."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    for attempt in range(1, SLOTS * 2):
        disk.bad = range(SLOTS + 1)
        fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER + 1))
        assert store.alarms
        disk.bad = range(0)
        disk.now += 641
        store.write()
        assert healthy(store)
    fill(store, range(100_000, 100_000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().containers == SLOTS


def test_a_disk_that_works_again_is_an_alarm_no_more(store: ChunkStore, disk: Disk) -> None:
    """Also where too little comes to fill a container: for days it was said that the store takes nothing new."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    disk.bad = range(SLOTS + 1)
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    (alarm,) = store.alarms
    assert "takes nothing new" in alarm
    disk.now += 641
    fill(store, range(2000, 2001))
    errors = disk.errors
    for _ in range(3):
        if store.write_due:
            store.write()
    assert disk.errors == errors + 1, "it is tried as seldom as with containers"
    assert store.alarms == (alarm,)
    disk.bad = range(0)
    disk.now += 641
    assert due(store)
    store.write()
    assert healthy(store)
    assert not due(store)
    assert store.find(name_of(2000)) is not None
    fill(store, range(3000, 3000 + A_CONTAINER))
    assert fetch(store, name_of(2000)) == chunk(2000)
    assert store.verify()[1] == 0


def test_a_host_without_memory_does_not_keep_a_disk_from_being_tried(
    store: ChunkStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passed for a defect of the store, each second, and closing the store ended with it."""

    def out_of_memory(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    disk.bad = range(SLOTS + 1)
    fill(store, range(A_CONTAINER * 2))
    disk.bad = range(0)
    disk.now += 641
    monkeypatch.setattr("dedupstore.container.mmap.mmap", out_of_memory)
    assert due(store)
    store.write()
    assert healthy(store)
    fill(store, range(1000, 1000 + A_CONTAINER))
    assert store.verify() == (store.figures().chunks, 0)


def fail_while_full(store: ChunkStore, disk: Disk) -> None:
    """The disk is full, and takes nothing at all until it is time to try it again."""
    disk.full = True
    disk.bad = range(SLOTS + 1)
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    assert store.alarms
    disk.bad = range(0)
    disk.now += 641


def test_a_full_disk_takes_the_page_by_which_it_is_tried(store: ChunkStore, disk: Disk) -> None:
    """As it takes containers in place of others: it was said to take nothing, and for minutes nothing was learned."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    fail_while_full(store, disk)
    assert due(store)
    store.write()
    assert healthy(store)


def test_a_store_that_a_former_version_began_gets_that_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it came to lie in a hole, a full disk still took none."""
    monkeypatch.setattr(container_file, "BEGINNING_BYTES", container_file.SUPERBLOCK_BYTES)
    former = open_store("disk", SIZE, tmp_path, cache_bytes=32 << 20)
    fill(former, range(A_CONTAINER * (SLOTS + 1)))
    former.close()
    monkeypatch.undo()
    disk = Disk(monkeypatch)
    store = open_store("disk", SIZE, tmp_path, cache_bytes=32 << 20, clock=lambda: disk.now)
    fail_while_full(store, disk)
    store.write()
    assert healthy(store)
    store.close()
