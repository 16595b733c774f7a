"""Row 14 of the fault table, with the disk's faults put in at `container_file`'s seam: traffic never fails."""

import errno
import os
import threading
from pathlib import Path
from typing import Any

import lmdb
import pytest

from dedupstore import container_file, open_store
from dedupstore.disk import DiskStore
from dedupstore.errors import ChunkInvalid, ChunkMissing, Damaged, StoreUnusable
from dedupstore.index import Index
from dedupstore.store import CONTAINER_BYTES
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fetch, fill, healthy, held, name_of, put
from tests.patience import PATIENCE
from tests.unit.dedupstore.failing_disk import SLOTS, Clock, Disk, evict_from_cache, gives_back_all
from tests.unit.dedupstore.stores import FIVE, damage, opened, verified

ALL = range(A_CONTAINER * SLOTS)


def test_writes_and_reads_in_parts_are_put_together(store: DiskStore, disk: Disk) -> None:
    disk.short_writes = True
    gives_back_all(store)


def test_a_file_system_that_opens_for_direct_access_and_then_refuses_it(store: DiskStore, disk: Disk) -> None:
    """As some in user space. It was written past that, and what was read was dropped as unreadable."""
    disk.never_direct = True
    gives_back_all(store)


@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS])
def test_a_disk_that_cannot_be_written(store: DiskStore, disk: Disk, clock: Clock, error: int) -> None:
    fill(store, range(A_CONTAINER * 2 + 1))
    disk.write_error = error
    places = fill(store, range(100, 100 + A_CONTAINER * 3))
    assert places[-1] is None, "after the first failure nothing is learned"
    assert len(store.alarms) == 1
    assert "takes nothing new" in store.alarms[0]
    assert os.strerror(error) in store.alarms[0]
    assert "Traffic passes unlearned" in store.alarms[0]
    figures = store.figures()
    assert figures.unlearned_bytes == figures.unlearned * LARGE > 0
    assert (figures.chunks, figures.unwritten_bytes, figures.containers) == (A_CONTAINER * 2, 0, 2)
    assert fetch(store, name_of(0)) == chunk(0), "what was there before can still be read"

    disk.write_error = 0
    assert put(store, 999) is None, "it is not tried at once"
    clock.now += 11
    fill(store, range(200, 200 + A_CONTAINER + 1))
    assert healthy(store)
    assert fetch(store, name_of(200)) == chunk(200)


def test_what_is_pinned_can_be_read_until_its_last_pin_ends(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """What was referred to and not consumed may be asked for, and the peer may have it from nobody else."""
    disk.write_error = errno.EIO
    place = put(store, 0)
    assert place is not None
    store.pin(place[0])
    store.pin(place[0])
    fill(store, range(1, A_CONTAINER + 1))
    assert store.alarms
    assert store.unwritten == 0, "nobody waits for it"
    store.unpin(place[0])
    assert store.read(name_of(0)) == chunk(0)
    disk.write_error = 0
    clock.now += 11
    fill(store, range(100, 100 + A_CONTAINER * SLOTS * 2))
    assert store.read(name_of(0)) == chunk(0), "no other container takes its place"
    store.unpin(place[0])
    with pytest.raises(ChunkMissing):
        store.read(name_of(0))
    fill(store, range(1000, 1000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().containers == SLOTS, "its slot is used again"
    assert store.verify()[1] == 0


def test_pinned_containers_that_the_disk_did_not_take_leave_room_to_read(
    store: DiskStore, disk: Disk, clock: Clock
) -> None:
    fill(store, range(A_CONTAINER * 2 + 1))
    disk.write_error = errno.EIO
    pinned = []
    for attempt in range(1, 20):
        clock.now += 641
        for place in fill(store, range(1000 * attempt, 1000 * attempt + A_CONTAINER + 1)):
            if place is not None and place[0] not in pinned:
                store.pin(place[0])
                pinned.append(place[0])
    assert len(pinned) > 2
    assert put(store, 100_000) is None, "all memory for it is taken"
    assert [fetch(store, name_of(number)) for number in range(A_CONTAINER * 2)] == [
        chunk(number) for number in range(A_CONTAINER * 2)
    ]
    for container in pinned:
        store.unpin(container)
    disk.write_error = 0
    clock.now += 641
    fill(store, range(200_000, 200_000 + A_CONTAINER * SLOTS * 2))
    assert store.figures().containers == SLOTS


def test_a_failing_disk_is_tried_less_and_less(store: DiskStore, disk: Disk, clock: Clock) -> None:
    """Each try may cost the oldest container, so a day of failure must not empty the store."""
    numbers = range(A_CONTAINER * SLOTS + 1)
    fill(store, numbers)
    before = len(held(store, numbers))
    disk.write_error = errno.EIO
    for minute in range(60):
        clock.now += 60
        fill(store, range(1000 * (minute + 1), 1000 * (minute + 1) + 2 * A_CONTAINER))
    assert 5 <= disk.errors <= 24, "a container and the one that was begun after it, at most a dozen times"
    assert 0 < before - len(held(store, numbers)) <= disk.errors * A_CONTAINER
    disk.write_error = 0
    clock.now += 641
    fill(store, range(100_000, 100_000 + A_CONTAINER * SLOTS * 2))
    assert healthy(store)
    assert store.figures().containers == SLOTS
    assert store.verify()[1] == 0


def test_a_clock_that_is_set_back_prolongs_no_pause(store: DiskStore, disk: Disk, clock: Clock) -> None:
    disk.write_error = errno.EIO
    fill(store, range(A_CONTAINER * 2 + 1))
    assert put(store, 999) is None
    clock.now -= 3600
    disk.write_error = 0
    assert put(store, 999) is not None


def test_a_disk_that_stalls_does_not_stop_the_loop(
    store: DiskStore, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 19: while a write hangs, everything that the loop asks is answered, and chunks pass when memory is full."""
    fill(store, range(A_CONTAINER))
    stalled, go_on = threading.Event(), threading.Event()

    def stalling(file: int, data: memoryview, offset: int) -> int:
        stalled.set()
        assert go_on.wait(PATIENCE)
        return disk.pwrite(file, data, offset)

    monkeypatch.setattr(container_file, "pwrite", stalling)
    put(store, A_CONTAINER)
    worker = threading.Thread(target=store.write, daemon=True)
    worker.start()
    try:
        assert stalled.wait(PATIENCE)
        places = [put(store, number) for number in range(100, 100 + A_CONTAINER * 6)]
        assert None in places
        assert store.read(name_of(0)) == chunk(0)
        assert store.read(name_of(100)) == chunk(100)
        assert store.find(name_of(999_999)) is None
        store.believe(b"p" * 16, 1, 1)
        assert store.belief(b"p" * 16, 1) == 1
        assert store.figures().unlearned == places.count(None)
    finally:
        go_on.set()
        worker.join()
    store.write()
    assert store.unwritten == 0
    assert held(store, range(A_CONTAINER)) == list(range(A_CONTAINER))


class FailingEnvironment:
    """LMDB's, which writes nothing while it is told to fail."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self.error: lmdb.Error | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def begin(self, *args: Any, write: bool = False) -> Any:
        if write and self.error is not None:
            raise self.error
        return self._environment.begin(*args, write=write)


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> list[FailingEnvironment]:
    """Those that stores will open."""
    made: list[FailingEnvironment] = []

    def opening(*args: Any, **options: Any) -> FailingEnvironment:
        made.append(FailingEnvironment(lmdb_open(*args, **options)))
        return made[-1]

    lmdb_open = lmdb.open
    monkeypatch.setattr("dedupstore.index.lmdb.open", opening)
    return made


def lmdb_error(kind: type[lmdb.Error], code: int) -> lmdb.Error:
    error: Any = kind("mdb_txn_commit")
    error.code = code
    return error  # type: ignore[no-any-return]


def test_an_index_that_can_be_written_again_is_an_alarm_no_longer(
    environments: list[FailingEnvironment], store: DiskStore, clock: Clock
) -> None:
    """It stood until the next container was full, and where little is learned that may take days."""
    fill(store, range(A_CONTAINER))
    environments[0].error = lmdb_error(lmdb.Error, errno.EIO)
    fill(store, range(100, 100 + A_CONTAINER))
    assert "The index of store" in store.alarms[0]
    assert (len(store.alarms), store.write_due) == (1, False), "it is not tried at once"
    clock.now += 11
    assert store.write_due
    store.write()
    assert (len(store.alarms), store.write_due) == (1, False), "it failed again"
    environments[0].error = None
    clock.now += 21
    assert store.write_due
    store.write()
    assert (healthy(store), store.write_due) == (True, False)


def test_an_index_that_lmdb_gave_up_waits_for_a_restart(
    environments: list[FailingEnvironment], tmp_path: Path, clock: Clock
) -> None:
    """It was said to be damaged, and that an empty one would take its place. And learning was tried again and again,
    though no try could succeed: each cost the oldest container."""
    store = opened(tmp_path, clock=clock)
    fill(store, ALL)
    environments[0].error = lmdb_error(lmdb.PanicError, -30795)
    fill(store, range(100_000, 100_000 + A_CONTAINER))
    left = held(store, ALL)
    assert len(left) > len(ALL) - 3 * A_CONTAINER
    alarm = store.alarms
    assert (
        "cannot be used (a write to it failed, and LMDB takes nothing more); see to the disk, then restart." in alarm[0]
    )
    store.remember(b"p" * 16, b"epoch--1")
    for hour in range(24):
        clock.now += 3600
        assert fill(store, range(200_000 + hour, 200_001 + hour)) == [None]
        assert (store.alarms, store.write_due) == (alarm, False)
    assert [fetch(store, name_of(number)) for number in left] == [chunk(number) for number in left]
    store.close()
    store = opened(tmp_path, clock=clock)
    assert set(held(store, ALL)).issuperset(left)
    assert healthy(store)
    store.close()


def test_a_flipped_bit_is_caught_when_the_chunk_is_read(store: DiskStore, tmp_path: Path) -> None:
    """Row 15: dropped, so that it can be fetched and stored anew; its neighbours are as they were."""
    fill(store, range(A_CONTAINER * SLOTS))
    evict_from_cache(store)
    damage(tmp_path, 1, 40960 + 2 * LARGE + 77)
    assert store.find(name_of(2)) == (1, 2), "the index says nothing about health"
    with pytest.raises(ChunkInvalid) as caught:
        fetch(store, name_of(2))
    assert caught.value.fingerprint == name_of(2)
    assert store.find(name_of(2)) is None
    with pytest.raises(ChunkMissing):
        store.read(name_of(2))
    assert fetch(store, name_of(1)) == chunk(1)
    assert fetch(store, name_of(3)) == chunk(3)
    anew = put(store, 2)
    assert anew is not None
    assert anew[0] == SLOTS + 1
    assert fetch(store, name_of(2)) == chunk(2)
    assert store.figures().invalid == 1


def test_what_came_from_the_disk_is_read_together_up_to_a_flipped_bit(store: DiskStore, tmp_path: Path) -> None:
    fill(store, range(A_CONTAINER * SLOTS))
    evict_from_cache(store)
    damage(tmp_path, 1, 40960 + 2 * LARGE + 77)
    names = [name_of(1), name_of(2), name_of(3)]
    assert store.read_behind((1, 0), names, 3 * LARGE) == (0, b""), "it is not in memory"
    fetch(store, name_of(0))
    assert store.read_behind((1, 0), names, 3 * LARGE) == (1, chunk(1))


def test_a_flipped_bit_stays_known_after_a_restart(clock: Clock, tmp_path: Path) -> None:
    store = opened(tmp_path, clock=clock)
    fill(store, range(A_CONTAINER))
    store.close()
    damage(tmp_path, 1, 40960 + 2 * LARGE + 77)
    store = opened(tmp_path, clock=clock)
    with pytest.raises(ChunkInvalid):
        fetch(store, name_of(2))
    store.close()
    store = opened(tmp_path, clock=clock)
    assert store.find(name_of(2)) is None
    fetch(store, name_of(1))
    assert store.find(name_of(2)) is None, "loading its container does not bring it back"
    assert (store.figures().chunks, store.verify()) == (A_CONTAINER - 1, (A_CONTAINER - 1, 0))
    store.close()


@pytest.mark.parametrize("offset", [0, 9, 20, 30, 60, 64, 64 + 36 * A_CONTAINER - 1])
def test_a_flipped_bit_in_a_directory_costs_the_container(store: DiskStore, tmp_path: Path, offset: int) -> None:
    fill(store, range(A_CONTAINER * SLOTS))
    evict_from_cache(store)
    damage(tmp_path, 1, offset)
    store.load(name_of(0))
    assert held(store, range(A_CONTAINER * 2)) == list(range(A_CONTAINER, A_CONTAINER * 2))
    assert store.figures().invalid == A_CONTAINER
    fill(store, range(1000, 1000 + A_CONTAINER * 2))
    assert store.verify()[1] == 0


def test_verify_finds_everything_sound(store: DiskStore) -> None:
    """What is not on the disk yet as well."""
    fill(store, range(A_CONTAINER * 3 + 4))
    steps: list[tuple[int, int]] = []
    assert store.verify(lambda done, total: steps.append((done, total))) == (A_CONTAINER * 3 + 4, 0)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_verify_finds_what_nobody_asked_for(store: DiskStore, tmp_path: Path) -> None:
    fill(store, range(A_CONTAINER * SLOTS))
    damage(tmp_path, 3, 40960 + 7)
    damage(tmp_path, 4, 40960 + 5 * LARGE)
    damage(tmp_path, 5, 70)
    total = A_CONTAINER * SLOTS
    assert store.verify() == (total - A_CONTAINER - 2, A_CONTAINER + 2)
    assert store.verify() == (total - A_CONTAINER - 2, 0)
    assert store.find(name_of(2 * A_CONTAINER)) is None


def test_a_disk_that_gives_nothing_is_not_verified(filled: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was away for a moment, and all that it holds was dropped."""

    def going_away(file: int, buffers: list[Any], offset: int) -> int:
        if offset >= 2 * CONTAINER_BYTES:
            disk.read_error = errno.EIO
        return disk.preadv(file, buffers, offset)

    monkeypatch.setattr(container_file, "preadv", going_away)
    with pytest.raises(
        StoreUnusable, match=f"store {filled} cannot be verified: the disk failed: Input/output error; "
    ):
        verified(filled)
    monkeypatch.undo()
    assert verified(filled) == (len(FIVE), 0, True, ())


def test_verifying_drops_nothing_that_the_index_fails_to_name(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its chunks was taken for one that lies elsewhere, and the whole container for another's."""

    def failing(index: Index, name: bytes) -> None:
        raise Damaged("the index is damaged")

    monkeypatch.setattr(Index, "find", failing)
    found = verified(filled)
    assert found[:3] == (0, 0, False)
    monkeypatch.undo()
    assert verified(filled) == (len(FIVE), 0, True, ())


def test_prefetch_brings_the_next_container(store: DiskStore) -> None:
    fill(store, range(A_CONTAINER * SLOTS))
    evict_from_cache(store)
    loads = store.figures().loads
    store.load(name_of(0))
    assert store.read(name_of(A_CONTAINER)) is None
    store.prefetch(name_of(3))
    assert store.read(name_of(A_CONTAINER)) == chunk(A_CONTAINER)
    assert store.figures().loads == loads + 2
    store.prefetch(name_of(3))
    assert store.figures().loads == loads + 2


def test_memory_is_made_ready_though_the_directory_was_moved(tmp_path: Path) -> None:
    """Or its disk is gone: how much of the index there is to be read ahead cannot be seen then."""
    place = tmp_path / "store"
    store = opened(place)
    place.rename(tmp_path / "elsewhere")
    while store.prepare():
        pass
    fill(store, range(A_CONTAINER))
    assert held(store, range(A_CONTAINER)) == list(range(A_CONTAINER))
    store.close()


def test_after_a_restart_a_writers_next_container_is_known(tmp_path: Path) -> None:
    store = open_store("disk", 128 << 20, tmp_path, cache_bytes=64 << 20)
    for number in range(A_CONTAINER + 1):
        for writer in range(2):
            store.put(name_of(100 * writer + number), chunk(100 * writer + number), writer)
    store.close()
    store = open_store("disk", 128 << 20, tmp_path, cache_bytes=64 << 20)
    store.prefetch(name_of(100))
    assert store.read(name_of(100 + A_CONTAINER)) == chunk(100 + A_CONTAINER)
    assert store.read(name_of(A_CONTAINER)) is None
    store.close()


def test_without_the_worker_the_cache_fills_and_chunks_pass(store: DiskStore) -> None:
    places = [put(store, number) for number in range(A_CONTAINER * 8)]
    learned = [place for place in places if place is not None]
    assert 0 < len(learned) < len(places)
    assert None not in places[: len(learned)]
    figures = store.figures()
    assert (figures.unlearned, figures.alarms) == (len(places) - len(learned), [])
    assert store.unwritten == figures.unwritten_bytes == len(learned) * LARGE
    store.write()
    assert put(store, 999) is not None
    assert held(store, range(len(learned))) == list(range(len(learned)))


def test_a_container_that_is_cut_short_while_the_store_is_open_is_dropped(filled: Path) -> None:
    """Memory behind what is read of it has what lay there before."""
    store = opened(filled)
    os.truncate(filled / "containers", 5 * CONTAINER_BYTES + CONTAINER_BYTES // 2)
    store.load(name_of(FIVE[-A_CONTAINER]))
    assert held(store, FIVE) == list(FIVE[:-A_CONTAINER])
    assert store.figures().invalid == A_CONTAINER
    store.close()
