"""The index by itself: a map that fills, what is swept out of it, what its file must not be."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from dedupstore.beliefs import Notes, PeerNote
from dedupstore.change import Change
from dedupstore.container import MAX_ENTRIES, Container
from dedupstore.errors import Damaged, IndexFull, StoreFault
from dedupstore.index import Index
from dedupstore.roster import Row
from dedupstore.store import CONTAINER_BYTES
from dedupstore.walk import problems
from tests.unit.dedupstore.stores import spoil_pages

MAP = 1 << 20
PEER = b"a site, a store."
MEMORY = memoryview(bytearray(CONTAINER_BYTES))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def index(path: Path) -> Iterator[Index]:
    opened = Index(path, MAP)
    yield opened
    opened.close()


def container(number: int, entries: int = MAX_ENTRIES) -> tuple[Container, Row]:
    """A container whose chunks have one byte and random names."""
    made = Container(number, MEMORY)
    draw = random.Random(number)
    names = draw.randbytes(32 * entries)
    for at in range(0, len(names), 32):
        made.append(names[at : at + 32], b"x")
    return made, Row(slot=number, entries=entries, bytes=entries)


def fill(index: Index, numbers: range) -> None:
    for number in numbers:
        commit(index, Change(number + 1, added=[container(number)]))


def commit(index: Index, change: Change) -> None:
    index.commit(change)
    index.refresh()


def test_places_come_back(index: Index) -> None:
    one, row = container(1, 3)
    assert index.find(one.fingerprints[1]) is None
    index.commit(Change(2, added=[(one, row)]))
    index.refresh()
    assert index.find(one.fingerprints[1]) == ((1, 1), 1)
    assert [(number, known.slot, known.entries) for number, known in index.rows()] == [(1, 1, 3)]


def test_a_snapshot_lasts_until_it_is_refreshed(index: Index) -> None:
    one, row = container(1, 3)
    assert index.find(one.fingerprints[0]) is None
    index.commit(Change(2, added=[(one, row)]))
    assert index.find(one.fingerprints[0]) is None
    index.refresh()
    assert index.find(one.fingerprints[0]) is not None


def test_removing_leaves_what_was_stored_anew(index: Index) -> None:
    old, row = container(1, 3)
    index.commit(Change(2, added=[(old, row)]))
    new = Container(2, MEMORY)
    new.append(old.fingerprints[0], b"x")
    index.commit(Change(3, added=[(new, Row(2, 1, 1))]))
    commit(index, Change(3, removed={1: old.fingerprints}))
    assert [index.find(name) for name in old.fingerprints] == [((2, 0), 1), None, None]


def test_removing_takes_what_was_believed_along(index: Index) -> None:
    removed, kept = container(1, 3), container(2, 3)
    beliefs = {(PEER, 1): 7, (PEER, 2): 5}
    commit(index, Change(3, added=[removed, kept], notes=Notes(frozenset(), {PEER: PeerNote(b"epoch--1", 1)}, beliefs)))
    assert [index.belief(PEER, number) for number in (1, 2)] == [7, 5]
    commit(index, Change(3, removed={1: removed[0].fingerprints}))
    assert [index.belief(PEER, number) for number in (1, 2)] == [0, 5]


def test_a_full_map_is_said_and_nothing_is_lost(index: Index) -> None:
    with pytest.raises(IndexFull):
        fill(index, range(1, 100))
    rows = index.rows()
    assert 3 < len(rows) < 20
    assert index.chunks() == len(rows) * MAX_ENTRIES
    assert index.find(container(1)[0].fingerprints[0]) == ((1, 0), 1)
    assert index.file_bytes() <= MAP


def commit_in_turn(index: Index, numbers: range) -> None:
    """Containers, the oldest making room as often as the index says that there is none."""
    for number in numbers:
        change = Change(number + 1, added=[container(number)])
        while index.crowded(change):
            oldest = index.rows()[0][0]
            commit(index, Change(number, removed={oldest: container(oldest)[0].fingerprints}))
        commit(index, change)


def test_an_index_that_is_asked_first_never_fills(index: Index) -> None:
    commit_in_turn(index, range(1, 60))
    assert len(index.rows()) >= 3
    assert index.rows()[-1][0] == 59
    assert index.file_bytes() <= MAP


@pytest.mark.parametrize("most", [1, 100, 4096])
def test_sweeping_removes_the_places_of_the_dead(index: Index, most: int) -> None:
    for number in range(1, 5):
        index.commit(Change(number + 1, added=[container(number, 150)]))
    index.commit(Change(5, removed={1: [], 3: []}))
    assert index.chunks() == 600
    index.sweep({2, 4}.__contains__, most)
    index.refresh()
    assert index.chunks() == 300
    assert index.find(container(2)[0].fingerprints[149]) == ((2, 149), 1)
    assert index.find(container(3)[0].fingerprints[0]) is None


def test_compacting_gives_space_back(index: Index, path: Path) -> None:
    fill(index, range(1, 4))
    index.commit(Change(4, removed={number: container(number)[0].fingerprints for number in range(1, 3)}))
    before = index.file_bytes()
    smaller = index.compacted(MAP)
    try:
        assert smaller.file_bytes() < before // 2
        assert smaller.find(container(3)[0].fingerprints[7]) == ((3, 7), 1)
        assert problems(smaller.path) == []
        assert not (path / "compact").exists()
    finally:
        smaller.close()


def test_nobody_else_reads_what_was_compacted(index: Index, path: Path) -> None:
    """Whatever the umask says, and where a disk is mounted as `index`, whose root others may look into."""
    before = os.umask(0o022)
    try:
        smaller = index.compacted(MAP)
    finally:
        os.umask(before)
    smaller.close()
    assert {file.name: file.stat().st_mode & 0o777 for file in path.iterdir()} == {"data.mdb": 0o600, "lock.mdb": 0o600}


def test_what_an_interrupted_compaction_left_is_removed(index: Index, path: Path) -> None:
    index.close()
    (path / "compact").mkdir()
    (path / "compact" / "data.mdb").write_bytes(bytes(99))
    Index(path, MAP).close()
    assert not (path / "compact").exists()


@pytest.mark.parametrize("length", [1, 4095, 4096, 8192, 40960])
def test_an_index_cut_short_is_damaged(index: Index, path: Path, length: int) -> None:
    fill(index, range(1, 3))
    index.close()
    os.truncate(path / "data.mdb", length)
    with pytest.raises(Damaged):
        Index(path, MAP)


def with_pages(path: Path, length: int) -> None:
    """An empty index as a host makes it whose pages are so long (arm64: 16 or 64 KiB, of which LMDB takes 32)."""
    lmdb.open(str(path), MAP).close()
    data = path / "data.mdb"
    content = data.read_bytes()
    metas = [content[at : at + 40] + length.to_bytes(4, "little") + content[at + 44 : at + 4096] for at in (0, 4096)]
    data.write_bytes(b"".join(meta.ljust(length, b"\0") for meta in metas))


def test_an_index_of_longer_pages_cut_short_is_damaged(path: Path) -> None:
    """Half of it was taken for enough, and the process died in the rest (SIGBUS)."""
    with_pages(path, 16384)
    index = Index(path, 16 * MAP)
    fill(index, range(1, 3))
    length = index.file_bytes()
    index.close()
    os.truncate(path / "data.mdb", length // 2)
    with pytest.raises(Damaged, match="cut short"):
        Index(path, 16 * MAP)


@pytest.mark.parametrize("length", [16384, 32768])
def test_an_index_of_longer_pages_never_fills_either(path: Path, length: int) -> None:
    """It had room for a quarter of what it was taken to have room for: the map filled, and nothing was learned."""
    with_pages(path, length)
    index = Index(path, 16 * MAP)
    commit_in_turn(index, range(1, 100))
    assert len(index.rows()) >= 3
    index.close()
    assert problems(path) == []


def test_a_sweep_touches_no_more_than_the_map_has_room_for(path: Path) -> None:
    """A store that lost some of its containers was opened no more: the index map was full, at each try."""
    index = Index(path, MAP)
    filled = [container(number, 50) for number in range(1, 121)]
    for one, row in filled:
        commit(index, Change(one.id + 1, added=[(one, row)]))
    gone = {one.id: one.fingerprints for one, _ in filled if one.id % 8 == 0}
    with pytest.raises(IndexFull):
        index.commit(Change(121, removed=gone))
    index.close()
    index = Index(path, MAP)
    index.sweep(lambda one: one % 8 != 0)
    index.refresh()
    assert index.chunks() == 50 * 105
    assert index.find(filled[0][0].fingerprints[7]) == ((1, 7), 1)
    assert index.find(filled[7][0].fingerprints[7]) is None
    index.close()
    assert problems(path) == []


def test_garbage_is_no_index(path: Path) -> None:
    path.mkdir()
    (path / "data.mdb").write_bytes(random.Random(1).randbytes(50_000))
    with pytest.raises(Damaged, match="the index is damaged"):
        Index(path, MAP)


def test_a_file_in_its_place_is_no_index(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(Damaged):
        Index(path, MAP)


def test_a_spoilt_page_is_noticed_by_a_walk_and_by_a_look(index: Index, path: Path) -> None:
    fill(index, range(1, 3))
    assert problems(path) == []
    index.close()
    name = container(1)[0].fingerprints[0]
    spoil_pages(path / "data.mdb", name)
    spoilt = Index(path, MAP)
    assert problems(path)
    with pytest.raises(Damaged, match="the index is damaged"):
        spoilt.find(name)
    spoilt.close()


@pytest.mark.parametrize("kind", ["ones", "zeros", "random"])
def test_a_walk_survives_whatever_a_page_holds(index: Index, path: Path, kind: str) -> None:
    """It reads the file itself: LMDB, which may end the process, has no part in it."""
    content = {"ones": b"\xff" * 4096, "zeros": bytes(4096), "random": random.Random(2).randbytes(4096)}[kind]
    for number in (1, 2):
        commit(index, Change(number + 1, added=[container(number, 300)]))
    index.close()
    data = path / "data.mdb"
    sound = data.read_bytes()
    found = 0
    for page in range(0, len(sound), 4096):
        data.write_bytes(sound[:page] + content + sound[page + 4096 :])
        found += bool(problems(path))
    assert found > 8


@pytest.mark.parametrize(("field", "bit"), [(6, 0x100), (6, 1), (0, 2), (0, 0x20)])
def test_a_walk_finds_a_node_that_reaches_into_others(index: Index, path: Path, field: int, bit: int) -> None:
    """As long as it is only read nothing is wrong with it; deleted, it takes others with it."""
    fill(index, range(1, 3))
    assert problems(path) == []
    index.close()
    data = path / "data.mdb"
    sound = data.read_bytes()
    with lmdb.open(os.fspath(path), max_dbs=8) as environment, environment.begin() as txn:
        names = list(txn.cursor(environment.open_db(b"chunk", txn)).iternext(values=False))
    name = next(name for name in names if sound.rindex(name) % 4096 < 2048)  # others lie behind it
    spoilt = bytearray(sound)
    at = sound.find(name)
    while at > 0:  # of earlier versions of the page, too
        length = int.from_bytes(sound[at - 8 + field : at - 6 + field], "little") ^ bit
        spoilt[at - 8 + field : at - 6 + field] = length.to_bytes(2, "little")
        at = sound.find(name, at + 1)
    data.write_bytes(spoilt)
    assert problems(path)


def test_where_no_index_is_a_walk_finds_nothing(path: Path) -> None:
    assert problems(path) == []
    path.mkdir()
    (path / "data.mdb").touch()
    assert problems(path) == []
    Index(path, MAP).close()
    assert problems(path) == []


def test_nobody_else_reads(index: Index) -> None:
    index.find(bytes(32))
    assert index.foreign_readers() == []


def test_an_index_without_the_stores_data(index: Index) -> None:
    assert index.meta() is None
    index.end(())
    with pytest.raises(Damaged, match="lacks the store's own data"):
        index.meta()


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(StoreFault):
        Index(tmp_path / "no" / "where", MAP)


def test_a_path_may_have_any_bytes(tmp_path: Path) -> None:
    """Latin-1, say; in an ASCII locale all but ASCII are such. LMDB's binding takes no text that it cannot encode."""
    index = Index(tmp_path / os.fsdecode(b"caf\xe9"), MAP).compacted(MAP)
    index.close()
