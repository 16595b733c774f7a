"""Chunks that are not known, told by slices of what is stored: what they save, and what they may name."""

from itertools import count

import pytest

from dedupstore.chunker import LARGEST_CHUNK, Chunker
from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import dissect
from proxy.reduction.obtaining import KEPT_MAX
from proxy.reduction.outgoing import NAMED_MAX
from proxy.reduction.tokens import LITERAL, MORE, REFERENCE, SLICE
from tests.unit.iscsi.pdus import command, data_out, write_10
from tests.unit.reduction.sites import Site, Stream, noise, two_sites
from tests.unit.reduction.span_sites import Talk

DATA = noise(300_000, 4)
KIB = 1 << 10


def stored(data: bytes, borders: list[int]) -> tuple[Site, Site]:
    """Two sites that have exchanged the data, with these borders beside those of its content."""
    near, far = two_sites()
    written(near, far, data, borders)
    return near, far


def written(near: Site, far: Site, data: bytes, borders: list[int], *, follows: bool = False) -> Stream:
    stream = Stream(near, far, chunker=Chunker(), follows=follows)
    at = 0
    for border in borders:
        stream.write(data[at:border])
        stream.border()
        at = border
    stream.write(data[at:])
    stream.end()
    return stream


def test_other_borders_cost_slices() -> None:
    """The same data, cut elsewhere: only the chunk at its beginning is not known to follow anything."""
    windows = list(range(65_536, len(DATA), 65_536))
    elsewhere = [border - 20_480 for border in windows]
    assert written(*stored(DATA, windows), DATA, elsewhere).literal > 150_000
    assert written(*stored(DATA, windows), DATA, elsewhere, follows=True).literal < 64 * KIB


def test_a_page_that_has_changed_costs_itself_and_what_follows_it_in_its_chunk() -> None:
    near, far = stored(DATA, [])
    changed = bytearray(DATA)
    changed[150_000] ^= 1
    literal = written(near, far, bytes(changed), [], follows=True).literal
    assert 0 < literal < 64 * KIB


def test_a_chunk_that_is_a_stored_one_and_more_is_no_new_one() -> None:
    """To the peer a slice of a whole chunk is a border; so what is left is the next stored chunk."""
    near, far = stored(DATA[:70_000], [20_000, 22_000, 40_000])
    before = far.store.names
    assert written(near, far, DATA[:70_000], [20_000, 40_000], follows=True).literal == 0
    assert far.store.names == near.store.names == before


@pytest.mark.parametrize(("cut", "learned"), [([], False), ([5000], True)])
def test_what_is_left_behind_a_stored_chunk_may_be_one_as_well(cut: list[int], learned: bool) -> None:
    """Immediate data of commands that take turns is a chunk of its own, and another command's is stored after it.

    In one piece the chunk that begins with it is not known, but what is left of that is, or once it was learned.
    """
    near, far = two_sites()
    written(near, far, DATA[:8192], [])
    written(near, far, DATA[200_000:240_000], [])
    written(near, far, DATA[8192:65_536], cut)
    first, again = (written(near, far, DATA[:65_536], [], follows=True).literal for _ in range(2))
    assert (first > 0, again) == (learned, 0)


@pytest.mark.parametrize("beyond", [1, 36, 100, 400])
@pytest.mark.parametrize("pauses", [False, True])
def test_a_few_bytes_before_a_border_are_enough_to_know_what_comes_next(beyond: int, pauses: bool) -> None:
    """Immediate data that ends just behind a stored chunk's end: too little for a slice, but the next burst goes on."""
    near, far = stored(DATA, [])
    first = len(near.store.read(near.store.names[0]) or b"")
    stream = Stream(near, far, chunker=Chunker(), follows=True)
    stream.write(DATA[: first + beyond])
    if pauses:
        stream.pause()
    stream.border()
    stream.write(DATA[first + beyond :])
    stream.end()
    assert stream.literal <= beyond + 1


@pytest.mark.parametrize("before", [1, 36, 100, 400])
def test_a_few_bytes_before_a_stored_chunk_s_end_do_not_hide_what_is_behind_it(before: int) -> None:
    """A pause just before that end, which was a window's and is none now."""
    edge = 65_536
    near, far = stored(DATA, [edge])
    stream = Stream(near, far, chunker=Chunker(), follows=True)
    stream.write(DATA[: edge - 8192])
    stream.border()
    stream.write(DATA[edge - 8192 : edge - before])
    stream.pause()
    stream.write(DATA[edge - before : edge + 2000])
    stream.border()
    stream.write(DATA[edge + 2000 :])
    stream.end()
    assert stream.literal <= before + 1


def test_a_stored_chunk_of_a_few_bytes_is_told_literally_and_is_no_border() -> None:
    """What is left before a window's end may be shorter than a slice is worth; moved data goes on beyond it."""
    chunker, window = Chunker(), 64 * KIB
    ends_tiny = next(data for number in count() if chunker.cut(data := noise(window, number), True)[-1] < 64)
    volume = noise(window) + ends_tiny + noise(2 * window, 1)
    near, far = two_sites()
    for content in (volume, noise(window - 4 * KIB, 2) + volume):
        talk = Talk(near, far, chunker)
        talk.log_in()
        pieces = [(at, content[at : at + window]) for at in range(0, len(content), window)]
        writes = [command(at, write_10(at // 512, len(data) // 512)) + data_out(at, data) for at, data in pieces]
        talk.out.say(b"".join(writes), window)
        talk.end()
    assert 0 < talk.out.literal < len(volume) // 2


def test_many_tiny_chunks_one_after_another_cost_no_batch_its_room_for_tokens() -> None:
    """`Stream` refuses a batch whose tokens are too long."""
    tiny = [bytes(68) + number.to_bytes(2) for number in range(700)]
    near, far = two_sites()
    for content in (DATA[:20_000], *tiny):
        written(near, far, content, [])
    written(near, far, DATA[:20_000] + b"".join(tiny) + DATA[40_000:60_000], [], follows=True)


def test_a_batch_names_no_more_than_may_be_asked_for() -> None:
    """Short pieces, each like the beginning of another long chunk: a few are sliced, the others literal."""
    keys = [noise(1024, number) for number in range(120)]
    data, borders = b"", []
    for number, key in enumerate(keys):
        for piece in (key, bytes((number,)) * 65_536):
            data += piece
            borders.append(len(data))
    near, far = stored(data, borders)
    lengths = {name: len(far.store.read(name) or b"") for name in far.store.names}
    stream = Stream(near, far, chunker=Chunker(), follows=True)
    for number, key in enumerate(keys):
        for piece in (key, bytes((number,)) * 600):
            stream.write(piece)
            stream.border()
    stream.take()
    for batch in stream.queue:
        tokens = dissect(memoryview(batch)).tokens
        named = {token[3] for token in tokens if token[0] == SLICE}
        assert 1 << 20 < sum(lengths[name] for name in named) <= 2 << 20
        assert any(token[0] == LITERAL for token in tokens)
    stream.end()


def test_what_is_named_at_pauses_is_bounded_too() -> None:
    """Each piece is the beginning of another long chunk when it is flushed: a few are sliced, the others literal."""
    keys = [noise(1024, number) for number in range(24)]
    chunker = Chunker(LARGEST_CHUNK >> 2, LARGEST_CHUNK >> 1, LARGEST_CHUNK)
    near, far = two_sites()
    stream = Stream(near, far, chunker=chunker)
    for number, key in enumerate(keys):
        for piece in (key, bytes((number,)) * LARGEST_CHUNK):
            stream.write(piece)
            stream.border()
    stream.end()
    for name in tuple(far.store.names):
        far.store.lose(name)
    stream = Stream(near, far, chunker=chunker)
    for number, key in enumerate(keys):
        stream.write(key)
        stream.border()
        stream.write(bytes((number,)) * 600)
        stream.encoder.flush()  # and nothing is taken: the batch goes on
        stream.border()
    stream.take()
    (batch,) = stream.queue
    names = {token[3] for token in dissect(memoryview(batch)).tokens if token[0] in (REFERENCE, SLICE)}
    assert NAMED_MAX - LARGEST_CHUNK < sum(len(near.store.read(name) or b"") for name in names) <= NAMED_MAX
    stream.end()
    assert stream.misses > len(keys) // 2


def test_a_receiver_takes_more_chunks_than_a_sender_names() -> None:
    assert NAMED_MAX < KEPT_MAX


def test_slices_of_one_chunk_go_on() -> None:
    """A piece that ends within a stored chunk, and the next one, which goes on there."""
    near, far = stored(DATA[:60_000], [])
    longest = max((data for data in map(near.store.read, near.store.names[1:]) if data), key=len)
    at = DATA.index(longest)
    stream = Stream(near, far, chunker=Chunker(), follows=True)
    stream.write(DATA[:at])
    stream.border()
    for start in range(at, at + len(longest) - 2000, 2000):
        stream.write(DATA[start : start + 2000])
        stream.border()
    stream.take()
    (batch,) = stream.queue
    opcodes = [token[0] for token in dissect(memoryview(batch)).tokens]
    assert LITERAL not in opcodes
    assert opcodes.count(SLICE) > 1
    assert MORE not in opcodes  # a border ends what MORE goes on with
    stream.end()
    assert fingerprint(DATA[at : at + 2000]) in far.store.names
