"""What repeats the stored chunks behind the last one is recognised by comparing, neither cut nor named."""

from collections.abc import Iterable
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from dedupstore.store import Buffer
from proxy.reduction import matcher
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.encoder import FAR, READ_BYTES
from proxy.reduction.holdings import Holdings
from proxy.reduction.outgoing import NAMED_MAX
from tests.unit.reduction.sites import SMALL_CHUNKS, Site, Stream, cut_up, noise, send, two_sites

DATA = noise(60_000, 12)
BORDERS = list(accumulate(SMALL_CHUNKS.cut(DATA, final=True)))


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lengths of the chunks that the sending side has named."""
    lengths: list[int] = []

    def name(data: Buffer) -> bytes:
        lengths.append(len(data))
        return fingerprint(data)

    monkeypatch.setattr(matcher, "fingerprint", name)
    return lengths


def test_known_data_is_neither_cut_nor_named(named: list[int]) -> None:
    """But for the first read, for what is left of each read, and for the last chunk of a container."""
    data = noise(20 * READ_BYTES, 13)
    near, far = two_sites()
    near.store.entries = 1000
    send(near, far, [data], chunker=Chunker())
    named.clear()
    counting = CountingChunker()
    again = send(near, far, [data], chunker=counting)
    assert again.literal == 0
    assert sum(named) < READ_BYTES + 3 * counting.maximum
    assert counting.searched < 2 * READ_BYTES + 20 * counting.maximum // 2


class CountingChunker(Chunker):
    """Knows how many bytes it has searched."""

    searched = 0

    def cut(self, view: Buffer, final: bool = False) -> list[int]:
        self.searched += len(view)
        return super().cut(view, final)


@given(
    st.lists(st.integers(1, len(DATA) // 8), max_size=20),
    st.sets(st.integers(0, len(DATA) - 1), max_size=3),
    st.integers(1, 40),
    st.booleans(),
)
def test_borders_are_those_of_the_content_all_the_same(
    lengths: list[int], changed: set[int], entries: int, pauses: bool
) -> None:
    """However it comes, and whatever of it has changed: what is stored is what would be stored without comparing."""
    again = bytearray(DATA)
    for at in changed:
        again[at] ^= 1
    near, far = two_sites()
    near.store.entries = entries
    send(near, far, [DATA])
    send(near, far, cut_up(bytes(again), lengths), pauses=pauses)
    assert near.store.names == list(dict.fromkeys([*names_of(DATA), *names_of(bytes(again))]))


IN_READS = [DATA[:3000], DATA[3000:30_000], DATA[30_000:]]
"""What comes behind the first of them repeats many chunks at once."""


def test_one_that_the_peer_lacks_goes_literally_among_those_that_it_holds() -> None:
    near, far = two_sites_that_hold(DATA)
    start, end = BORDERS[9], BORDERS[10]
    place = near.store.find(fingerprint(DATA[start:end]))
    assert place is not None
    near.holdings.doubt(place)
    again = send(near, far, IN_READS)
    assert (again.literal, again.misses) == (end - start, 0)


def test_they_go_literally_while_the_peers_store_does_not_keep_up() -> None:
    near, far = two_sites_that_hold(DATA)
    near.relief.told(1)
    stream = Stream(near, far)
    for piece in IN_READS[:2]:
        stream.write(piece)
    stream.take()  # and is not consumed yet
    stream.write(IN_READS[2])
    stream.end()
    assert stream.literal > len(DATA) - 30_000


def test_they_go_literally_while_references_are_suspended() -> None:
    near, far = two_sites_that_hold(DATA)
    stream = Stream(near, far)
    for piece in IN_READS[:2]:
        stream.write(piece)
    near.holdings.reliability.gone(near.now)
    stream.write(IN_READS[2])
    stream.end()
    assert stream.literal > len(DATA) - 30_000


def test_the_peer_may_ask_for_each_of_them_although_a_batch_names_some_twice() -> None:
    near, far = two_sites_that_hold(DATA)
    lost = DATA[BORDERS[25] : BORDERS[26]]
    far.store.lose(fingerprint(lost))
    stream = Stream(near, far)
    for part in (DATA[: BORDERS[20]], DATA[BORDERS[10] : BORDERS[30]]):
        stream.border()
        for piece in cut_up(part, [3000]):
            stream.write(piece)
    stream.take()
    assert len(stream.undecoded) == 1
    stream.end()
    assert stream.misses == 1


def test_the_peer_may_ask_for_all_of_them() -> None:
    near, far = two_sites_that_hold(DATA)
    for name in far.store.names:
        far.store.lose(name)
    assert send(near, far, IN_READS).misses == len(BORDERS)


def test_a_batch_names_no_more_of_them_than_the_peer_may_ask_for() -> None:
    near, far = two_sites_that_hold(DATA)
    stream = Stream(near, far)
    stream.write(IN_READS[0])
    batch = stream.encoder.drafts.draft
    batch.name(b"another chunk", NAMED_MAX - 10_000)
    for piece in IN_READS[1:]:
        stream.write(piece)
    assert NAMED_MAX - SMALL_CHUNKS.maximum < batch.named_bytes <= NAMED_MAX
    stream.end()


def test_each_of_them_counts_as_found() -> None:
    near, far = two_sites_that_hold(DATA)
    near.store.found = 0
    send(near, far, IN_READS)
    assert near.store.found == len(BORDERS)


def test_the_first_of_them_behind_a_forced_border_is_noted() -> None:
    near, far = two_sites()
    near.store.entries = 1000
    borders = range(10_000, len(DATA) + 1, 10_000)
    forced(near, far, borders)
    near.beginnings = Beginnings(1 << 10)
    forced(near, far, borders)
    behind = [DATA[border:] for border in borders[:-1]]
    for data in behind:
        assert near.beginnings.recall(memoryview(data))[1] == fingerprint(data[: SMALL_CHUNKS.cut(data)[0]])


STEPS = st.lists(
    st.tuples(st.integers(1, 4000), st.sampled_from(["write", "pause", "border"])), min_size=3, max_size=12
)


@given(st.lists(STEPS, min_size=2, max_size=4), st.booleans())
def test_whatever_streams_of_the_same_data_have_as_borders_all_arrives(
    passes: list[list[tuple[int, str]]], follows: bool
) -> None:
    near, far = two_sites()
    near.store.entries = 1000
    for steps in passes:
        stream = Stream(near, far, follows=follows)
        write_in_steps(stream, steps)
        stream.end()
    for name in near.store.names:
        assert fingerprint(near.store.read(name) or b"") == name


@given(
    st.lists(STEPS, min_size=2, max_size=4), st.integers(1, 40), st.sets(st.integers(0, len(BORDERS))), st.booleans()
)
def test_what_is_said_of_chunks_together_is_what_is_said_of_each_alone(
    passes: list[list[tuple[int, str]]], entries: int, doubted: set[int], follows: bool
) -> None:
    def said() -> list[object]:
        near, far = two_sites()
        near.store.entries = entries
        send(near, far, [DATA])
        for number, name in enumerate(near.store.names):
            place = near.store.find(name)
            if place is not None and number in doubted:
                near.holdings.doubt(place)
        said: list[object] = []
        for steps in passes:
            stream = Stream(near, far, follows=follows)
            write_in_steps(stream, steps)
            stream.finish()
            said += stream.queue
            stream.settle()
            stream.encoder.close()
        return [*said, near.store.names, near.store.found, near.store.pinned]

    together = said()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Holdings, "holds_all", lambda *_: False)
        assert said() == together


def write_in_steps(stream: Stream, steps: list[tuple[int, str]]) -> None:
    """DATA, as STEPS say."""
    for n, then in steps:
        at = len(stream.sent)
        stream.write(DATA[at : at + n])
        if then == "pause":
            stream.pause()
        elif then == "border":
            stream.border()


def two_sites_that_hold(data: bytes) -> tuple[Site, Site]:
    """Its chunks lie in one container."""
    near, far = two_sites()
    near.store.entries = 1000
    send(near, far, [data])
    return near, far


def names_of(data: bytes) -> list[bytes]:
    """Of its chunks, in order."""
    return [fingerprint(piece) for piece in cut_up(data, SMALL_CHUNKS.cut(data, final=True))]


@pytest.mark.parametrize("entries", [8, 1000])
@pytest.mark.parametrize("beyond", [-300, 0, 700])
def test_the_end_of_a_stream_is_no_border_of_a_longer_one(entries: int, beyond: int) -> None:
    near, far = two_sites()
    near.store.entries = entries
    end = BORDERS[9] + 300
    send(near, far, [DATA[:end]])
    pieces = cut_up(DATA, [3000, end + beyond - 3000, 1, 5000])
    send(near, far, pieces)
    whole = names_of(DATA)
    assert set(whole) < set(near.store.names)
    assert len(near.store.names) == len(whole) + 1
    assert send(near, far, pieces).literal == 0


def test_a_chunk_that_ends_with_the_data_is_known_at_a_forced_border(named: list[int]) -> None:
    near, far = two_sites()
    near.store.entries = 1000
    forced(near, far, range(10_000, len(DATA) + 1, 10_000))
    named.clear()
    assert forced(near, far, range(10_000, len(DATA) + 1, 10_000)).literal == 0
    assert sum(named) < 10_000  # but for the first piece


def test_no_border_of_a_stored_chunk_is_one_shortly_before_a_forced_border() -> None:
    """As none of the content is."""
    chunker = Chunker(512, 4096, 8192)
    borders = list(accumulate(chunker.cut(DATA, final=True)))
    forced_at = [borders[1] + 600, borders[3] + 900, borders[5] + 1200]
    near, far = two_sites()
    near.store.entries = 1000
    send(near, far, [DATA], chunker=chunker)
    forced(near, far, forced_at, chunker)
    alone = two_sites()
    forced(*alone, forced_at, chunker)
    assert set(alone[0].store.names) <= set(near.store.names)


def forced(near: Site, far: Site, borders: Iterable[int], chunker: Chunker = SMALL_CHUNKS) -> Stream:
    """DATA, with these borders, each of which is known when what lies before it comes."""
    stream = Stream(near, far, chunker)
    at = 0
    for border in borders:
        stream.encoder.border_in = 0
        stream.write(DATA[at:border])
        stream.border()
        at = border
    stream.encoder.border_in = FAR
    stream.write(DATA[at:])
    stream.end()
    return stream


def test_what_was_delivered_behind_a_border_that_is_stored_only_now_stays_one_chunk() -> None:
    """Another stream has stored the same bytes meanwhile, with a border in their middle."""
    near, far = two_sites()
    near.store.entries = 1000
    at = next(at for at, (start, end) in enumerate(pairwise(BORDERS)) if at and end - start > 1400)
    start, end = BORDERS[at], BORDERS[at + 1]
    half = start + (end - start) // 2
    send(near, far, [DATA[BORDERS[at - 1] : start]])
    stream = Stream(near, far)
    stream.write(DATA[BORDERS[at - 1] : half + 100])
    stream.pause()
    other = Stream(near, far)
    for piece in (DATA[start:half], DATA[half : BORDERS[at + 3]]):
        other.write(piece)
        other.border()
    stream.write(DATA[half + 100 :])
    stream.end()
    other.end()
    assert fingerprint(DATA[start:end]) in near.store.names


@pytest.mark.parametrize("alike", [0, 1, 100])
def test_nor_is_it_if_the_next_stream_began_like_the_rest_of_the_longer_one(alike: int) -> None:
    """The bytes that are compared behind the border come from a third stream then."""
    near, far = two_sites()
    near.store.entries = 1000
    start = next(start for start, end in pairwise(BORDERS) if end - start > 1000)
    short = start + 700
    send(near, far, [DATA[:short]])
    send(near, far, [DATA[short : short + alike] + noise(5000, 14)])
    send(near, far, [DATA[: BORDERS[2]], DATA[BORDERS[2] :]])
    assert set(names_of(DATA)) <= set(near.store.names)


@pytest.mark.parametrize("behind", [3, 5])
def test_shorter_chunks_than_ours_are_not_repeated(behind: int) -> None:
    """Another peer has taught them, and a batch may not have as many tokens as so many chunks take."""
    near, far = two_sites()
    near.store.entries = 10_000
    start, first, end = BORDERS[2], BORDERS[behind], BORDERS[20]
    ours = [end - start for start, end in pairwise(BORDERS[2 : behind + 1])]
    for piece in cut_up(DATA[start:end], [*ours, *[8] * (end - first)]):
        near.store.put(fingerprint(piece), piece)
    pieces = [DATA[start : BORDERS[3] + 1], DATA[BORDERS[3] + 1 : end]]
    send(near, far, pieces)
    assert send(near, far, pieces).literal == 0


def test_behind_a_chunk_that_is_not_repeated_none_is() -> None:
    """Not even one with which the data ends: its name would be given to both."""
    near, far = two_sites()
    near.store.entries = 1000
    start = next(start for start, end in pairwise(BORDERS) if end - start > 1000)
    first = Stream(near, far)
    first.write(DATA[: start + 600])
    first.border()
    first.write(DATA[start + 600 : start + 900])
    first.end()
    send(near, far, [DATA[: start + 1], DATA[start + 1 : start + 900]])
    assert fingerprint(DATA[start : start + 900]) in near.store.names
