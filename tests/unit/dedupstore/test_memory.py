"""The store in memory: what it says of the bytes that it holds."""

import pytest

from dedupstore.errors import ChunkInvalid
from dedupstore.memory import MemoryStore
from dedupstore.store import Place
from tests.conformance.filling import chunk, name_of, put


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(16 << 20)


def test_a_stretch_does_not_name_a_chunk_that_was_dropped(store: MemoryStore) -> None:
    first, _, third = [place_of(store, number) for number in range(3)]
    flip(store, third)
    whole = store.stretch(first, 10_000)
    assert whole is not None
    assert whole.names == [name_of(1, 1000), name_of(2, 1000)]  # nobody knows yet
    assert whole.data != chunk(1, 1000) + chunk(2, 1000)  # but data that has this name is not the same
    with pytest.raises(ChunkInvalid):
        store.read(name_of(2, 1000))
    stretch = store.stretch(first, 10_000)
    assert stretch is not None
    assert (stretch.names, stretch.ends) == ([name_of(1, 1000)], [1000])


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
