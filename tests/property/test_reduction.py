"""Whatever is sent, however it is cut, and whatever the stores do: exactly that arrives, and borders follow content."""

import random
from collections.abc import Callable, Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.memory import MemoryStore
from proxy.reduction.holdings import Holdings
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import SMALL_CHUNKS, Rotation, Site, Stream, cut_up, noise, send, two_sites

MIB = 1 << 20


class Content(bytes):
    """Data that is shown as what it was made of."""

    recipe: tuple[tuple[str, int, int], ...]

    def __repr__(self) -> str:
        return f"Content{self.recipe}"


def made(recipe: list[tuple[str, int, int]]) -> Content:
    """Runs of random bytes, of zeros, of a repeated pattern, and repetitions of what came before (from a byte on)."""
    data = b""
    for kind, n, number in recipe:
        match kind:
            case "noise":
                data += noise(n, number % 4)
            case "zeros":
                data += bytes(n)
            case "pattern":
                data += (noise(1 + number % 7, number) * n)[:n]
            case "again":
                at = number % (len(data) + 1)
                data += data[at : at + n]
    content = Content(data)
    content.recipe = tuple(recipe)
    return content


def contents(most: int = 20_000) -> st.SearchStrategy[Content]:
    """Arbitrary content of several runs of up to so many bytes."""
    kinds = st.sampled_from(["noise", "noise", "again", "again", "zeros", "pattern"])
    lengths = st.integers(1, most) | st.sampled_from([256, 257, 4096, most])
    return st.lists(st.tuples(kinds, lengths, st.integers(0, 1 << 16)), max_size=8).map(made)


sizes = st.one_of(
    st.just([1 << 30]),
    st.lists(st.integers(1, 6000), max_size=20),
    st.lists(st.sampled_from([1, 2, 63, 64, 65, 255, 256, 257, 1024, 4096]), max_size=60),
)


@given(contents(), sizes, st.booleans(), st.sampled_from([None, 1]))
def test_any_data_in_any_pieces_arrives_exactly(
    data: Content, pieces: list[int], pauses: bool, level: int | None
) -> None:
    """Cold, warm, and warm the other way round, each time cut differently."""
    near, far = two_sites()
    send(near, far, cut_up(data, pieces), pauses=pauses, level=level)
    send(near, far, [data], level=level)
    send(far, near, cut_up(data, pieces[::-1]), pauses=not pauses, level=level)
    assert near.store.names == far.store.names
    assert not near.store.pinned
    assert not far.store.pinned


turns = st.lists(st.sampled_from(["context", "context", "none", "zstd", 1, 3, 9]), min_size=1, max_size=8)


@given(contents(), sizes, st.booleans(), turns, st.sampled_from([20, 22]))
def test_any_codecs_in_any_order_arrive_exactly(
    data: Content, pieces: list[int], pauses: bool, turns: list[str | int], window_log: int
) -> None:
    near, far = two_sites()
    send(near, far, cut_up(data, pieces), pauses=pauses, compression=Rotation(turns, window_log))
    send(near, far, [data[::-1]], compression=Rotation(turns, window_log))
    assert near.store.names == far.store.names


@given(contents(1500), st.booleans())
def test_single_bytes_arrive_exactly(data: Content, pauses: bool) -> None:
    near, far = two_sites()
    send(near, far, [data])
    send(near, far, cut_up(data, [1] * 3000), pauses=pauses)
    assert near.store.names == far.store.names


@given(contents(), sizes, sizes, st.sampled_from([SMALL_CHUNKS, Chunker(513, 1026, 4105), Chunker(600, 1201, 2403)]))
def test_borders_depend_on_content_alone(data: Content, some: list[int], others: list[int], chunker: Chunker) -> None:
    """What is learned does not depend on writes and pauses, and a later pass teaches nothing."""
    whole = learned_by([data], pauses=False, chunker=chunker)
    assert learned_by(cut_up(data, some), pauses=True, chunker=chunker) == whole
    assert learned_by(cut_up(data, others), pauses=False, chunker=chunker) == whole
    near, far = two_sites()
    for pieces, pauses in ((some, True), (others, True), (some, False)):
        send(near, far, cut_up(data, pieces), pauses=pauses, chunker=chunker)
        assert near.store.names == far.store.names == whole


def learned_by(pieces: list[bytes], *, pauses: bool, chunker: Chunker) -> list[bytes]:
    """Fingerprints of what two new sites learn, in order."""
    near, far = two_sites()
    send(near, far, pieces, pauses=pauses, chunker=chunker)
    assert near.store.names == far.store.names
    return near.store.names


@given(contents(), sizes, st.data())
def test_data_that_begins_with_what_another_stream_ended_with(
    data: Content, pieces: list[int], draw: st.DataObject
) -> None:
    """A stream's last chunk ends where the stream did; one that goes on beyond it must not take that for a border."""
    at = draw.draw(st.integers(0, len(data)))
    near, far = two_sites()
    send(near, far, [data[:at]])
    send(near, far, [data[:at], *cut_up(data[at:], pieces)], pauses=True)
    send(near, far, [data[:at], data[at:]], pauses=True)


# -- stores that do not keep what was put in -------------------------------------------------------------------


@given(contents(), sizes, st.booleans(), st.sets(st.integers(0, 60)))
def test_what_the_far_store_has_lost_is_asked_for(
    data: Content, pieces: list[int], pauses: bool, lost: set[int]
) -> None:
    near, far = two_sites()
    send(near, far, [data])
    names = {name for at, name in enumerate(far.store.names) if at in lost}
    for name in names:
        far.store.lose(name)
    stream = send(near, far, cut_up(data, pieces), pauses=pauses)
    assert stream.misses <= len(names)
    again = send(near, far, [data])
    assert again.misses == 0
    assert again.literal == 0
    assert not near.store.pinned


@given(contents(), sizes, st.booleans(), st.tuples(st.integers(1, 6), st.integers(1, 6)))
def test_stores_that_evict_out_of_step(
    data: Content, pieces: list[int], pauses: bool, containers: tuple[int, int]
) -> None:
    near, far = two_sites(ShelfStore(containers[0], entries=2), ShelfStore(containers[1], entries=3))
    for piece in (data, data + noise(5000, 9) + data, data):
        send(near, far, cut_up(piece, pieces), pauses=pauses)
        send(far, near, [piece])
    assert not near.store.pinned
    assert not far.store.pinned


@given(contents(), sizes, st.booleans(), st.booleans(), st.booleans())
def test_stores_that_have_to_load(data: Content, pieces: list[int], pauses: bool, near_too: bool, lossy: bool) -> None:
    near, far = two_sites()
    send(near, far, [data])
    far.store.cold, near.store.cold = True, near_too
    for name in far.store.names[::3] if lossy else []:
        far.store.lose(name)
    send(near, far, cut_up(data, pieces), pauses=pauses)
    send(far, near, [data], pauses=pauses)


@given(contents(), sizes, st.booleans(), st.booleans(), st.booleans())
def test_stores_that_do_not_learn(
    data: Content, pieces: list[int], pauses: bool, near_refuses: bool, pass_: bool
) -> None:
    """The far store refuses, so that each reference is missed again; the near one, so that nothing is referred to."""
    near, far = two_sites()
    near.store.refusing, far.store.refusing = near_refuses, True
    send(near, far, cut_up(data, pieces), pauses=pauses)
    far.store.refusing = pass_
    for _ in range(2):
        send(near, far, [data, data])
        send(near, far, [data, *cut_up(data, pieces)], pauses=pauses)
    assert not near.store.pinned


@given(contents(), st.data())
def test_rotten_chunks_are_noticed_and_asked_for(data: Content, draw: st.DataObject) -> None:
    near, far = two_sites()
    send(near, far, [data])
    names = draw.draw(st.sets(st.sampled_from(far.store.names))) if far.store.names else set()
    for name in names:
        far.store.rot(name)
    stream = send(near, far, [data])
    assert stream.misses == len(names)


# -- what it costs on the wire ---------------------------------------------------------------------------------

DATA = noise(2 * MIB, 42)
DEFAULT = Chunker()


def warm_sites() -> tuple[Site, Site]:
    near, far = two_sites()
    send(near, far, [DATA], chunker=DEFAULT)
    return near, far


def sizes_between(least: int, most: int) -> Iterator[int]:
    draw = random.Random(7)
    while True:
        yield draw.randrange(least, most)


@pytest.mark.parametrize("prefix", [b"", b"x"], ids=["same", "one byte inserted"])
@pytest.mark.parametrize("largest", [100, 5000, 1 << 20])
def test_a_warm_pass_takes_little_of_the_wire(prefix: bytes, largest: int) -> None:
    near, far = warm_sites()
    data = prefix + DATA
    stream = send(near, far, cut_up(data, sizes_between(1, largest)), chunker=DEFAULT)
    expected = 0.006 * len(data) + (DEFAULT.maximum if prefix else 0)  # the byte makes one new chunk
    assert stream.wire < expected
    assert stream.literal <= (DEFAULT.maximum if prefix else 0)


@pytest.mark.parametrize("prefix", [b"", b"x"], ids=["same", "one byte inserted"])
@pytest.mark.parametrize("chosen", [(4096, 4097), (4096, 20_000), (4097, 70_000), (100_000, 300_000)])
def test_a_warm_pass_with_pauses_takes_little_of_the_wire(prefix: bytes, chosen: tuple[int, int]) -> None:
    """The first chunk has nothing before it from which to expect it, and a chunk after a new one neither."""
    near, far = warm_sites()
    data = prefix + DATA
    stream = send(near, far, cut_up(data, sizes_between(*chosen)), pauses=True, chunker=DEFAULT)
    unexpected = DEFAULT.maximum * (2 if prefix else 1)
    assert stream.literal <= unexpected
    assert stream.wire - stream.literal < 0.015 * len(data)


def test_fail_back_is_warm() -> None:
    near, far = warm_sites()
    stream = send(far, near, [DATA], chunker=DEFAULT)
    assert stream.literal == 0
    assert stream.wire < 0.006 * len(DATA)


def test_an_echo_is_warm_before_it_is_known_that_the_data_has_arrived() -> None:
    near, far = two_sites()
    stream = Stream(near, far, DEFAULT)
    stream.write(DATA)
    stream.pause()
    while stream.queue:
        stream.carry()
    assert not near.holdings.holds(next(place for name in near.store.names if (place := near.store.find(name))))
    echo = send(far, near, [bytes(stream.received)], chunker=DEFAULT)
    assert (echo.misses, echo.literal < DEFAULT.maximum) == (0, True)
    stream.end()


def test_incompressible_data_costs_next_to_nothing_more() -> None:
    stream = send(*two_sites(), [DATA], chunker=DEFAULT, level=1)
    assert stream.wire < 1.003 * len(DATA)


def test_compressible_data_is_compressed() -> None:
    text = random.Random(3).choices(b"isthmus ", k=MIB)
    stream = send(*two_sites(), [bytes(text)], chunker=DEFAULT, level=1)
    assert stream.wire < 0.5 * MIB


@pytest.mark.parametrize(
    "pieces", [lambda: iter([1 << 30]), lambda: sizes_between(4096, 30_000)], ids=["bulk", "pauses"]
)
def test_with_the_real_store_in_memory(pieces: Callable[[], Iterator[int]]) -> None:
    """Stores of 16 MiB, through which three times as much goes: they evict, and never out of what is on its way."""
    stores = MemoryStore(16 * MIB), MemoryStore(16 * MIB)
    near, far = (Site(cast(ShelfStore, mine), Holdings(mine, other.identity)) for mine, other in (stores, stores[::-1]))
    for seed in range(4):
        data = noise(4 * MIB, seed)
        send(near, far, cut_up(data, pieces()), pauses=True, chunker=DEFAULT)
        again = send(near, far, cut_up(data, pieces()), chunker=DEFAULT)
        assert again.literal == 0
        send(far, near, [noise(4 * MIB, seed + 100)], chunker=DEFAULT)
    assert stores[0].figures().evicted_containers > 0
    assert stores[0].figures().used_bytes <= 16 * MIB
