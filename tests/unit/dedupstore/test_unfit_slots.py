"""A disk that works but for a place, or again: the store does without the slot there, and says no more than is true."""

import errno
from pathlib import Path

import pytest

from dedupstore import container_file
from dedupstore.disk import DiskStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, name_of, put
from tests.unit.dedupstore.failing_disk import SLOTS, Clock, Disk, due
from tests.unit.dedupstore.stores import failing, opened


def test_a_slot_that_cannot_be_written_is_left_alone(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """Being free it was the next one each time, so half of all that came was lost, and the alarm came and went."""
    disk.bad = range(3, 4)
    for number in range(A_CONTAINER * SLOTS * 3):
        clock.now += 1
        fill(store, range(number, number + 1))
    assert disk.errors == 2
    assert store.figures().containers == SLOTS - 1
    (alarm,) = store.alarms
    assert "does without 4 MiB of its file, which cannot be written (the disk failed: Input/output error)" in alarm
    unlearned = store.figures().unlearned
    fill(store, range(10_000, 10_000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().unlearned == unlearned
    assert store.verify()[1] == 0


def test_slots_that_cannot_be_written_are_left_alone_by_a_single_stream(
    store: DiskStore, disk: Disk, clock: Clock
) -> None:
    """It filled one after the other: no container was written between their failures, and nothing ever learned."""
    disk.bad = range(3, 6)
    for number in range(A_CONTAINER * SLOTS * 9):
        clock.now += 5
        put(store, number)
        if store.unwritten or store.write_due:  # as each second
            store.write()
    assert store.figures().containers == SLOTS - 3
    (alarm,) = store.alarms
    assert "does without 12 MiB" in alarm


def test_a_disk_that_is_full_when_it_is_tried_costs_no_containers(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """As where each write takes room, and what is given back is in a snapshot still: one went each second."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    disk.write_error = errno.EIO
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    clock.now += 641
    fill(store, range(2000, 2001))
    disk.write_error = errno.ENOSPC
    before, errors = store.figures().containers, disk.errors
    for _ in range(100):
        clock.now += 1
        if store.write_due:
            store.write()
    assert store.figures().containers == before
    assert disk.errors - errors < 4
    assert "takes nothing new (the disk has no room" in store.alarms[0]


def test_slots_that_a_whole_disk_did_not_take_are_used_again(store: DiskStore, disk: Disk, clock: Clock) -> None:
    fill(store, range(A_CONTAINER * 2))
    for attempt in range(1, 6):
        disk.write_error = errno.EIO
        fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER * 3))
        assert store.alarms
        disk.write_error = 0
        clock.now += 641
        fill(store, range(1000 * attempt + 500, 1000 * attempt + 500 + A_CONTAINER * 3))
    fill(store, range(10_000, 10_000 + A_CONTAINER * SLOTS * 2))
    assert healthy(store)
    assert store.figures().containers == SLOTS


def test_a_slot_that_was_written_in_between_has_not_failed_again(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """A disk that fails once a week at the same place would lose its store slot by slot, until the next restart."""
    number = 0
    for _ in range(3):
        disk.bad, errors = range(3, 4), disk.errors
        for _ in range(2 * A_CONTAINER * SLOTS):
            if disk.errors == errors:
                fill(store, range(number, number := number + 1))
        disk.bad = range(0)
        clock.now += 641
        fill(store, range(number, number := number + 2 * A_CONTAINER))
    assert disk.errors == 3, "or it is not tried any more"
    assert healthy(store)
    fill(store, range(number, number + A_CONTAINER * SLOTS))
    assert store.figures().containers == SLOTS


def test_a_disk_that_is_gone_again_and_again_costs_no_slots(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """Where little came each failure was one more of a slot: all were said to be bad, and the store learned nothing."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    for attempt in range(1, SLOTS * 2):
        disk.write_error = errno.EIO
        fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER + 1))
        assert store.alarms
        disk.write_error = 0
        clock.now += 641
        store.write()
        assert healthy(store)
    fill(store, range(100_000, 100_000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().containers == SLOTS


def test_a_disk_that_works_again_is_an_alarm_no_more(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """Also where too little comes to fill a container: for days it was said that the store takes nothing new."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    disk.write_error = errno.EIO
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    (alarm,) = store.alarms
    assert "takes nothing new" in alarm
    clock.now += 641
    fill(store, range(2000, 2001))
    errors = disk.errors
    for _ in range(3):
        if store.write_due:
            store.write()
    assert disk.errors == errors + 1, "it is tried as seldom as with containers"
    assert store.alarms == (alarm,)
    disk.write_error = 0
    clock.now += 641
    assert due(store)
    store.write()
    assert healthy(store)
    assert not due(store)
    assert store.find(name_of(2000)) is not None
    fill(store, range(3000, 3000 + A_CONTAINER))
    assert fetch(store, name_of(2000)) == chunk(2000)
    assert store.verify()[1] == 0


def test_a_host_without_memory_does_not_keep_a_disk_from_being_tried(
    store: DiskStore, disk: Disk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passed for a defect of the store, each second, and closing the store ended with it."""
    disk.write_error = errno.EIO
    fill(store, range(A_CONTAINER * 2))
    disk.write_error = 0
    clock.now += 641
    monkeypatch.setattr("dedupstore.container.mmap.mmap", failing(errno.ENOMEM))
    assert due(store)
    store.write()
    assert healthy(store)
    fill(store, range(1000, 1000 + A_CONTAINER))
    assert store.verify() == (store.figures().chunks, 0)


def fail_while_full(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """The disk is full, and takes nothing at all until it is time to try it again."""
    disk.full = True
    disk.write_error = errno.EIO
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    assert store.alarms
    disk.write_error = 0
    clock.now += 641


def test_a_full_disk_takes_the_page_by_which_it_is_tried(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """As it takes containers in place of others: it was said to take nothing, and for minutes nothing was learned."""
    fill(store, range(A_CONTAINER * (SLOTS + 1)))
    fail_while_full(store, disk, clock)
    assert due(store)
    store.write()
    assert healthy(store)


def test_a_store_that_a_former_version_began_gets_that_page(
    path: Path, disk: Disk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it came to lie in a hole, a full disk still took none."""
    with monkeypatch.context() as former_version:
        former_version.setattr(container_file, "BEGINNING_BYTES", container_file.SUPERBLOCK_BYTES)
        former = opened(path)
        fill(former, range(A_CONTAINER * (SLOTS + 1)))
        former.close()
    store = opened(path, clock=clock)
    fail_while_full(store, disk, clock)
    store.write()
    assert healthy(store)
    store.close()
