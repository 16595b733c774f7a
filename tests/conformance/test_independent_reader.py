"""FORMAT.md says all that one has to know to read a store: a reader made from it alone gets what the store gives."""

import ast
import random
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from dedupstore import open_store
from dedupstore.container import LARGE, SMALL, Layout
from dedupstore.disk import DiskStore
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from tests.conformance import independent_reader
from tests.conformance.filling import A_CONTAINER, fetch, fill, held, name_of
from tests.conformance.independent_reader import Reader
from tests.conformance.killing import kill_at_work
from tests.forking import FORKING
from tests.unit.dedupstore.stores import put_in_index

SIZE = 64 << 20
CACHE = 32 << 20
PEER = b"a site's" + b"a store."
FIVE = range(A_CONTAINER * 5)


def read(path: Path) -> tuple[Reader, set[bytes]]:
    """A reader, and which chunks it finds sound."""
    reader = Reader(path)
    reader.check_directories()
    return reader, set(reader.sound())


def read_elsewhere(path: Path) -> tuple[Reader, set[bytes]]:
    """In another process: LMDB opens no file twice in one."""
    with FORKING.Pool(1) as pool:
        return pool.apply(read, (path,))


def agrees(path: Path, size: int = SIZE) -> Reader:
    """The reader finds in a closed store what the store then gives, and nothing wrong."""
    reader = Reader(path)
    reader.check_directories()
    assert (reader.broken, reader.clean) == ([], True)
    store = open_store("disk", size, path, CACHE)
    assert given(store, reader.places) == dict(reader.chunks())
    assert (store.identity, store.epochs[1:]) == (reader.identity, tuple(reader.epochs))
    store.close()
    return reader


def given(store: ChunkStore, names: Iterable[bytes]) -> dict[bytes, bytes]:
    """What the store gives of these chunks, which are all that it has."""
    found = {name: fetch(store, name) for name in names if store.find(name) is not None}
    assert len(found) == store.figures().chunks
    return found


def test_it_knows_nothing_but_the_document() -> None:
    assert imports(independent_reader) <= {"os", "struct", "collections.abc", "pathlib", "typing", "lmdb", "blake3"}


def imports(module: ModuleType) -> set[str | None]:
    assert module.__file__ is not None
    found = set[str | None]()
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


@pytest.mark.parametrize("layout", [SMALL, LARGE], ids=lambda layout: f"{layout.slot_bytes >> 20} MiB")
def test_a_closed_store(tmp_path: Path, layout: Layout) -> None:
    """Chunks of every length, two writers, and notes about a peer."""
    store = DiskStore(tmp_path, SIZE, CACHE, new=layout)
    draw = random.Random(1)
    chunks = [draw.randbytes(draw.choice([1, 2, 500, 4096, 70_001, 262_144])) for _ in range(200)]
    for number, data in enumerate(chunks):
        store.put(fingerprint(data), data, writer=number % 2)
        store.write()
    store.remember(PEER, b"an epoch")
    store.believe(PEER, 1, 0b1011)
    store.announce()
    store.close()
    reader = Reader(tmp_path)
    reader.check_directories()
    assert (reader.broken, reader.clean, reader.slot_bytes) == ([], True, layout.slot_bytes)
    assert reader.sound() == {fingerprint(data): data for data in chunks}
    assert tuple(reader.epochs) == store.epochs
    assert reader.beliefs == {(PEER, 1): 0b1011}
    assert reader.peers[PEER][1] == b"an epoch"


def test_containers_with_as_many_chunks_as_there_are_entries(tmp_path: Path) -> None:
    store = open_store("disk", SIZE, tmp_path, CACHE)
    fill(store, range(3000), length=100)
    store.close()
    reader = Reader(tmp_path)
    reader.check_directories()
    assert reader.broken == []
    assert [entries for _, entries, *_ in reader.rows.values()] == [1136, 1136, 728]
    assert reader.sound().keys() == {name_of(number, 100) for number in range(3000)}


def test_a_store_that_is_in_use_and_evicts(tmp_path: Path) -> None:
    """What is in memory only is not to be read yet. What has to go for it is still there."""
    store = open_store("disk", SIZE, tmp_path, CACHE)
    for first in (0, 60, 300):
        fill(store, range(first, first + A_CONTAINER * 4 + 1))
        store.write()
        reader, sound = read_elsewhere(tmp_path)
        assert (reader.broken, reader.clean) == ([], False)
        known = {name_of(number) for number in held(store, range(400))}
        assert 0 < len(known - sound) < A_CONTAINER
        assert len(sound - known) in (0, A_CONTAINER)
    assert store.figures().evicted_containers
    store.close()
    assert agrees(tmp_path).sound().keys() == known


def test_a_store_across_restarts_and_other_sizes(tmp_path: Path) -> None:
    """All of it is replaced more than once, and each time the oldest went."""
    number = 0
    for size in (128, 64, 96, 64):
        store = open_store("disk", size << 20, tmp_path, CACHE)
        fill(store, range(number, number + A_CONTAINER * 30))
        number += A_CONTAINER * 30
        store.close()
        reader = agrees(tmp_path, size << 20)
        slots = ((size << 20) - (16 << 20) - (4 << 20)) // (4 << 20)
        assert len(reader.rows) == slots
        assert reader.file_bytes <= (slots + 1) * (4 << 20)
        newest = range(number - A_CONTAINER * slots, number)
        assert reader.places.keys() == {name_of(one) for one in newest}


def test_a_store_with_chunks_that_were_dropped(tmp_path: Path) -> None:
    store = open_store("disk", SIZE, tmp_path, CACHE)
    fill(store, FIVE)
    store.close()
    with (tmp_path / "containers").open("r+b") as file:
        file.seek(2 * (4 << 20) + 40960 + 3 * (256 << 10) + 5)
        file.write(b"damage")
    assert [name for name, data in Reader(tmp_path).chunks() if data is None] == [name_of(A_CONTAINER + 3)]
    store = DiskStore(tmp_path, SIZE, CACHE)
    assert store.verify() == (len(FIVE) - 1, 1)
    store.close()
    assert agrees(tmp_path).sound().keys() == {name_of(number) for number in FIVE if number != A_CONTAINER + 3}


def test_two_containers_that_say_they_have_one_slot(tmp_path: Path) -> None:
    """As a transaction may leave them that failed when the slot had been written over."""
    store = open_store("disk", SIZE, tmp_path, CACHE)
    fill(store, FIVE)
    store.close()
    key = (2).to_bytes(8, "big")
    row = put_in_index(tmp_path, b"container", key, b"")
    assert row is not None
    put_in_index(tmp_path, b"container", key, (3).to_bytes(4, "little") + row[4:])
    left = Reader(tmp_path)
    found = dict(left.chunks())
    store = open_store("disk", SIZE, tmp_path, CACHE)
    assert given(store, left.places) == found
    assert len(found) == len(FIVE) - A_CONTAINER
    store.close()


def test_a_store_whose_owner_was_killed(tmp_path: Path) -> None:
    """What the store gives when it has been opened and verified is what the reader has found, but for containers whose
    slots were just being written over: of these the reader may still find a part."""
    store = open_store("disk", SIZE, tmp_path, CACHE)
    fill(store, range(A_CONTAINER * 12))
    assert store.figures().evicted_containers, "from now on old ones are written over"
    store.close()
    draw = random.Random(2)
    for kill in range(5):
        kill_at_work(tmp_path, kill, draw.uniform(0.1, 0.4))
        left = Reader(tmp_path)
        assert (left.broken, left.clean) == ([], False)
        found = left.sound()
        store = DiskStore(tmp_path, SIZE, CACHE)
        sound, dropped = store.verify()
        store.close()
        assert sound + dropped == len(left.places)
        kept = agrees(tmp_path).sound()
        assert kept.items() <= found.items()
        given_up = {left.places[name][0] for name in found.keys() - kept.keys()}
        assert not any(map(left.has_directory, given_up))
