"""What every ChunkStore promises, run over all of them."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.errors import ChunkMissing, StoreUnusable
from dedupstore.fingerprint import fingerprint
from dedupstore.scatter import Scatter
from dedupstore.store import CONTAINER_BYTES, NOT_REPEATED, ChunkStore, Place
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fetch, fill, held, name_of, put
from tests.unit.dedupstore.failing_disk import Clock

PEER, OTHER = b"p" * 16, b"q" * 16
SIZE = 64 << 20


@pytest.fixture
def clock() -> Clock:
    return Clock()


SCATTERED = "disk, read in another order than written"


@pytest.fixture(params=["memory", "disk", SCATTERED])
def make(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., ChunkStore]]:
    """A function that opens one more store of the kind under test."""
    stores: list[ChunkStore] = []
    if request.param == SCATTERED:
        monkeypatch.setattr(Scatter, "scattered", True)

    def open_one(name: str = "store", size: int = SIZE, cache: int = 32 << 20) -> ChunkStore:
        mode = "memory" if request.param == "memory" else "disk"
        stores.append(open_store(mode, size, tmp_path / name, cache_bytes=cache, clock=clock))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(make: Callable[..., ChunkStore]) -> ChunkStore:
    return make()


@pytest.fixture
def containers(store: ChunkStore) -> int:
    """How many containers the store has room for."""
    return 16 if store.figures().mode == "memory" else 11


def test_a_new_store_is_empty(store: ChunkStore) -> None:
    assert store.find(name_of(1)) is None
    assert store.alarms == ()
    figures = store.figures()
    assert (figures.chunks, figures.containers, figures.used_bytes, figures.size_bytes) == (0, 0, 0, SIZE)


def test_what_was_put_is_found_and_read(store: ChunkStore) -> None:
    for number, length in enumerate((1, 7, 4096, 65537, LARGE)):
        place = put(store, number, length)
        name = name_of(number, length)
        assert place == (1, number)
        assert store.find(name) == place
        assert store.read(name) == chunk(number, length)
    assert store.figures().chunks == 5


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_put_takes_any_buffer_and_copies_it(store: ChunkStore, kind: type) -> None:
    data = bytearray(chunk(1, 5000))
    name = fingerprint(data)
    store.put(name, kind(data) if kind is not bytearray else data)
    data[:] = bytes(5000)
    assert store.read(name) == chunk(1, 5000)


def test_a_chunk_is_stored_once(store: ChunkStore) -> None:
    first = put(store, 1)
    assert put(store, 1) == first
    assert put(store, 2) != first
    figures = store.figures()
    assert (figures.puts, figures.chunks, figures.put_bytes) == (2, 2, 2 * LARGE)


def test_a_chunk_is_stored_once_even_if_its_container_left_memory(store: ChunkStore, containers: int) -> None:
    first = put(store, 0)
    fill(store, range(1, A_CONTAINER * (containers - 1)))
    assert put(store, 0) == first
    assert store.find(name_of(0)) == first


def test_asking_in_vain_does_not_make_a_chunk_twice(store: ChunkStore, containers: int) -> None:
    assert store.find(name_of(0)) is None
    first = put(store, 0)
    fill(store, range(1, A_CONTAINER * (containers - 1)))
    assert put(store, 0) == first


@pytest.mark.parametrize(("name", "data"), [(bytes(32), b""), (bytes(31), b"x"), (bytes(32), bytes(LARGE + 1))])
def test_an_impossible_chunk_is_refused(store: ChunkStore, name: bytes, data: bytes) -> None:
    with pytest.raises(ValueError, match="a chunk has 1 to 262144 bytes"):
        store.put(name, data)


def test_the_garbage_collector_does_not_look_through_chunks_again_and_again(store: ChunkStore) -> None:
    """It holds up everything for as long as it takes to look through all that it tracks."""
    chunks = range(3 * A_CONTAINER)
    fill(store, chunks)
    for number in chunks:
        fetch(store, name_of(number))
    gc.collect()
    tracked = {id(each) for each in gc.get_objects()}
    assert not [number for number in chunks if id(store.find(name_of(number))) in tracked]


def test_an_unknown_chunk_is_missing(store: ChunkStore) -> None:
    store.load(name_of(1))
    store.prefetch(name_of(1))
    with pytest.raises(ChunkMissing) as caught:
        store.read(name_of(1))
    assert caught.value.fingerprint == name_of(1)


def test_a_container_takes_so_many_bytes(store: ChunkStore) -> None:
    places = fill(store, range(A_CONTAINER + 1))
    assert places[A_CONTAINER - 1] == (1, A_CONTAINER - 1)
    assert places[A_CONTAINER] == (2, 0)


@pytest.mark.parametrize(("beyond", "place"), [(0, (1, A_CONTAINER)), (1, (2, 0))])
def test_a_container_is_filled_to_its_last_byte(store: ChunkStore, beyond: int, place: Place) -> None:
    left = CONTAINER_BYTES // 1024 * 1014 - A_CONTAINER * LARGE
    fill(store, range(A_CONTAINER))
    assert put(store, 100, left + beyond) == place
    assert put(store, 101, 1) == (2, beyond)
    assert fetch(store, name_of(100, left + beyond)) == chunk(100, left + beyond)


def test_a_container_takes_so_many_chunks(store: ChunkStore) -> None:
    places = fill(store, range(1137), 9)
    assert places[1135] == (1, 1135)
    assert places[1136] == (2, 0)
    assert fetch(store, name_of(1135, 9)) == chunk(1135, 9)


def test_the_oldest_container_goes_first_and_alone(store: ChunkStore, containers: int) -> None:
    count = A_CONTAINER * containers
    fill(store, range(count))
    assert len(held(store, range(count))) == count
    fill(store, range(count, count + 1))
    assert held(store, range(count + 1)) == list(range(A_CONTAINER, count + 1))
    figures = store.figures()
    assert (figures.evicted_containers, figures.evicted_bytes) == (1, A_CONTAINER * LARGE)
    assert (figures.containers, figures.chunks) == (containers, count + 1 - A_CONTAINER)
    assert figures.used_bytes == figures.chunks * LARGE


def test_being_used_does_not_make_a_chunk_younger(store: ChunkStore, containers: int) -> None:
    fill(store, range(A_CONTAINER * containers))
    fetch(store, name_of(0))
    put(store, 10_000)
    assert store.find(name_of(0)) is None
    with pytest.raises(ChunkMissing):
        store.read(name_of(0))


def test_ids_are_never_used_again(store: ChunkStore, containers: int) -> None:
    places = fill(store, range(A_CONTAINER * containers * 2))
    ids = [place[0] for place in places if place is not None]
    assert ids == sorted(ids)
    assert ids[-1] == 2 * containers


def test_everything_held_can_be_read_after_much_came_and_went(store: ChunkStore, containers: int) -> None:
    count = A_CONTAINER * containers * 2 + 3
    fill(store, range(count))
    assert held(store, range(count)) == list(range(count - A_CONTAINER * (containers - 1) - 3, count))
    for number in held(store, range(count)):
        assert fetch(store, name_of(number)) == chunk(number)


def test_a_pinned_container_stays_and_the_next_oldest_goes(store: ChunkStore, containers: int) -> None:
    fill(store, range(A_CONTAINER * containers))
    store.pin(1)
    assert put(store, 1000) is not None
    assert fetch(store, name_of(0)) == chunk(0)
    assert store.find(name_of(A_CONTAINER)) is None
    store.unpin(1)
    fill(store, range(2000, 2000 + A_CONTAINER))
    assert store.find(name_of(0)) is None


def test_while_everything_is_pinned_new_chunks_pass(store: ChunkStore, containers: int) -> None:
    fill(store, range(A_CONTAINER * containers))
    for container in range(1, containers + 1):
        store.pin(container)
        store.pin(container)
    assert put(store, 1000) is None
    store.unpin(2)
    assert put(store, 1000) is None
    figures = store.figures()
    assert (figures.unlearned, figures.unlearned_bytes) == (2, 2 * LARGE)
    store.unpin(2)
    assert put(store, 1000) is not None
    assert store.find(name_of(A_CONTAINER)) is None
    assert fetch(store, name_of(0)) == chunk(0)


def test_following_walks_in_the_order_of_arrival(store: ChunkStore) -> None:
    fill(store, range(A_CONTAINER + 2))
    assert store.following(last_of(store, range(A_CONTAINER + 2))) is None


def test_what_a_writer_brings_stays_together(make: Callable[..., ChunkStore]) -> None:
    store = make("large", 128 << 20, 64 << 20)
    count = A_CONTAINER + 2
    for number in range(count):
        for writer in range(2):
            store.put(name_of(100 * writer + number), chunk(100 * writer + number), writer)
    for first in (0, 100):
        last_of(store, range(first, first + count))


def test_who_fills_a_container_slowly_does_not_lose_it_first(make: Callable[..., ChunkStore]) -> None:
    """It was begun before all others, and filled after them."""
    store = make("large", 128 << 20, 64 << 20)
    slow = [9000, 9001]
    store.put(name_of(9000), chunk(9000), 1)
    fill(store, range(A_CONTAINER * 10))
    for number in [9001, *range(9002, 9002 + A_CONTAINER)]:
        store.put(name_of(number), chunk(number), 1)
    number = A_CONTAINER * 10
    while not store.figures().evicted_containers:
        fill(store, range(number, number + 1))
        number += 1
    assert held(store, range(A_CONTAINER)) == []
    assert all(store.find(name_of(number)) for number in slow)


def last_of(store: ChunkStore, numbers: range) -> Place:
    """Where the last of these chunks lies, each of which has to follow the one before it."""
    place = store.find(name_of(numbers[0]))
    assert place is not None
    for number in numbers[1:]:
        following = store.following(place)
        assert following is not None
        name, place = following
        assert name == name_of(number)
        assert store.find(name) == place
    return place


def test_behind_a_place_is_what_was_put_there_up_to_the_containers_end(store: ChunkStore) -> None:
    fill(store, range(A_CONTAINER + 2))
    place = store.find(name_of(1))
    assert place is not None
    names = [name_of(number) for number in range(2, A_CONTAINER)]
    assert store.behind(place, A_CONTAINER + 2) == names
    assert store.behind(place, 2) == names[:2]
    assert store.behind(place, 0) == []
    last = store.find(name_of(A_CONTAINER - 1))
    assert last is not None
    assert store.behind(last, 1) == []


def test_what_repeats_the_chunks_behind_a_place_is_found_unless_they_may_come_from_a_disk(store: ChunkStore) -> None:
    places = fill(store, range(A_CONTAINER + 2))
    first, last, newest = places[1], places[A_CONTAINER - 1], places[-1]
    assert first is not None
    assert last is not None
    assert newest is not None
    in_memory = store.figures().mode == "memory"

    def found(place: Place, data: bytes, same: int, *numbers: int) -> bool:
        found, ends = store.repeated(place, memoryview(data)), [at * LARGE for at, _ in enumerate(numbers, 1)]
        first = places[numbers[0]] if numbers else found.place
        return found == ((same, first, ends, [*map(name_of, numbers)]) if in_memory else NOT_REPEATED)

    both = chunk(2) + chunk(3)
    assert found(first, both, 2 * LARGE, 2, 3)
    assert found(first, both + chunk(4)[:1000], 2 * LARGE + 1000, 2, 3)
    assert found(first, both[:-1] + b"x" + chunk(4), 2 * LARGE - 1, 2)
    assert found(first, b"x" + both, 0)
    assert found(first, b"", 0)
    assert found(last, chunk(A_CONTAINER) + chunk(A_CONTAINER + 1) + b"x", 2 * LARGE, A_CONTAINER, A_CONTAINER + 1)
    assert found(newest, b"x", 0)


def test_chunks_that_lie_one_after_another_are_read_together(store: ChunkStore) -> None:
    places = fill(store, range(A_CONTAINER + 2))
    names = [name_of(number) for number in range(1, A_CONTAINER + 2)]
    before = store.figures()
    assert places[0] is not None
    for count in (1, 2, A_CONTAINER - 1):
        data = b"".join(map(chunk, range(1, count + 1)))
        assert store.read_behind(places[0], names[:count], 100 * LARGE) == (count, data)
        assert store.read_behind(places[0], names, count * LARGE + (count < 3)) == (count, data)
    assert store.read_behind(places[0], names, 100 * LARGE)[0] == A_CONTAINER - 1  # up to the container's end
    figures = store.figures()
    hits = 2 * (1 + 2 + A_CONTAINER - 1) + A_CONTAINER - 1
    assert (figures.hits - before.hits, figures.hit_bytes - before.hit_bytes) == (hits, hits * LARGE)


def test_other_chunks_are_not_read_together(store: ChunkStore) -> None:
    places = fill(store, range(A_CONTAINER + 2))
    first, last = places[0], places[A_CONTAINER - 1]
    assert first is not None
    assert last is not None
    assert store.read_behind(first, [name_of(2), name_of(3)], 100 * LARGE) == (0, b"")
    assert store.read_behind(first, [name_of(1), name_of(3)], 100 * LARGE) == (1, chunk(1))
    assert store.read_behind(first, [name_of(1)], LARGE - 1) == (0, b"")
    assert store.read_behind(last, [name_of(A_CONTAINER)], LARGE) == (0, b"")
    assert store.read_behind((99, 0), [name_of(1)], LARGE) == (0, b"")
    assert store.read_behind((last[0], 5000), [name_of(1)], LARGE) == (0, b"")


def test_nothing_follows_in_a_container_that_is_gone(store: ChunkStore) -> None:
    assert store.following((99, 0)) is None
    assert store.repeated((99, 0), memoryview(b"x")) == NOT_REPEATED
    assert store.behind((99, 0), 1) == []


def test_belief_is_kept_by_peer_and_container(store: ChunkStore) -> None:
    put(store, 1)
    assert store.belief(PEER, 1) == 0
    store.believe(PEER, 1, 0b101)
    assert (store.belief(PEER, 1), store.belief(OTHER, 1), store.belief(PEER, 2)) == (0b101, 0, 0)
    store.believe(PEER, 1, 0b010)
    assert store.belief(PEER, 1) == 0b010


def test_every_entry_can_be_believed(store: ChunkStore) -> None:
    fill(store, range(1137), 9)
    store.believe(PEER, 1, (1 << 1136) - 1)
    store.write()
    assert store.belief(PEER, 1) == (1 << 1136) - 1


def test_belief_about_a_container_that_does_not_exist_is_not_kept(store: ChunkStore) -> None:
    store.believe(PEER, 7, 1)
    assert store.belief(PEER, 7) == 0


def test_belief_goes_with_the_container(store: ChunkStore, containers: int) -> None:
    fill(store, range(A_CONTAINER * containers))
    store.believe(PEER, 1, 1)
    store.believe(PEER, 2, 1)
    store.write()
    fill(store, range(1000, 1000 + A_CONTAINER))
    assert (store.belief(PEER, 1), store.belief(PEER, 2)) == (0, 1)


def test_epochs_of_peers_are_remembered(store: ChunkStore) -> None:
    assert store.recall(PEER) is None
    store.remember(PEER, b"epoch--1")
    store.remember(PEER, b"epoch--2")
    store.remember(OTHER, b"epoch--3")
    assert (store.recall(PEER), store.recall(OTHER)) == (b"epoch--2", b"epoch--3")


@pytest.mark.parametrize("written", [False, True])
def test_disbelief_drops_all_about_one_peer(store: ChunkStore, written: bool) -> None:
    fill(store, range(A_CONTAINER + 1))
    for peer in (PEER, OTHER):
        store.remember(peer, b"epoch--1")
        store.believe(peer, 1, 7)
    if written:
        store.write()
    store.disbelieve(PEER)
    assert (store.belief(PEER, 1), store.recall(PEER)) == (0, None)
    assert (store.belief(OTHER, 1), store.recall(OTHER)) == (7, b"epoch--1")
    store.believe(PEER, 1, 2)
    store.write()
    assert store.belief(PEER, 1) == 2


def test_the_number_of_peers_is_bounded(store: ChunkStore, clock: Clock) -> None:
    put(store, 1)
    peers = [peer_store(site, 0) for site in range(300)]
    for peer in peers:
        clock.now += 1
        store.remember(peer, b"epoch--1")
        store.believe(peer, 1, 1)
    assert [peer for peer in peers if store.recall(peer)] == peers[44:]
    assert [store.belief(peer, 1) for peer in peers[43:45]] == [0, 1]


@pytest.mark.parametrize("written", [False, True])
def test_a_peer_with_many_stores_costs_others_nothing(store: ChunkStore, clock: Clock, written: bool) -> None:
    """One that purges its store again and again, or only says so."""
    put(store, 1)
    honest, many = [peer_store(site, 0) for site in range(10)], [peer_store(77, number) for number in range(100)]
    for peer in (*honest, *many):
        clock.now += 1
        store.remember(peer, b"epoch--1")
        store.believe(peer, 1, 1)
        if written:
            store.write()
    assert [store.belief(peer, 1) for peer in honest] == [1] * 10
    assert [peer for peer in many if store.recall(peer)] == many[-4:]
    assert [store.belief(peer, 1) for peer in many] == [0] * 96 + [1] * 4


def peer_store(site: int, number: int) -> bytes:
    """The name of a site's store."""
    return site.to_bytes(8, "big") + number.to_bytes(8, "big")


def test_identity_and_epochs_are_new(make: Callable[..., ChunkStore]) -> None:
    one, two = make("one"), make("two")
    assert len(one.identity) == 16
    assert [len(epoch) for epoch in one.epochs] == [8]
    assert one.identity != two.identity
    assert one.epochs != two.epochs


def test_hits_and_misses_are_counted(store: ChunkStore, containers: int) -> None:
    fill(store, range(A_CONTAINER * (containers - 1)))
    store.find(name_of(0))
    store.find(name_of(A_CONTAINER * (containers - 1) - 1))
    store.find(name_of(9999))
    store.count_hits((1, 1), [name_of(1), name_of(2)], 2 * LARGE)
    figures = store.figures()
    assert (figures.hits, figures.hit_bytes, figures.misses) == (4, 4 * LARGE, 1)


def test_the_age_of_the_oldest_container(store: ChunkStore, clock: Clock) -> None:
    fill(store, range(A_CONTAINER))
    assert store.figures().oldest_seconds == 0
    fill(store, range(A_CONTAINER, A_CONTAINER + 1))
    clock.now += 90
    assert store.figures().oldest_seconds == 90


def test_a_container_that_is_filled_slowly_does_not_hide_the_age_of_the_others(
    make: Callable[..., ChunkStore], clock: Clock
) -> None:
    store = make("large", 128 << 20, 64 << 20)
    store.put(name_of(0), chunk(0), 1)
    for number in range(1, A_CONTAINER + 2):
        store.put(name_of(number), chunk(number), 0)
    clock.now += 90
    assert store.figures().oldest_seconds == 90


def test_preparing_is_harmless_at_any_time(store: ChunkStore) -> None:
    fill(store, range(A_CONTAINER * 2 + 1))
    while store.prepare():
        pass
    assert [fetch(store, name_of(number)) for number in range(31)] == [chunk(number) for number in range(31)]
    assert not store.prepare()


def test_writing_again_is_harmless(store: ChunkStore) -> None:
    fill(store, range(A_CONTAINER * 2))
    for _ in range(3):
        store.write()
    assert store.unwritten == store.figures().unwritten_bytes == 0


def test_a_store_too_small_says_so(tmp_path: Path) -> None:
    for mode, size, least in (("memory", (16 << 20) - 1, "16 MiB"), ("disk", (64 << 20) - 1, "64 MiB")):
        with pytest.raises(StoreUnusable, match=f"give it at least {least}"):
            open_store(mode, size, tmp_path / "small")


def test_a_mode_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match='"tape"; use "memory" or "disk"'):
        open_store("tape", SIZE, tmp_path)
    with pytest.raises(StoreUnusable, match="needs a path"):
        open_store("disk", SIZE)
