"""The store in memory: what it says of the bytes that it holds."""

from typing import Any

import pytest

from dedupstore.errors import ChunkInvalid
from dedupstore.memory import MemoryStore
from dedupstore.store import Place
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fill, name_of, put


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(16 << 20)


def test_data_is_not_named_like_a_chunk_that_was_dropped(store: MemoryStore) -> None:
    first, second, third = [place_of(store, number) for number in range(3)]
    flip(store, third)
    data = memoryview(chunk(1, 1000) + chunk(2, 1000))
    assert store.repeated(first, data) == (1000, second, [1000], [name_of(1, 1000)])
    flipped = bytearray(data)
    flipped[1000] ^= 1
    assert store.repeated(first, memoryview(flipped)).names[1:] == [name_of(2, 1000)]  # nobody knows yet
    assert store.following(second) == (name_of(2, 1000), third)
    with pytest.raises(ChunkInvalid):
        store.read(name_of(2, 1000))
    assert store.following(second) is None
    assert store.repeated(first, memoryview(flipped)) == (2000, second, [1000], [name_of(1, 1000)])


def test_data_does_not_repeat_what_lay_in_memory_before() -> None:
    """Behind the last chunk of a container there may still be what was evicted: nobody can refer to that."""
    store = MemoryStore(16 << 20)
    fill(store, range(4 * A_CONTAINER))
    first, _ = fill(store, [100, 101])
    assert first == (5, 0)
    assert store.repeated(first, memoryview(chunk(101) + chunk(2))).same == LARGE


def test_a_chunk_that_was_stored_anew_stays_when_its_first_container_goes(store: MemoryStore) -> None:
    flip(store, place_of(store, 0))
    with pytest.raises(ChunkInvalid):
        store.read(name_of(0, 1000))
    fill(store, range(100, 100 + A_CONTAINER + 1))
    again = place_of(store, 0)
    fill(store, range(200, 200 + 3 * A_CONTAINER))
    assert (again[0], store.figures().evicted_containers) == (2, 1)
    assert store.find(name_of(0, 1000)) == again
    assert store.read(name_of(0, 1000)) == chunk(0, 1000)


class Counting(dict[bytes, Place]):
    """Knows which names were looked up."""

    def __init__(self, places: dict[bytes, Place]) -> None:
        super().__init__(places)
        self.names: list[bytes] = []

    def get(self, name: bytes, default: Any = None) -> Any:
        self.names.append(name)
        return super().get(name, default)


def test_only_chunks_that_are_repeated_are_looked_up(store: MemoryStore) -> None:
    """A peer may have taught a thousand that take a few KiB, and each read would look for all of them."""
    first = place_of(store, 0)
    for number in range(1, 500):
        put(store, number, 8)
    store._places = places = Counting(store._places)
    assert not store.repeated(first, memoryview(b"x" * 9000)).names
    assert not places.names
    assert store.repeated(first, memoryview(chunk(1, 8) + b"x" * 9000)).names == [name_of(1, 8)]
    assert places.names == [name_of(1, 8)]


def test_chunks_are_read_together_up_to_one_that_is_damaged(store: MemoryStore) -> None:
    """Row 15 of faults: which `read` then drops."""
    first, _, third, _ = [place_of(store, number) for number in range(4)]
    flip(store, third)
    names = [name_of(number, 1000) for number in (1, 2, 3)]
    assert store.read_behind(first, names, 10_000) == (1, chunk(1, 1000))
    assert store.read_behind(third, names[2:], 10_000) == (1, chunk(3, 1000))


def place_of(store: MemoryStore, number: int) -> Place:
    place = put(store, number, 1000)
    assert place is not None
    return place


def flip(store: MemoryStore, place: Place) -> None:
    """A bit of the chunk at that place."""
    container = store._containers[place[0]]
    container.memory[container.offsets[place[1]]] ^= 1
