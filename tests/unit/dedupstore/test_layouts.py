"""Slots of 2 MiB and of 4: which a new store gets, and that each keeps its own; who is alone in a container."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.container import LARGE, SMALL, Layout
from dedupstore.disk import DiskStore
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from tests.conformance.filling import chunk, fetch, name_of

GIB = 1 << 30
FEW = 7
"""Chunks of 256 KiB that fill a slot of 2 MiB."""
CACHE = 64 << 20


def slot_bytes(path: Path) -> int:
    return int.from_bytes((path / "containers").read_bytes()[12:16], "little")


def bring(store: ChunkStore, writer: int, numbers: range) -> None:
    for number in numbers:
        store.put(name_of(number), chunk(number), writer)
        if store.unwritten:
            store.write()


@pytest.mark.parametrize(
    ("size", "layout"),
    [(GIB - 1, LARGE), (GIB, SMALL), (512 * GIB, SMALL), (512 * GIB + 1, LARGE)],
)
def test_a_new_stores_slots_suit_its_size(tmp_path: Path, size: int, layout: Layout) -> None:
    open_store("disk", size, tmp_path).close()
    assert slot_bytes(tmp_path) == layout.slot_bytes


@pytest.mark.parametrize("layout", [SMALL, LARGE])
def test_a_store_keeps_its_slots_and_chunks_at_any_size(tmp_path: Path, layout: Layout) -> None:
    store = DiskStore(tmp_path, GIB, new=layout)
    numbers = range(5 * FEW)
    bring(store, 0, numbers)
    store.close()
    for size in (GIB // 2, 2 * GIB):
        store = DiskStore(tmp_path, size)
        assert [fetch(store, name_of(number)) for number in numbers] == [chunk(number) for number in numbers]
        assert (store.alarms, store.verify()) == ((), (len(numbers), 0))
        store.close()
    assert slot_bytes(tmp_path) == layout.slot_bytes


def test_slots_of_another_size_are_not_guessed_at(tmp_path: Path) -> None:
    open_store("disk", GIB, tmp_path).close()
    with (tmp_path / "containers").open("r+b") as file:
        head = file.read(32)
        head = head[:12] + (1 << 20).to_bytes(4, "little") + head[16:]
        file.seek(0)
        file.write(head + fingerprint(head))
    store = open_store("disk", GIB, tmp_path)
    assert any("1048576 bytes" in alarm for alarm in store.alarms)
    store.close()


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[ChunkStore]:
    """Two writers' chunks, of 40 containers each, and nothing of the first ones in memory."""
    with closing(DiskStore(tmp_path, GIB, cache_bytes=CACHE, new=SMALL)) as store:
        bring(store, 0, range(40 * FEW))
        bring(store, 1, range(1000, 1000 + 40 * FEW))
    with closing(DiskStore(tmp_path, GIB, cache_bytes=CACHE, new=SMALL)) as store:
        yield store


def in_memory(store: ChunkStore) -> Callable[[int], bool]:
    return lambda number: store.read(name_of(number)) is not None


def test_an_early_look_drives_out_nothing_that_is_being_read(warm: ChunkStore) -> None:
    slots = CACHE // SMALL.slot_bytes
    for container in range(slots):
        fetch(warm, name_of(container * FEW))
    loads = warm.figures().loads
    warm.prefetch(name_of((slots - 1) * FEW), spare=True)
    assert warm.figures().loads == loads
    for number in range(FEW):
        fetch(warm, name_of(number))
    warm.prefetch(name_of((slots - 1) * FEW), spare=True)
    assert warm.figures().loads == loads + 1
    assert in_memory(warm)(slots * FEW)


def test_what_was_read_long_ago_makes_room_for_an_early_look(warm: ChunkStore) -> None:
    slots = CACHE // SMALL.slot_bytes
    for container in range(slots):
        fetch(warm, name_of(container * FEW))
    for _ in range(CACHE >> 14):
        fetch(warm, name_of(2 * FEW))
    warm.prefetch(name_of((slots - 1) * FEW), spare=True)
    assert in_memory(warm)(slots * FEW)


def test_chunks_that_were_read_together_count_as_so_many(warm: ChunkStore) -> None:
    slots = CACHE // SMALL.slot_bytes
    for container in range(slots):
        fetch(warm, name_of(container * FEW))
    first = warm.find(name_of(2 * FEW))
    assert first is not None
    names = [name_of(2 * FEW + number) for number in range(1, 5)]
    for _ in range((CACHE >> 14) // len(names)):
        assert warm.read_behind(first, names, 1 << 20)[0] == len(names)
    warm.prefetch(name_of((slots - 1) * FEW), spare=True)
    assert in_memory(warm)(slots * FEW)


def test_after_a_restart_too_what_was_filled_first_goes_first(tmp_path: Path) -> None:
    now = [1_700_000_000.0]
    size = 128 << 20
    store = DiskStore(tmp_path, size, cache_bytes=CACHE, clock=lambda: now[0], new=SMALL)
    bring(store, 1, range(1000, 1001))
    bring(store, 0, range(10 * FEW))
    now[0] += 1
    bring(store, 1, range(1001, 1000 + FEW))
    store.close()
    store = DiskStore(tmp_path, size, cache_bytes=CACHE, clock=lambda: now[0])
    number = 10 * FEW
    while not store.figures().evicted_containers:
        bring(store, 0, range(number, number + 1))
        number += 1
    assert store.find(name_of(0)) is None
    assert store.find(name_of(1000)) is not None
    store.close()
