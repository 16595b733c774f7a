"""Chunks that are wanted here and there are read alone; those that are wanted in order come with their container."""

import os
import random
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from dedupstore import container_file
from dedupstore.container import SMALL
from dedupstore.container_file import ContainerFile
from dedupstore.disk import DiskStore
from dedupstore.disk_cache import FIRST_UNREAD
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.scatter import Scatter
from dedupstore.store import ChunkStore
from tests.conformance.filling import chunk, fetch, fill, healthy, name_of, put
from tests.unit.dedupstore.failing_disk import Clock
from tests.unit.dedupstore.stores import edit, failing_but_for_the_superblock, opened, put_in_index

LENGTH = 16 << 10
A_SLOT = (SMALL.slot_bytes - SMALL.data_offset) // LENGTH
CHUNKS = range(A_SLOT * 200)
SIZE = 1 << 30
NAME = b"wanted now"
NAMES = [bytes([number]) for number in range(100)]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store much larger than its cache, for all that only read it."""
    path = tmp_path_factory.mktemp("large") / "store"
    store = opened(path, SIZE)
    fill(store, CHUNKS, LENGTH)
    store.close()
    return path


@pytest.fixture
def store(large: Path) -> Iterator[ChunkStore]:
    """It, cold."""
    store = opened(large, SIZE)
    yield store
    store.close()


@pytest.fixture
def doomed(large: Path, path: Path, clock: Clock) -> Iterator[ChunkStore]:
    """Another one like it, in `path`, for those that lose some of it."""
    shutil.copytree(large, path)
    store = opened(path, SIZE, clock)
    yield store
    store.close()


def read_here_and_there(store: ChunkStore, count: int) -> int:
    """So many chunks; how often the disk was asked."""
    before, draw = store.figures().loads, random.Random(count)
    for number in draw.sample(CHUNKS, count):
        assert fetch(store, name_of(number, LENGTH)) == chunk(number, LENGTH)
    return store.figures().loads - before


def read_on(store: ChunkStore, containers: range) -> int:
    """All chunks of those containers in order; how often the disk was asked."""
    before = store.figures().loads
    for number in range(containers.start * A_SLOT, containers.stop * A_SLOT):
        assert fetch(store, name_of(number, LENGTH)) == chunk(number, LENGTH)
    return store.figures().loads - before


def resident(store: ChunkStore, number: int) -> bool:
    """True if its container is in memory."""
    place = store.find(name_of(number, LENGTH))
    assert place is not None
    return store.following(place) is not None


def cold(store: ChunkStore, numbers: range | list[int]) -> list[int]:
    """Those that are not."""
    return [number for number in numbers if not resident(store, number)]


def test_what_is_wanted_in_the_order_in_which_it_was_stored_comes_by_container(store: ChunkStore) -> None:
    assert read_on(store, range(100)) == 100


def test_what_is_wanted_here_and_there_comes_alone(store: ChunkStore) -> None:
    read_here_and_there(store, 300)
    wanted = cold(store, CHUNKS[:: A_SLOT * 10])
    for number in wanted:
        assert fetch(store, name_of(number, LENGTH)) == chunk(number, LENGTH)
    assert sum(resident(store, number) for number in wanted) <= 1, "of a container of which an eighth was read alone"
    assert healthy(store)


def test_it_comes_by_container_again_when_it_is_wanted_in_order_again(store: ChunkStore) -> None:
    read_here_and_there(store, 300)
    assert 100 < read_on(store, range(100)) < 500
    assert read_on(store, range(100, 200)) <= 100


def test_so_it_does_when_what_lies_behind_the_first_chunk_of_each_is_wanted(store: ChunkStore) -> None:
    """As by runs. It never did, but for what was in memory from before: only containers of which an eighth had been
    read alone said how much of them was read."""
    read_here_and_there(store, 300)
    firsts = cold(store, CHUNKS[::A_SLOT])
    for first in firsts[:50]:
        assert fetch(store, name_of(first, LENGTH)) == chunk(first, LENGTH)
        store.load(name_of(first, LENGTH), whole=True)
        for number in range(first, first + A_SLOT):
            assert store.read(name_of(number, LENGTH)) == chunk(number, LENGTH)
    store.load(name_of(firsts[50], LENGTH))
    assert resident(store, firsts[50])


def test_whoever_wants_what_lies_behind_gets_the_container(store: ChunkStore) -> None:
    read_here_and_there(store, 300)
    number = next(number for number in CHUNKS if not resident(store, number))
    store.load(name_of(number, LENGTH), whole=True)
    assert resident(store, number)


def test_what_is_not_what_its_name_says_is_dropped(doomed: ChunkStore, path: Path) -> None:
    read_here_and_there(doomed, 300)
    number = next(number for number in CHUNKS if number % A_SLOT == 5 and not resident(doomed, number))
    slot = (1 + number // A_SLOT) * SMALL.slot_bytes
    edit(path / "containers", slot + SMALL.data_offset + 5 * LENGTH + 100, b"\xff\xfe")
    name = name_of(number, LENGTH)
    doomed.load(name)
    with pytest.raises(ChunkInvalid):
        doomed.read(name)
    with pytest.raises(ChunkMissing):
        doomed.read(name)
    assert doomed.figures().invalid == 1


@pytest.mark.parametrize("loads", [1, 2])
def test_what_lies_behind_the_end_of_a_file_that_was_cut_is_dropped_and_counts_no_longer(
    doomed: ChunkStore, path: Path, loads: int
) -> None:
    read_here_and_there(doomed, 300)
    number = next(number for number in reversed(CHUNKS) if not resident(doomed, number))
    os.truncate(path / "containers", SMALL.slot_bytes * 2)
    before = doomed.figures()
    for _ in range(loads):
        doomed.load(name_of(number, LENGTH))
    with pytest.raises((ChunkInvalid, ChunkMissing)):
        doomed.read(name_of(number, LENGTH))
    after = doomed.figures()
    assert before.used_bytes - after.used_bytes == (before.chunks - after.chunks) * LENGTH > 0


def test_what_was_read_of_a_slot_that_was_written_over_says_nothing_of_where_the_chunk_is_now(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was kept by name: when the chunk had been learned anew, and had left memory, it was dropped, sound as it was,
    and the store said to be damaged."""
    monkeypatch.setattr(Scatter, "scattered", True)
    store = DiskStore(path, 64 << 20, cache_bytes=32 << 20, new=SMALL)
    fill(store, range(7 * 23))
    gone = name_of(0)
    read = ContainerFile.chunk

    def late(file: ContainerFile, slot: int, offset: int, length: int) -> bytes:
        """The slot's turn has come meanwhile."""
        fill(store, range(1000, 1000 + 7 * 30))
        return read(file, slot, offset, length)

    monkeypatch.setattr(ContainerFile, "chunk", late)
    store.load(gone)
    monkeypatch.setattr(ContainerFile, "chunk", read)
    with pytest.raises(ChunkMissing):
        store.read(gone)
    put(store, 0)
    fill(store, range(2000, 2000 + 7 * 20))
    assert fetch(store, gone) == chunk(0)
    assert store.figures().invalid == 0
    store.close()


def test_a_disk_that_can_be_read_again_is_an_alarm_no_longer(
    doomed: ChunkStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood until the next container was read, and where little is read that may take days."""
    read_here_and_there(doomed, 300)
    firsts = cold(doomed, CHUNKS[::A_SLOT])
    one, other, third = (name_of(firsts[at], LENGTH) for at in (0, len(firsts) // 2, -1))

    with monkeypatch.context() as disk:
        disk.setattr(container_file, "preadv", failing_but_for_the_superblock)
        doomed.load(one)
    with pytest.raises(ChunkMissing):
        doomed.read(one)
    assert "cannot be read" in doomed.alarms[0]
    clock.now += FIRST_UNREAD
    for name in (other, third):
        fetch(doomed, name)
    assert healthy(doomed)


def test_the_disk_hears_ahead_of_what_is_wanted_here_and_there(
    store: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of nothing while containers are read, of nothing that is in memory, and of each chunk once."""
    told: list[tuple[int, int, int]] = []
    monkeypatch.setattr(ContainerFile, "expect", lambda _, *extent: told.append(extent))
    wanted = [number for number in CHUNKS if number % A_SLOT == 5][::10]
    names = [name_of(number, LENGTH) for number in wanted]
    store.load(names[0], soon=names[1:10])
    assert not told
    read_here_and_there(store, 300)
    unread = cold(store, wanted)[:10]
    first, *soon = [name_of(number, LENGTH) for number in unread]
    store.load(first, soon=soon)
    store.load(first, soon=soon)
    assert told == [(1 + number // A_SLOT, 5 * LENGTH, LENGTH) for number in unread[1:]]
    told.clear()
    in_memory = (name_of(number, LENGTH) for number in CHUNKS if resident(store, number))
    store.load(first, soon=list(islice(in_memory, 10)))
    assert not told


def test_the_disk_hears_again_of_what_was_announced_long_ago_in_vain(
    store: ChunkStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if all that was wanted since was in memory when its turn came: that is no reason to remember more of it."""
    read_here_and_there(store, 300)
    told: list[tuple[int, int, int]] = []
    monkeypatch.setattr(ContainerFile, "expect", lambda _, *extent: told.append(extent))
    cold, warm = (
        next(name_of(number, LENGTH) for number in CHUNKS if resident(store, number) is there)
        for there in (False, True)
    )
    for _ in range(130):
        store.load(warm, soon=[cold])
    assert len(told) == 2


def test_what_was_read_alone_is_of_the_name_that_it_was_read_for(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit of the index has flipped, and two names lead to one place. The other chunk was dropped, sound as it was."""
    place = put_in_index(filled, b"chunk", name_of(0), b"")
    assert place is not None
    entry = (1).to_bytes(2, "little")
    put_in_index(filled, b"chunk", name_of(0), place[:8] + entry + place[10:])
    monkeypatch.setattr(Scatter, "scattered", True)
    store = opened(filled)
    for number in (0, 1):
        assert fetch(store, name_of(number)) == chunk(number)
    assert store.figures().invalid == 0
    store.close()


def test_a_chunk_without_any_bytes_is_not_read_alone(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So says a damaged index; the container knows better. The disk would hear of the whole rest of the file."""
    place = put_in_index(filled, b"chunk", name_of(0), b"")
    assert place is not None
    put_in_index(filled, b"chunk", name_of(0), place[:-4] + bytes(4))
    monkeypatch.setattr(Scatter, "scattered", True)
    told: list[tuple[int, int, int]] = []
    monkeypatch.setattr(ContainerFile, "expect", lambda _, *extent: told.append(extent))
    store = opened(filled)
    store.load(name_of(20), soon=[name_of(0)])
    assert not told
    assert fetch(store, name_of(0)) == chunk(0)
    store.close()


def test_what_the_disk_has_heard_of_is_read_as_anything_else(store: ChunkStore) -> None:
    read_here_and_there(store, 300)
    wanted = cold(store, CHUNKS[:: A_SLOT * 10])
    names = [name_of(number, LENGTH) for number in wanted]
    for at, number in enumerate(wanted):
        store.load(names[at], soon=names[at + 1 : at + 9])
        assert store.read(names[at]) == chunk(number, LENGTH)
    assert healthy(store)


def told(scatter: Scatter, names: list[bytes], container: int = 1) -> int:
    """Of how many of these chunks, which lie in that container, the disk hears."""
    heard = 0
    for name in names:
        if scatter.announce(name):
            scatter.told(name, container)
            heard += 1
    return heard


@pytest.fixture
def scatter() -> Scatter:
    """Of one that has found chunks to lie scattered."""
    scatter = Scatter()
    scattered(scatter)
    return scatter


def test_a_disk_hears_of_nothing_while_containers_are_read() -> None:
    assert told(Scatter(), NAMES) == 0


def test_a_disk_hears_of_no_more_than_it_puts_in_order(scatter: Scatter) -> None:
    """Of another one when it is asked for one of them."""
    assert told(scatter, NAMES) == 32
    scatter.wanted(NAMES[0])
    assert told(scatter, NAMES) == 1


def test_a_disk_that_has_not_the_chunk_can_hear_of_another(scatter: Scatter) -> None:
    assert all(map(scatter.announce, NAMES))
    assert told(scatter, [b"another"]) == 1


def test_a_disk_is_not_asked_for_what_came_with_its_container(scatter: Scatter) -> None:
    """What it had heard of then was never asked for, and for a while it heard of nothing else."""
    assert told(scatter, NAMES[:10], 1) + told(scatter, NAMES[10:], 2) == 32
    scatter.loaded(1, measured=False)
    assert told(scatter, NAMES) == 10


def test_what_was_announced_in_vain_is_forgotten(scatter: Scatter) -> None:
    """Whatever is wanted instead: what is in memory by then, or comes with a container, counts as well."""
    assert told(scatter, NAMES) == 32
    for _ in range(128):
        scatter.wanted(NAME)
    assert told(scatter, NAMES) == 0
    scatter.wanted(NAME)
    assert told(scatter, NAMES) == 32


def scattered(scatter: Scatter) -> None:
    """Of each container one chunk in a hundred was read."""
    for container in range(100):
        scatter.loaded(container, measured=True)
        scatter.touched(container)
        scatter.left(container, 100)
    assert scatter.scattered


def test_a_container_of_which_much_was_read_alone_is_read() -> None:
    """An eighth of its chunks of late, and none of others."""
    scatter = Scatter()
    assert [scatter.alone(1, 80) for _ in range(12)] == [True] * 10 + [False] * 2
    assert all(scatter.alone(container, 80) for container in range(2, 1000))
    assert [scatter.alone(2, 3) for _ in range(3)] == [True, False, False]


def test_what_was_read_of_a_container_alone_counts_when_it_is_asked_whether_it_was_worth_reading() -> None:
    """An eighth of each before it comes to memory, and one chunk behind."""
    scatter = Scatter()
    scattered(scatter)
    for container in range(1000, 1100):
        while scatter.alone(container, 100):
            pass
        scatter.loaded(container, measured=True)
        scatter.touched(container)
        scatter.left(container, 100)
    assert not scatter.scattered


def test_containers_that_came_otherwise_do_not_count() -> None:
    scatter = Scatter()
    for container in range(100):
        scatter.touched(container)
        scatter.left(container, 100)
    assert not scatter.scattered


def test_a_container_that_is_read_again_and_again_hides_no_others() -> None:
    scatter = Scatter()
    for container in range(100):
        scatter.loaded(container, measured=True)
        scatter.touched(container, 1 if container else 10**9)
        scatter.left(container, 100)
    assert scatter.scattered


def test_little_is_kept() -> None:
    scatter = Scatter()
    for number in range(1000):
        scatter.keep(NAME, (1, number), b"data")
    assert sum(scatter.get(NAME, (1, number)) is not None for number in range(1000)) == 32


def test_what_is_read_again_is_kept_as_long_as_what_is_new() -> None:
    """Two peers want it; the second would have had it driven out by whatever was read next."""
    scatter = Scatter()
    for number in (*range(32), 0, 32):
        scatter.keep(NAME, (1, number), b"data")
    assert scatter.get(NAME, (1, 0)) is not None
