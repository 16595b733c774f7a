"""A disk that gives nothing for a while, as one on a network: the store waits for it, and has all that it had."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dedupstore import container_file
from dedupstore.errors import ChunkAway, ChunkMissing
from dedupstore.index import Index
from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.failing_disk import SLOTS, Clock, Disk
from tests.unit.dedupstore.stores import opened

PEER = b"p" * 16
ALL = range(A_CONTAINER * SLOTS)
OPEN = ALL[-A_CONTAINER:]
"""In the container that is being filled."""
WRITTEN = ALL[:-A_CONTAINER]
COLD = name_of(A_CONTAINER * 2)
"""Neither is it in memory, nor does it go for what is learned next."""


@pytest.fixture
def full(store: ChunkStore) -> ChunkStore:
    """A store with a container in each slot. Of the first ones only the very first is in memory."""
    fill(store, ALL)
    for number in [*WRITTEN[::A_CONTAINER], 0]:
        fetch(store, name_of(number))
    return store


def goes_away(store: ChunkStore, disk: Disk) -> None:
    disk.read_error = disk.write_error = errno.EIO
    store.load(COLD)
    assert store.alarms


def comes_back(store: ChunkStore, disk: Disk, clock: Clock) -> None:
    disk.read_error = disk.write_error = 0
    clock.now += 61
    store.write()


def test_while_the_disk_gives_nothing_there_is_what_is_in_memory(full: ChunkStore, disk: Disk) -> None:
    goes_away(full, disk)
    (alarm,) = full.alarms
    assert "waits for its disk, which gives nothing (the disk failed: Input/output error)" in alarm
    assert "restart if this stays though it works again" in alarm
    with pytest.raises(ChunkAway):
        full.read(COLD)
    disk.reads = 0
    full.load(COLD, soon=[name_of(A_CONTAINER)])
    full.prefetch(name_of(0))
    assert (full.find(COLD), disk.reads) == (None, 0)
    assert [full.read(name_of(number)) for number in OPEN] == [chunk(number) for number in OPEN]


def test_while_the_disk_gives_nothing_belief_is_not_looked_up(
    tmp_path: Path, disk: Disk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page of the index that the disk did not give ended the process (SIGBUS). And later it is as it was."""
    store = opened(tmp_path, clock=clock)
    fill(store, ALL)
    store.remember(PEER, b"epoch--1")
    store.believe(PEER, 1, 0b101)
    store.close()
    store = opened(tmp_path, clock=clock)
    fetch(store, name_of(0))
    goes_away(store, disk)
    with monkeypatch.context() as patch:
        patch.setattr(Index, "belief", lambda *_: pytest.fail("the index was asked"))
        assert store.find(name_of(0)) == (1, 0)
        assert store.belief(PEER, 1) is None
    comes_back(store, disk, clock)
    assert store.belief(PEER, 1) == 0b101
    store.close()


def test_of_what_is_being_filled_no_belief_is_recorded_yet(full: ChunkStore, disk: Disk) -> None:
    """So it need not be looked up."""
    place = put(full, 1000)
    assert place is not None
    full.remember(PEER, b"epoch--1")
    goes_away(full, disk)
    assert full.belief(PEER, place[0]) == 0


def test_a_disk_that_is_back_after_two_seconds_has_cost_nothing(full: ChunkStore, disk: Disk, clock: Clock) -> None:
    """Each container that was asked for meanwhile was dropped, and each that was learned had driven out another."""
    goes_away(full, disk)
    for number in WRITTEN:
        full.load(name_of(number))
    assert fill(full, range(1000, 1000 + A_CONTAINER * SLOTS)) == [None] * len(ALL)
    assert (full.write_due, full.find(COLD)) == (False, None), "it is not tried at once"
    clock.now += 1.5
    assert full.write_due
    full.write()
    assert full.alarms
    comes_back(full, disk, clock)
    assert healthy(full)
    assert [fetch(full, name_of(number)) for number in WRITTEN] == [chunk(number) for number in WRITTEN]
    with pytest.raises(ChunkMissing) as caught:
        full.read(name_of(123_456))
    assert not isinstance(caught.value, ChunkAway)
    assert (full.figures().invalid, full.figures().chunks) == (0, len(WRITTEN))
    assert put(full, 2000) is not None


def test_what_waits_to_be_written_is_not_waited_for(full: ChunkStore, disk: Disk, clock: Clock) -> None:
    """A source would rest for it; and a write would be tried again and again."""
    for number in range(1000, 1000 + A_CONTAINER + 1):
        put(full, number)
    assert full.unwritten
    full.remember(b"p" * 16, b"epoch--1")
    goes_away(full, disk)
    full.write()
    assert (full.unwritten, full.write_due, disk.errors) == (0, False, 0)
    comes_back(full, disk, clock)
    full.write()
    assert healthy(full)
    assert full.figures().unlearned == 2 * A_CONTAINER


def test_nothing_is_learned_twice_that_cannot_be_looked_up(full: ChunkStore, disk: Disk, clock: Clock) -> None:
    """What came meanwhile went into containers that were open, though it lay on the disk. The store counted it twice,
    and verifying found chunks that were not where they should be."""
    assert put(full, 1000) is not None, "a container is open, and has room"
    goes_away(full, disk)
    chunks = full.figures().chunks
    assert (put(full, 2 * A_CONTAINER), full.figures().chunks) == (None, chunks)
    assert full.find(COLD) is None
    comes_back(full, disk, clock)
    place = full.find(name_of(2 * A_CONTAINER + 1))
    assert place is not None
    goes_away(full, disk)
    assert full.find(COLD) is None
    comes_back(full, disk, clock)
    assert put(full, 2 * A_CONTAINER) == (place[0], 0), "it was missed last, and is held all the same"


def test_a_disk_that_stays_away_is_tried_less_and_less(full: ChunkStore, disk: Disk, clock: Clock) -> None:
    goes_away(full, disk)
    disk.reads = 0
    for _ in range(3600):
        clock.now += 1
        if full.write_due:
            full.write()
    assert 60 <= disk.reads <= 70
    comes_back(full, disk, clock)
    assert held(full, ALL) == list(ALL)
    goes_away(full, disk)
    clock.now += 2
    assert full.write_due, "the next time it is tried soon again"


def test_a_disk_of_which_a_part_is_away_costs_nothing(full: ChunkStore, disk: Disk, clock: Clock) -> None:
    """As one of several that make up a volume. It gives the superblock, and no container that is asked for."""
    disk.slots_error = errno.EIO
    for _ in range(2 * SLOTS):
        for number in WRITTEN:
            full.load(name_of(number))
        clock.now += 2
        full.write()
    disk.slots_error = 0
    comes_back(full, disk, clock)
    clock.now += 60
    assert [fetch(full, name_of(number)) for number in WRITTEN] == [chunk(number) for number in WRITTEN]
    assert healthy(full)
    assert full.figures().invalid == 0


def test_a_disk_of_which_a_part_is_away_is_not_asked_for_each_container(full: ChunkStore, disk: Disk) -> None:
    """What it does not give may take it long."""
    disk.slots_error = errno.EIO
    full.load(COLD)
    assert not any("waits for its disk" in alarm for alarm in full.alarms)
    full.load(name_of(A_CONTAINER))
    assert any("waits for its disk" in alarm for alarm in full.alarms)
    disk.reads = 0
    for number in WRITTEN:
        full.load(name_of(number))
    assert disk.reads == 0


@pytest.mark.parametrize("reads", [1, 2])
def test_a_disk_that_is_back_before_it_is_judged(
    full: ChunkStore, disk: Disk, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """A read that failed is tried again once the disk gives the superblock; if that fails as well, nothing is tried."""
    left = [reads]

    def back_soon(file: int, buffers: list[Any], offset: int) -> int:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return disk.preadv(file, buffers, offset)

    monkeypatch.setattr(container_file, "preadv", back_soon)
    full.load(COLD)
    assert healthy(full) == (reads == 1)
    assert full.figures().invalid == 0


def test_a_store_that_is_closed_meanwhile_is_warm_afterwards(tmp_path: Path, disk: Disk) -> None:
    store = opened(tmp_path)
    fill(store, ALL)
    for number in WRITTEN[::A_CONTAINER]:
        fetch(store, name_of(number))
    goes_away(store, disk)
    store.close()
    disk.read_error = disk.write_error = 0
    store = opened(tmp_path)
    assert healthy(store)
    assert [fetch(store, name_of(number)) for number in WRITTEN] == [chunk(number) for number in WRITTEN]
    store.close()
