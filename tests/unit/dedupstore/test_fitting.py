"""What of a store still fits when it is opened: files that were cut, other sizes, slots that two claim."""

import os
from pathlib import Path

import lmdb
import pytest

from dedupstore import fitting, open_store, verify_store
from dedupstore.container import MAX_ENTRIES, PAGE_BYTES, SMALL, Layout
from dedupstore.disk import DiskStore
from dedupstore.errors import StoreUnusable
from dedupstore.index import Index
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.copying import copy_with_holes
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.failing_disk import Clock
from tests.unit.dedupstore.stores import FIVE, SIZE, edit, opened, verified

SLOTS = 11


def test_a_file_too_short_loses_its_end(filled: Path) -> None:
    os.truncate(filled / "containers", 3 * CONTAINER_BYTES + 50_000)
    store = opened(filled)
    assert store.alarms[0].endswith("too short: 3 containers are lost. The others are used; a restart ends this alarm.")
    assert store.shrunk == "", "the size has cost nothing"
    assert held(store, FIVE) == list(range(A_CONTAINER * 2))
    assert fill(store, range(1000, 1000 + A_CONTAINER))[-1] is not None
    assert fetch(store, name_of(0)) == chunk(0)
    store.close()
    store = opened(filled)
    assert healthy(store)
    store.close()


def test_a_file_too_short_by_a_page_loses_its_last_container(filled: Path) -> None:
    file = filled / "containers"
    os.truncate(file, file.stat().st_size - PAGE_BYTES)
    store = opened(filled)
    assert "too short: 1 container is lost" in store.alarms[0]
    assert held(store, FIVE) == list(range(A_CONTAINER * 4))
    store.close()


def test_a_smaller_size_drops_what_lies_behind_and_cuts_the_file(path: Path) -> None:
    big, many = 128 << 20, range(A_CONTAINER * 20)
    store = opened(path, big)
    fill(store, many)
    store.close()
    store = opened(path)
    kept = held(store, many)
    assert kept == list(range(A_CONTAINER * 11))
    assert (path / "containers").stat().st_size <= (SLOTS + 1) * CONTAINER_BYTES
    assert [fetch(store, name_of(number)) for number in kept] == [chunk(number) for number in kept]
    assert store.figures().chunks == len(kept)
    told = "9 of its 20 containers, with 33 MiB of chunks, were dropped."
    assert store.shrunk == f"store.size is smaller than what store {path} held: {told}"
    assert healthy(store), "it was meant, or cannot be undone"
    fill(store, range(1000, 1000 + SLOTS * A_CONTAINER))
    assert store.figures().containers == SLOTS
    assert (path / "containers").stat().st_size <= (SLOTS + 1) * CONTAINER_BYTES
    store.close()
    store = opened(path)
    assert store.shrunk == "", "it was told"
    store.close()


def test_a_smaller_size_that_has_room_for_all_is_nothing_to_tell(filled: Path) -> None:
    opened(filled, 128 << 20).close()
    store = opened(filled)
    assert (held(store, FIVE), store.shrunk) == (list(FIVE), "")
    store.close()


def test_who_verifies_is_told_what_a_smaller_size_has_dropped(path: Path) -> None:
    """It says that a store is sound, of which half has just gone."""
    store = opened(path, 2 * SIZE)
    fill(store, range(A_CONTAINER * 13))
    store.close()
    found = verified(path)
    assert found[:3] == (A_CONTAINER * SLOTS, 0, False)
    assert [alarm.partition(": ")[2] for alarm in found.alarms] == [
        "2 of its 13 containers, with 7 MiB of chunks, were dropped."
    ]
    assert verified(path) == (A_CONTAINER * SLOTS, 0, True, ())


def test_a_larger_size_gives_more_slots(filled: Path) -> None:
    store = opened(filled, 128 << 20)
    fill(store, range(1000, 1000 + 22 * A_CONTAINER))
    assert store.figures().containers == 27
    assert held(store, FIVE) == list(FIVE)
    assert store.figures().evicted_containers == 0
    store.close()


@pytest.fixture(scope="module")
def small_chunks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 190 containers full of them, to be copied."""
    path = tmp_path_factory.mktemp("small") / "store"
    store = opened(path, 1000 << 20)
    fill(store, range(1136 * 190), 8)
    store.close()
    return path


def test_a_smaller_size_makes_the_index_smaller(small_chunks: Path, path: Path, clock: Clock) -> None:
    copy_with_holes(small_chunks, path)
    assert (path / "index" / "data.mdb").stat().st_size > 16 << 20
    store = opened(path, clock=clock)
    assert (path / "index" / "data.mdb").stat().st_size < 4 << 20
    assert store.figures().containers == SLOTS
    assert held(store, range(1136 * 190), 8) == list(range(1136 * SLOTS))
    assert "179 of its 190 containers" in store.shrunk
    clock.now += 60
    store.write()
    assert healthy(store), "what it finds there after a minute is the index that was written anew"
    store.close()
    assert opened_and_verified(path) == (1136 * SLOTS, 0)


def test_a_smaller_size_leaves_room_in_the_index_to_learn(small_chunks: Path, path: Path) -> None:
    """It was made to fit, and so full that not even a container could go: nothing was learned, for good."""
    copy_with_holes(small_chunks, path)
    store = opened(path, 512 << 20)
    kept = held(store, range(1136 * 190), 8)
    assert store.figures().chunks == len(kept)
    assert f"{190 - len(kept) // 1136} of its 190 containers" in store.shrunk
    assert 0 < len(kept) // 1136 < 123, "the file has room for so many, the index for fewer"
    assert kept == list(range(1136 * 123))[-len(kept) :], "the oldest went"
    new = range(1_000_000, 1_000_000 + 1136 * 3)
    fill(store, new, 8)
    assert healthy(store)
    assert store.figures().unlearned == 0
    assert held(store, new, 8) == list(new)
    store.close()


def test_a_smaller_size_may_leave_an_index_that_is_much_too_large(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the chunks went, and left pages half full: written anew it filled all the room that it was given, so that
    no container could go. The site did not start any more.
    """
    monkeypatch.setattr(fitting, "_LEAST_INDEX", 1 << 20)  # it takes millions of chunks otherwise
    monkeypatch.setattr(Index, "crowded", lambda index, change: False)  # as where transactions are small beside the map
    store: ChunkStore = DiskStore(path, 512 << 20, cache_bytes=32 << 20, new=SMALL)
    for number in range(SMALL.max_entries * 240):
        put(store, number, 8)
        if store.unwritten > 10_000:
            store.write()
    store.close()
    monkeypatch.undo()
    monkeypatch.setattr(fitting, "_LEAST_INDEX", 1 << 20)
    store = opened(path, 256 << 20)
    assert healthy(store)
    assert store.figures().containers > 0
    assert store.shrunk, "the oldest went for an index with room"
    new = range(1_000_000, 1_000_000 + SMALL.max_entries * 3)
    fill(store, new, 8)
    assert held(store, new, 8) == list(new)
    assert (path / "index" / "data.mdb").stat().st_size <= 8 << 20
    store.close()


def test_a_store_of_small_chunks_uses_all_its_slots(path: Path) -> None:
    """Committed sixteen at a time containers need so much of the index that the oldest went: three fifths stayed."""
    store: ChunkStore = DiskStore(path, 256 << 20, new=Layout(2 << 20, SMALL.data_offset, 507))
    slots = (256 - 16 - 2) // 2
    sixteen = 16 * 507
    for number in range(507 * slots):
        put(store, number, 8)
        if number % sixteen == sixteen - 1:
            while store.unwritten:
                store.write()
    store.close()
    store = opened(path, 256 << 20)
    assert store.figures().containers == slots
    store.close()


def test_large_chunks_take_the_place_of_small_ones_container_by_container(path: Path) -> None:
    """Of what goes there are four times as many keys as of what comes: committed sixteen at a time, the first of them
    cost 84 containers of 119."""
    store: ChunkStore = DiskStore(path, 256 << 20, new=Layout(2 << 20, SMALL.data_offset, 507))
    slots = (256 - 16 - 2) // 2
    write_sixteen_at_a_time(store, range(507 * slots), 8)
    a_container = (SMALL.slot_bytes - SMALL.data_offset) // LARGE
    write_sixteen_at_a_time(store, range(a_container * 32 + 1), LARGE)
    assert store.figures().evicted_containers == 33
    assert store.figures().containers == slots
    store.close()


def test_where_the_index_has_room_for_one_all_that_wait_are_written_all_the_same(path: Path) -> None:
    """One a second, as the site asks for: two a second of small chunks soon passed unlearned, with an idle disk."""
    store: ChunkStore = DiskStore(path, 256 << 20, new=SMALL)
    write_sixteen_at_a_time(store, range(SMALL.max_entries * 200), 8)
    for number in range(SMALL.max_entries * 200, SMALL.max_entries * 203 + 1):
        put(store, number, 8)
    assert store.unwritten
    store.write()
    assert store.unwritten == 0
    assert store.figures().unlearned == 0
    store.close()


def write_sixteen_at_a_time(store: ChunkStore, numbers: range, length: int) -> None:
    sealed = 0
    for number in numbers:
        before = store.unwritten
        put(store, number, length)
        sealed += store.unwritten > before
        if sealed == 16:
            while store.unwritten:
                store.write()
            sealed = 0
    while store.unwritten:
        store.write()


def opened_and_verified(path: Path) -> tuple[int, int]:
    store = opened(path)
    assert healthy(store)
    result = store.verify()
    store.close()
    return result


def test_who_only_asks_makes_no_store_smaller(path: Path) -> None:
    """A size with a digit too few, and a question (`isthmus store stats`) cost most of the store."""
    numbers = range(A_CONTAINER * 13)
    store = opened(path, 2 * SIZE)
    fill(store, numbers)
    store.close()
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=f"store {path} cannot be opened: it is larger than store.size; set"):
            open_store("disk", SIZE, path, keep=True)
    store = DiskStore(path, 2 * SIZE, keep=True)
    assert held(store, numbers) == list(numbers)
    store.close()


def test_of_two_containers_in_one_slot_the_younger_counts(filled: Path) -> None:
    with lmdb.open(str(filled / "index"), max_dbs=8) as index, index.begin(write=True) as txn:
        rows = index.open_db(b"container", txn)
        first = (1).to_bytes(8, "big")
        row = txn.get(first, db=rows)
        assert row is not None
        txn.put(first, (2).to_bytes(4, "little") + row[4:], db=rows)
    store = opened(filled)
    assert held(store, FIVE) == list(range(A_CONTAINER, A_CONTAINER * 5))
    store.close()
    assert opened_and_verified(filled) == (A_CONTAINER * 4, 0)


def test_a_store_that_lost_most_of_its_chunks_keeps_the_others(path: Path) -> None:
    """Their places went at once, and left the index shorter than LMDB says: the next opening took it for damaged."""
    store = open_store("disk", SIZE, path)
    for number in range(MAX_ENTRIES * 8):
        put(store, number, 8)
    store.close()
    for slot in range(1, 8):
        edit(
            path / "containers", slot * CONTAINER_BYTES + Layout.of(CONTAINER_BYTES).data_offset, b"?" * 8 * MAX_ENTRIES
        )
    assert verify_store(path, SIZE) == (MAX_ENTRIES, 7 * MAX_ENTRIES, False, ())
    assert verify_store(path, SIZE) == (MAX_ENTRIES, 0, True, ())
