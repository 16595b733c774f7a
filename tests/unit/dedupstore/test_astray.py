"""Places that lead to containers which do not have the chunk: it is missed, and nobody has it loaded for ever."""

import shutil
from pathlib import Path
from struct import Struct

import pytest

from dedupstore import open_store, verify_store
from dedupstore.errors import ChunkMissing
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.stores import FIVE, SIZE, opened, put_in_index

ASTRAY = name_of(0)
"""Of the first container."""
PLACE = Struct("<QHII")


def lead_to(path: Path, container: int) -> None:
    """A bit of the index has flipped: it says that the chunk lies in that container."""
    place = put_in_index(path, b"chunk", ASTRAY, b"")
    assert place is not None
    put_in_index(path, b"chunk", ASTRAY, PLACE.pack(container, *PLACE.unpack(place)[1:]))


def loaded(store: ChunkStore, name: bytes) -> bytes | None:
    """As who waits for a chunk goes on: it is read, loaded, and read again."""
    data = store.read(name)
    if data is None:
        store.load(name)
        data = store.read(name)
    return data


def test_a_place_in_another_container_is_a_miss(filled: Path) -> None:
    lead_to(filled, 3)
    store = opened(filled)
    assert store.find(ASTRAY) == (3, 0)
    with pytest.raises(ChunkMissing):
        loaded(store, ASTRAY)
    assert held(store, FIVE) == list(FIVE)[1:]
    assert store.figures().invalid == 1
    assert put(store, 0) == (6, 0), "it is stored anew"
    assert [fetch(store, name_of(number)) for number in FIVE[1:]] == [chunk(number) for number in FIVE[1:]]
    store.close()
    store = opened(filled)
    assert fetch(store, ASTRAY) == chunk(0)
    assert healthy(store)
    store.close()


def test_a_place_in_a_container_that_is_being_filled_is_a_miss(filled: Path) -> None:
    lead_to(filled, 6)
    store = opened(filled)
    assert put(store, 999) == (6, 0)
    with pytest.raises(ChunkMissing):
        loaded(store, ASTRAY)
    assert fetch(store, name_of(999)) == chunk(999)
    store.close()


def test_verifying_finds_a_place_in_another_container(filled: Path) -> None:
    lead_to(filled, 3)
    found = verify_store(filled, SIZE, 32 << 20)
    assert (found.sound, found.dropped, found.whole) == (len(FIVE) - 1, 1, False)
    found = verify_store(filled, SIZE, 32 << 20)
    assert (found.sound, found.dropped, found.whole) == (len(FIVE) - 1, 0, True)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)[1:]
    store.close()


@pytest.fixture
def stale(filled: Path, tmp_path: Path) -> Path:
    """A store whose first slot never took its container, and has an older one of the same id from before a crash."""
    other = tmp_path / "other"
    store = open_store("disk", SIZE, other, cache_bytes=32 << 20)
    fill(store, range(1000, 1000 + A_CONTAINER))
    store.close()
    with (other / "containers").open("rb") as source, (filled / "containers").open("r+b") as slot:
        source.seek(CONTAINER_BYTES)
        slot.seek(CONTAINER_BYTES)
        shutil.copyfileobj(source, slot)
    return filled


def test_an_older_container_of_the_same_id_has_nothing_of_it(stale: Path) -> None:
    store = opened(stale)
    for number in range(A_CONTAINER):
        with pytest.raises(ChunkMissing):
            loaded(store, name_of(number))
    assert held(store, FIVE) == list(FIVE)[A_CONTAINER:]
    store.close()


def test_verifying_finds_an_older_container_of_the_same_id(stale: Path) -> None:
    rest = len(FIVE) - A_CONTAINER
    found = verify_store(stale, SIZE, 32 << 20)
    assert (found.sound, found.dropped, found.whole) == (rest, A_CONTAINER, False)
    found = verify_store(stale, SIZE, 32 << 20)
    assert (found.sound, found.dropped, found.whole) == (rest, 0, True)
    store = opened(stale)
    assert store.figures().chunks == rest
    store.close()
