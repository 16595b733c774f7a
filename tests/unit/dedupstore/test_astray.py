"""Places that lead to containers which do not have the chunk: it is missed, and nobody has it loaded for ever."""

import os
from collections.abc import Callable
from pathlib import Path
from struct import Struct

import lmdb
import pytest

from dedupstore import container_store
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fetch, fill, healthy, held, name_of, put
from tests.memory import tracing
from tests.unit.dedupstore.stores import FIVE, edit, opened, put_in_index, verified

ASTRAY = name_of(0)
"""Of the first container."""
PLACE = Struct("<QHII")


def lead_to(path: Path, container: int, entry: int = 0) -> None:
    """A bit of the index has flipped: it says that the chunk lies there."""
    place = put_in_index(path, b"chunk", ASTRAY, b"")
    assert place is not None
    put_in_index(path, b"chunk", ASTRAY, PLACE.pack(container, entry, *PLACE.unpack(place)[2:]))


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


def test_a_place_longer_than_any_chunk_takes_no_memory(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its chunk is not read alone, as it would be otherwise, but with its container."""
    place = put_in_index(filled, b"chunk", ASTRAY, b"")
    assert place is not None
    put_in_index(filled, b"chunk", ASTRAY, PLACE.pack(*PLACE.unpack(place)[:3], 1 << 26))
    monkeypatch.setattr(Scatter, "scattered", True)
    store = opened(filled)
    with tracing() as taken:
        assert loaded(store, ASTRAY) == chunk(0)
    assert taken.most < 8 << 20
    store.close()


def test_a_place_in_a_container_that_is_being_filled_is_a_miss(filled: Path) -> None:
    lead_to(filled, 6)
    store = opened(filled)
    assert put(store, 999) == (6, 0)
    with pytest.raises(ChunkMissing):
        loaded(store, ASTRAY)
    assert fetch(store, name_of(999)) == chunk(999)
    store.close()


def test_no_container_gets_the_id_of_another_whatever_the_index_says_is_next(filled: Path) -> None:
    put_in_index(filled, b"meta", b"next", (1).to_bytes(8, "little"))
    store = opened(filled)
    assert put(store, 999) == (6, 0)
    assert held(store, FIVE) == list(FIVE)
    store.close()


def test_a_chunk_that_is_found_wrong_when_its_container_has_just_gone(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the writer makes room in the index meanwhile: nothing is left of it that could count."""
    store = opened(filled)
    assert fetch(store, ASTRAY) == chunk(0)

    def late(data: bytes) -> bytes:
        monkeypatch.undo()
        fill(store, range(1000, 1000 + A_CONTAINER * 12))
        return bytes(32)

    monkeypatch.setattr(container_store, "fingerprint", late)
    with pytest.raises(ChunkInvalid):
        store.read(ASTRAY)
    assert store.figures().invalid == 0
    assert healthy(store)
    store.close()


def of_another_name(path: Path, name: bytes = ASTRAY) -> None:
    """A bit of a key has flipped."""
    with lmdb.open(str(path / "index"), max_dbs=8) as index, index.begin(write=True) as txn:
        place = txn.pop(name, db=index.open_db(b"chunk", txn))
        assert place is not None
        txn.put(name[:-1] + bytes((name[-1] ^ 1,)), place, db=index.open_db(b"chunk", txn))


def of_another_entry(path: Path) -> None:
    lead_to(path, 1, 20)


@pytest.mark.parametrize(
    "spoil", [of_another_name, of_another_entry, lambda path: lead_to(path, 3), lambda path: lead_to(path, 99)]
)
def test_verifying_finds_a_chunk_that_the_index_does_not_lead_to(filled: Path, spoil: Callable[[Path], None]) -> None:
    """Its container says that there should be one more."""
    spoil(filled)
    rest = len(FIVE) - 1
    assert verified(filled)[:3] == (rest, 1, False)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)[1:]
    assert store.figures().chunks == rest
    assert [fetch(store, name_of(number)) for number in FIVE[1:]] == [chunk(number) for number in FIVE[1:]]
    store.close()
    assert verified(filled)[:3] == (rest, 0, True)


def test_a_chunk_that_was_stored_anew_is_not_missed_where_it_was(filled: Path) -> None:
    lead_to(filled, 3)
    store = opened(filled)
    with pytest.raises(ChunkMissing):
        loaded(store, ASTRAY)
    put(store, 0)
    store.close()
    assert verified(filled)[:3] == (len(FIVE), 0, True)


def test_verifying_counts_all_that_goes_with_a_container(filled: Path) -> None:
    """Also if a place leads to it that belongs elsewhere."""
    lead_to(filled, 3)
    edit(filled / "containers", 3 * CONTAINER_BYTES, bytes(8))
    rest = len(FIVE) - A_CONTAINER - 1
    assert verified(filled)[:3] == (rest, A_CONTAINER + 1, False)
    assert verified(filled)[:3] == (rest, 0, True)


@pytest.mark.parametrize("small", [4096, 64 << 10])
def test_a_container_of_which_little_is_left_can_lose_a_chunk(tmp_path: Path, small: int) -> None:
    """Which ones were dropped before is not known: with a large one of them less than nothing was left."""
    store = opened(tmp_path)
    put(store, 9)
    put(store, 0, small)
    put(store, 1, small)
    store.close()
    edit(tmp_path / "containers", CONTAINER_BYTES + 40960, b"?" * 8)
    assert verified(tmp_path) == (2, 1, False, ())
    of_another_name(tmp_path, name_of(0, small))
    assert verified(tmp_path) == (1, 1, False, ())
    assert verified(tmp_path) == (1, 0, True, ())
    store = opened(tmp_path)
    assert (store.figures().chunks, store.figures().used_bytes) == (1, small)
    store.close()


ROW = Struct("<IHIQQ")


def counts_otherwise(path: Path, field: int, bit: int) -> None:
    """A bit of the first container's row has flipped."""
    row = put_in_index(path, b"container", (1).to_bytes(8, "big"), b"")
    assert row is not None
    values = list(ROW.unpack(row))
    values[field] ^= bit
    put_in_index(path, b"container", (1).to_bytes(8, "big"), ROW.pack(*values))


@pytest.mark.parametrize(
    ("field", "bit"),
    [
        pytest.param(1, 8, id="fewer chunks"),
        pytest.param(2, 1 << 21, id="fewer bytes"),
        pytest.param(1, 1 << 14, id="more chunks"),
        pytest.param(2, 1 << 22, id="more bytes"),
    ],
)
@pytest.mark.parametrize("bad", [0, 1, 12])
def test_verifying_counts_a_container_anew(filled: Path, field: int, bit: int, bad: int) -> None:
    """Of one that was to have fewer chunks than went, the row could not be written, nor anything else, for ever."""
    counts_otherwise(filled, field, bit)
    for entry in range(bad):
        edit(filled / "containers", CONTAINER_BYTES + 40960 + entry * LARGE, b"?" * 8)
    rest = len(FIVE) - bad
    assert verified(filled) == (rest, bad, not bad, ())
    assert verified(filled) == (rest, 0, True, ())
    store = opened(filled)
    assert (store.figures().chunks, store.figures().used_bytes) == (rest, rest * LARGE)
    store.close()


@pytest.mark.parametrize(("field", "bit"), [(1, 8), (2, 1 << 21)], ids=["chunks", "bytes"])
def test_a_container_loses_more_than_its_row_counts(filled: Path, field: int, bit: int) -> None:
    counts_otherwise(filled, field, bit)
    edit(filled / "containers", CONTAINER_BYTES + 40960, b"?" * (12 * LARGE))
    store = opened(filled)
    for number in range(12):
        with pytest.raises(ChunkInvalid):
            loaded(store, name_of(number))
    fill(store, range(1000, 1000 + A_CONTAINER + 1))
    assert healthy(store)
    store.close()
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)[12:]
    store.close()


def take_older(filled: Path, numbers: range) -> None:
    """The first slot never took its container, and has an older one of the same id from before a crash."""
    other = filled.parent / "other"
    store = opened(other)
    fill(store, numbers)
    store.close()
    with (other / "containers").open("rb") as source:
        edit(filled / "containers", CONTAINER_BYTES, os.pread(source.fileno(), CONTAINER_BYTES, CONTAINER_BYTES))


@pytest.mark.parametrize("first", [1, A_CONTAINER, A_CONTAINER + 3, 1000])
def test_verifying_finds_an_older_container_of_the_same_id(filled: Path, first: int) -> None:
    """Also where others have its chunks, which were sent again after the crash."""
    take_older(filled, range(first, first + A_CONTAINER))
    rest = len(FIVE) - A_CONTAINER
    assert verified(filled)[:3] == (rest, A_CONTAINER, False)
    assert verified(filled)[:3] == (rest, 0, True)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)[A_CONTAINER:]
    assert store.figures().chunks == rest
    store.close()


def test_an_older_container_of_the_same_id_has_nothing_of_it(filled: Path) -> None:
    take_older(filled, range(1000, 1000 + A_CONTAINER))
    store = opened(filled)
    for number in range(A_CONTAINER):
        with pytest.raises(ChunkMissing):
            loaded(store, name_of(number))
    assert held(store, FIVE) == list(FIVE)[A_CONTAINER:]
    store.close()
