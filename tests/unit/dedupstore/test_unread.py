"""Containers that a disk does not give: passed over for a while, and dropped by nobody, for they may be back."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dedupstore import container_file
from dedupstore.errors import ChunkAway, ChunkMissing
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.failing_disk import SLOTS, Clock, Disk, evict_from_cache
from tests.unit.dedupstore.stores import FIVE, damage, opened, verified

ALL = range(A_CONTAINER * SLOTS)


def test_a_container_that_cannot_be_read_is_passed_over_for_a_while(
    store: ChunkStore, disk: Disk, clock: Clock
) -> None:
    """It was dropped, though the part of the disk where it lies may only be away for a moment."""
    fill(store, ALL)
    evict_from_cache(store)
    assert store.read(name_of(0)) is None
    disk.slots_error = errno.EIO
    store.load(name_of(0))
    with pytest.raises(ChunkAway):
        store.read(name_of(0))
    with pytest.raises(ChunkMissing) as caught:
        store.read(name_of(123_456))
    assert not isinstance(caught.value, ChunkAway)
    (alarm,) = store.alarms
    assert "cannot be read (the disk failed: Input/output error); see to the disk." in alarm
    disk.slots_error = 0
    disk.reads = 0
    store.load(name_of(0))
    assert (store.find(name_of(0)), disk.reads) == (None, 0)
    assert held(store, ALL) == list(ALL[A_CONTAINER:])
    evict_from_cache(store)
    assert store.alarms == (alarm,), "what else the disk gives does not help that container"
    clock.now += 1
    assert [fetch(store, name_of(number)) for number in ALL[:A_CONTAINER]] == [chunk(n) for n in ALL[:A_CONTAINER]]
    assert store.figures().invalid == 0
    assert healthy(store)


def test_a_container_that_stays_unreadable_is_tried_less_and_less(store: ChunkStore, disk: Disk, clock: Clock) -> None:
    """Each try may take long, and whoever wants something else from that disk waits for it."""
    fill(store, ALL)
    evict_from_cache(store)
    tries = 0
    for _ in range(24 * 60):
        clock.now += 60
        disk.slots_error, disk.reads = errno.EIO, 0
        store.load(name_of(0))
        tries += disk.reads > 0
        disk.slots_error = 0
        evict_from_cache(store)
    assert 24 <= tries <= 40


def test_that_a_container_cannot_be_read_is_told_until_it_may_be_tried_again(
    disk: Disk, clock: Clock, tmp_path: Path
) -> None:
    """Not until anything else was read, nor for months after the last one who asked for it."""
    numbers = range(3 * A_CONTAINER)
    store = opened(tmp_path, clock=clock)
    fill(store, numbers)
    store.close()
    store = opened(tmp_path, clock=clock)
    disk.slots_error = errno.EIO
    store.load(name_of(0))
    disk.slots_error = 0
    store.load(name_of(A_CONTAINER))
    assert not healthy(store)
    clock.now += 1
    store.load(name_of(2 * A_CONTAINER))
    assert healthy(store)
    store.close()


def test_one_that_is_evicted_is_told_of_no_longer(store: ChunkStore, disk: Disk) -> None:
    """Nor is it remembered, as others would be for as long as the disk has bad places."""
    fill(store, ALL)
    evict_from_cache(store)
    disk.slots_error = errno.EIO
    store.load(name_of(0))
    disk.slots_error = 0
    evict_from_cache(store)
    assert not healthy(store)
    put(store, 1000)
    evict_from_cache(store)
    assert healthy(store)


def test_what_could_not_be_read_is_learned_anew(disk: Disk, clock: Clock, tmp_path: Path) -> None:
    """Verifying found the older container to list chunks that it had not, and to be damaged."""
    store = opened(tmp_path, clock=clock)
    numbers = range(9 * A_CONTAINER)
    fill(store, numbers)
    evict_from_cache(store)
    disk.slots_error = errno.EIO
    store.load(name_of(0))
    disk.slots_error = 0
    fill(store, [*range(A_CONTAINER), 1000])
    assert store.find(name_of(0)) == (10, 0)
    clock.now += 1
    assert [fetch(store, name_of(number)) for number in numbers] == [chunk(number) for number in numbers]
    assert store.figures().chunks == len(numbers) + 1
    store.close()
    assert verified(tmp_path) == (len(numbers) + 1, 0, True, ())


def test_what_was_missed_last_may_be_held_after_all(
    store: ChunkStore, disk: Disk, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was learned once more, where another chunk of its container had been read alone."""
    fill(store, ALL)
    evict_from_cache(store)
    monkeypatch.setattr(Scatter, "scattered", True)
    monkeypatch.setattr(Scatter, "alone", lambda *_: True)
    disk.slots_error = errno.EIO
    store.load(name_of(0))
    disk.slots_error = 0
    assert store.find(name_of(0)) is None
    clock.now += 1
    store.load(name_of(1))
    assert store.read(name_of(1)) == chunk(1)
    assert put(store, 0) == (1, 0)


def test_verifying_drops_nothing_that_the_disk_does_not_give(
    filled: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of it may be away, as one of several that make up a volume: that half was dropped for good."""

    def half_away(file: int, buffers: list[Any], offset: int) -> int:
        if offset >= 3 * CONTAINER_BYTES:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return disk.preadv(file, buffers, offset)

    damage(filled, 2, 40960 + 7)
    monkeypatch.setattr(container_file, "preadv", half_away)
    found = verified(filled)
    assert found[:3] == (2 * A_CONTAINER - 1, 1, False)
    (alarm,) = found.alarms
    assert alarm == (
        f"3 of 5 containers of store {filled} could not be read (the disk failed: Input/output error); nothing of them"
        " was dropped. See to the disk, then verify again."
    )
    monkeypatch.undo()
    assert verified(filled) == (len(FIVE) - 1, 0, True, ())
