"""The receiving side, when a chunk is not at hand: it is loaded or asked for, and the stream waits."""

import pytest

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import BATCH_PLAIN_MAX
from proxy.reduction.decoder import DecodedBatch, Decoder
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.obtaining import Needs
from proxy.reduction.tokens import learn_token, literal_token, reference_token, slice_token
from tests.memory import tracing
from tests.unit.reduction.batches import (
    CHUNK,
    NAME,
    OTHER,
    OTHER_NAME,
    WHOLE,
    advanced,
    batch,
    delivered,
    hold,
    literal,
)
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, noise, site


def test_a_missing_chunk_is_asked_for_once_and_the_stream_waits() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    assert decoder.feed(batch(literal_token(2), WHOLE, literals=b"ab", plain=1002)) is None
    assert decoder.obtaining.needs() == Needs(ask=[NAME])
    assert decoder.obtaining.needs() is None
    assert decoder.feed(batch(literal_token(1), literals=b"c")) is None
    assert decoder.advance() is None
    assert decoder.obtaining.needs() is None
    decoder.obtaining.fill(NAME, CHUNK)
    decoded = [decoder.advance() for _ in range(3)]
    assert [batch and batch.data for batch in decoded] == [b"ab" + CHUNK, b"c", None]
    assert far.store.names == [NAME]


def test_literals_on_both_sides_of_what_is_missing() -> None:
    decoder = decoder_of(site(ShelfStore()))
    data = batch(literal_token(2), WHOLE, literal_token(3), literals=b"abcde", plain=1005)
    assert decoder.feed(data) is None
    decoder.obtaining.fill(NAME, CHUNK)
    assert advanced(decoder) == b"ab" + CHUNK + b"cde"


@pytest.mark.parametrize("ahead", [0, 100 << 10], ids=["alone", "behind another"])
def test_a_batch_that_waits_keeps_its_plain_bytes_once(ahead: int) -> None:
    """A hundred bytes from a peer may stand for half a megabyte, and a thousand streams may wait."""
    half = LARGEST_CHUNK - (ahead or len(CHUNK))
    whole = bytes(ahead + half)
    tokens = literal_token(half), learn_token(len(whole), fingerprint(whole)), literal_token(half), WHOLE
    far = site(ShelfStore())
    decoder = decoder_of(far)
    if ahead:
        assert delivered(decoder, batch(literal_token(ahead), literals=bytes(ahead))) == bytes(ahead)
    data = batch(*tokens, literals=bytes(2 * half), plain=2 * half + len(CHUNK))
    with tracing() as taken:
        assert decoder.feed(data) is None
    assert taken.kept < 2 * half + len(whole) + (64 << 10), "what was delivered and what the store has learned"
    decoder.obtaining.fill(NAME, CHUNK)
    assert advanced(decoder) == bytes(2 * half) + CHUNK


def test_nothing_is_kept_of_what_waits_when_the_stream_ends() -> None:
    """Whoever still knows the stream: it may be as much as a window, which others may have again at once."""
    size = 100 << 10
    first = batch(literal_token(size), WHOLE, literal_token(size), literals=bytes(2 * size), plain=2 * size + 1000)
    others = [batch(literal_token(size), literals=bytes(size)) for _ in range(4)]
    decoder = decoder_of(site(ShelfStore()))
    with tracing() as taken:
        assert decoder.feed(first) is None
        for each in others:
            decoder.keep(each)
        taken.look()
        assert taken.kept > 6 * size
        decoder.close()
    assert taken.kept < size // 4
    assert decoder.advance() is None


def test_what_was_filled_is_held_from_then_on() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(WHOLE, plain=1000))
    decoder.obtaining.fill(NAME, CHUNK)
    assert decoder.advance() is not None
    assert delivered(decoder_of(far), batch(WHOLE, plain=1000)) == CHUNK


def test_another_peers_chunk_is_not_given_away(far: Site) -> None:
    """A peer that guesses fingerprints learns neither the bytes nor whether we hold them."""
    other = site(far.store, b"a second peer's store")
    for data in (batch(WHOLE, plain=1000), batch(slice_token(NAME, 5, 1), plain=1)):
        decoder = decoder_of(other)
        assert decoder.feed(data) is None
        assert decoder.obtaining.needs() == Needs(ask=[NAME])
    decoder.obtaining.fill(NAME, CHUNK)
    assert delivered(decoder_of(other), batch(WHOLE, plain=1000)) == CHUNK


def test_another_peers_chunk_is_not_given_away_by_looking_ahead(far: Site) -> None:
    other = site(far.store, b"a second peer's store")
    decoder = decoder_of(other)
    decoder.feed(batch(reference_token(OTHER_NAME), WHOLE, plain=1500))
    assert decoder.obtaining.needs() == Needs(ask=[OTHER_NAME, NAME])


def test_all_that_a_batch_lacks_is_asked_for_at_once(far: Site) -> None:
    """Each chunk once; not those that are held, nor those that the batch itself teaches."""
    taught = noise(300, 3)
    missing = [bytes((at,)) * 32 for at in range(3)]
    tokens = [
        *(reference_token(name) for name in missing),
        slice_token(missing[1], 0, 1),
        slice_token(OTHER_NAME, 0, 1),
        WHOLE,
        literal(taught),
        learn_token(300, fingerprint(taught)),
        reference_token(fingerprint(taught)),
    ]
    decoder = decoder_of(far)
    assert decoder.feed(batch(*tokens, literals=taught, plain=5000)) is None
    assert decoder.obtaining.needs() == Needs(ask=[*missing, OTHER_NAME])


def test_a_chunk_that_the_same_batch_teaches_is_not_asked_for() -> None:
    far = site(ShelfStore())
    tokens = WHOLE, literal(OTHER), learn_token(500, OTHER_NAME), reference_token(OTHER_NAME)
    decoder = decoder_of(far)
    assert decoder.feed(batch(*tokens, literals=OTHER, plain=2000)) is None
    assert decoder.obtaining.needs() == Needs(ask=[NAME])
    decoder.obtaining.fill(NAME, CHUNK)
    assert advanced(decoder) == CHUNK + OTHER + OTHER


def test_no_more_is_asked_for_at_once_than_a_frame_holds_and_no_work_done_twice() -> None:
    """A peer that names thousands of unknown chunks gets no more work out of us than it has to fill."""
    far = site(ShelfStore())
    chunks = [at.to_bytes(2) for at in range(1900)]
    decoder = decoder_of(far)
    assert decoder.feed(batch(*(reference_token(fingerprint(c)) for c in chunks), plain=BATCH_PLAIN_MAX)) is None
    asked = 0
    while (needs := decoder.obtaining.needs()) is not None:
        assert len(needs.ask) <= 1024
        for chunk in chunks[asked : asked + len(needs.ask)]:
            assert decoder.obtaining.needs() is None
            decoder.obtaining.fill(fingerprint(chunk), chunk)
            asked += 1
            if asked < len(chunks):
                assert decoder.advance() is None
    assert asked == len(chunks)
    assert far.store.finds < 5 * len(chunks)


def test_a_chunk_that_comes_by_another_way_does_not_end_the_wait() -> None:
    """The peer must see our MISS before it hears that the batch is consumed: then it could not answer it."""
    far = site(ShelfStore())
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    teach = batch(literal(CHUNK), learn_token(1000, NAME), literals=CHUNK)
    assert delivered(decoder_of(far), teach) == CHUNK
    assert decoder.advance() is None
    decoder.obtaining.fill(NAME, CHUNK)
    assert decoder.advance() is not None


def test_a_filled_chunk_serves_its_batch_even_if_the_store_refuses_it() -> None:
    """And only that: the next batch asks again."""
    far = site(ShelfStore())
    far.store.refusing = True
    decoder = decoder_of(far)
    data = batch(WHOLE, slice_token(NAME, 3, 4), WHOLE, plain=2004)
    for _ in range(2):
        assert decoder.feed(data) is None
        assert decoder.obtaining.needs() == Needs(ask=[NAME])
        decoder.obtaining.fill(NAME, CHUNK)
        assert advanced(decoder) == CHUNK + CHUNK[3:7] + CHUNK


@pytest.mark.parametrize("trouble", ["lose", "rot"])
def test_what_the_store_has_lost_is_asked_for(far: Site, trouble: str) -> None:
    getattr(far.store, trouble)(NAME)
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.obtaining.needs() == Needs(ask=[NAME])


def test_a_chunk_on_disk_is_loaded(far: Site) -> None:
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.obtaining.needs() == Needs(load=NAME)
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(load=NAME)
    far.store.load(NAME)
    assert advanced(decoder) == CHUNK


def test_it_says_when_it_enters_another_container() -> None:
    """What was stored after it will be wanted soon, and can be loaded meanwhile."""
    far = site(ShelfStore(entries=2))
    chunks = [noise(100, seed) for seed in range(5)]
    hold(far, *chunks)
    decoder = decoder_of(far)
    seen = []
    for chunk in chunks:
        decoder.feed(batch(reference_token(fingerprint(chunk)), plain=100))
        seen.append(decoder.obtaining.entered)
        decoder.obtaining.entered = None
    assert seen == [fingerprint(chunks[0]), None, fingerprint(chunks[2]), None, fingerprint(chunks[4])]


def test_a_chunk_that_cannot_be_loaded_is_asked_for(far: Site) -> None:
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.obtaining.needs() == Needs(load=NAME)
    far.store.lose(NAME)
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[NAME])


def test_while_the_disk_does_not_answer_the_peer_is_asked_for_what_is_on_it() -> None:
    """At once for all of it in this batch, but not for what is in memory."""
    far = site(ShelfStore(entries=1))
    chunks = [noise(100, seed) for seed in range(5)]
    names = [fingerprint(chunk) for chunk in chunks]
    hold(far, *chunks)
    far.store.cold = far.silent = True
    far.store.load(names[0])
    far.store.load(names[3])
    decoder = decoder_of(far)
    assert decoder.feed(batch(b"".join(map(reference_token, names)), plain=500)) is None
    assert decoder.obtaining.needs() == Needs(ask=[names[1], names[2], names[4]])
    far.silent = False
    for n in (1, 2, 4):
        decoder.obtaining.fill(names[n], chunks[n])
    assert advanced(decoder) == b"".join(chunks)


def test_what_was_to_be_loaded_is_asked_for_when_the_disk_does_not_answer(far: Site) -> None:
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.obtaining.needs() == Needs(load=NAME)
    far.silent = True
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[NAME])


def test_it_is_idle_when_all_that_was_fed_is_decoded(far: Site) -> None:
    decoder = decoder_of(far)
    seen = [decoder.idle]
    decoder.keep(batch(literal_token(1), literals=b"x"))
    seen.append(decoder.idle)
    decoder.advance()
    seen.append(decoder.idle)
    decoder.feed(batch(reference_token(OTHER_NAME), plain=500))
    seen.append(decoder.idle)
    decoder.obtaining.fill(OTHER_NAME, OTHER)
    decoder.advance()
    seen.append(decoder.idle)
    assert seen == [True, False, True, False, True]


def test_batches_that_were_kept_come_in_their_order(far: Site) -> None:
    decoder = decoder_of(far)
    for data in (b"one", b"two"):
        decoder.keep(batch(literal_token(3), literals=data))
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    decoded = [decoder.advance() for _ in range(4)]
    assert [batch and batch.data for batch in decoded] == [b"one", b"two", CHUNK, None]


# -- fills -----------------------------------------------------------------------------------------------------


def test_a_fill_that_was_not_asked_for_is_a_breach(far: Site) -> None:
    decoder = decoder_of(far)
    for name, chunk in ((OTHER_NAME, OTHER), (NAME, CHUNK)):
        with pytest.raises(BatchError, match="was not asked for"):
            decoder.obtaining.fill(name, chunk)
    assert far.store.names == [NAME]


def test_a_second_fill_is_a_breach() -> None:
    decoder = decoder_of(site(ShelfStore()))
    decoder.feed(batch(WHOLE, plain=1000))
    decoder.obtaining.fill(NAME, CHUNK)
    with pytest.raises(BatchError, match="was not asked for"):
        decoder.obtaining.fill(NAME, CHUNK)


def test_another_streams_fill_is_a_breach(far: Site) -> None:
    decoder_of(far).feed(batch(reference_token(OTHER_NAME), plain=500))
    with pytest.raises(BatchError, match="was not asked for"):
        decoder_of(far).obtaining.fill(OTHER_NAME, OTHER)


@pytest.mark.parametrize("data", [OTHER, CHUNK[:-1], CHUNK + b"x", b""], ids=["other", "short", "long", "empty"])
def test_a_wrong_fill_is_neither_stored_nor_delivered(data: bytes) -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(WHOLE, plain=1000))
    with pytest.raises(CorruptStream, match=NAME.hex()[:16]):
        decoder.obtaining.fill(NAME, data)
    assert far.store.names == []
    assert decoder.advance() is None


def test_a_fill_longer_than_a_chunk_is_refused_even_if_it_matches() -> None:
    long = bytes(LARGEST_CHUNK + 1)
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(slice_token(fingerprint(long), 0, 1), plain=1))
    with pytest.raises(CorruptStream):
        decoder.obtaining.fill(fingerprint(long), long)
    assert far.store.names == []


def test_what_is_filled_for_one_batch_is_bounded() -> None:
    """A peer cannot have us hold a gigabyte by naming a byte each of many long chunks."""
    chunks = [noise(LARGEST_CHUNK, seed) for seed in range(24)]
    decoder = decoder_of(site(ShelfStore()))
    decoder.feed(batch(*(slice_token(fingerprint(chunk), 0, 1) for chunk in chunks), plain=BATCH_PLAIN_MAX))
    for chunk in chunks[:16]:
        decoder.obtaining.fill(fingerprint(chunk), chunk)
    with pytest.raises(BatchError, match="more than 4194304 bytes of chunks"):
        decoder.obtaining.fill(fingerprint(chunks[16]), chunks[16])


# -- few bytes that name much ------------------------------------------------------------------------------------


def sliced(chunks: list[bytes]) -> memoryview:
    """A byte of each in turn, and what it takes to be allowed so many tokens."""
    padding = bytes(300 * len(chunks))
    tokens = [slice_token(fingerprint(chunk), 0, 1) for chunk in chunks]
    return batch(*tokens, literal(padding), literals=padding, plain=len(chunks) + len(padding))


def with_chunks(count: int) -> tuple[Site, list[bytes]]:
    """A site that has exchanged that many of the longest chunks with the peer."""
    far, chunks = site(ShelfStore()), [noise(LARGEST_CHUNK, seed) for seed in range(count)]
    for chunk in chunks:
        hold(far, chunk)
    return far, chunks


def test_a_chunk_that_is_sliced_often_is_verified_once() -> None:
    """So that a few bytes of long chunks do not keep the loop busy with a hundred megabytes."""
    far, chunks = with_chunks(2)
    decoded = decoder_of(far).feed(sliced(chunks * 250))
    assert decoded is not None
    assert decoded.data[:500] == bytes(chunk[0] for chunk in chunks * 250)
    assert decoded.verified == 2 * LARGEST_CHUNK


def test_what_one_batch_slices_is_bounded() -> None:
    far, chunks = with_chunks(17)
    with pytest.raises(BatchError, match="more than 4194304 bytes of chunks"):
        decoder_of(far).feed(sliced(chunks))


def test_what_may_be_sliced_begins_anew_with_each_batch() -> None:
    far, chunks = with_chunks(24)
    decoder = decoder_of(far)
    for some in (chunks[:12], chunks[12:]):
        assert delivered(decoder, sliced(some))[:12] == bytes(chunk[0] for chunk in some)


def test_what_is_sliced_is_not_kept_while_the_batch_waits() -> None:
    """Thousands of streams may wait, each for one chunk more; so the others are had again, and verified again."""
    far, chunks = with_chunks(2)
    decoder = decoder_of(far)
    slices = [slice_token(fingerprint(chunk), 0, 1) for chunk in chunks]
    padding = bytes(600)
    assert decoder.feed(batch(*slices, WHOLE, *slices, literal(padding), literals=padding, plain=1604)) is None
    decoder.obtaining.fill(NAME, CHUNK)
    decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data[:2] == decoded.data[1002:1004] == bytes(chunk[0] for chunk in chunks)
    assert decoded.verified == 4 * LARGEST_CHUNK


def test_what_is_sliced_again_after_each_wait_is_within_the_bound() -> None:
    """No batch is refused because it waits often."""
    far, chunks = with_chunks(12)
    missing = [noise(300, 100 + seed) for seed in range(4)]
    slices = [slice_token(fingerprint(chunk), 0, 1) for chunk in chunks]
    tokens = [token for lost in missing for token in (*slices, reference_token(fingerprint(lost)))]
    padding = bytes(20_000)
    decoder = decoder_of(far)
    plain = len(missing) * (12 + 300) + len(padding)
    assert decoder.feed(batch(*tokens, literal(padding), literals=padding, plain=plain)) is None
    decoded = None
    for lost in missing:
        decoder.obtaining.fill(fingerprint(lost), lost)
        decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data.endswith(missing[3] + padding)


def from_disk(store: ShelfStore, decoder: Decoder, data: memoryview) -> DecodedBatch:
    """Loads what the batch waits for, as often as it does."""
    decoded = decoder.feed(data)
    while decoded is None:
        needs = decoder.obtaining.needs()
        assert needs is not None
        assert needs.load is not None
        store.load(needs.load)
        decoded = decoder.advance()
    return decoded


def test_what_one_batch_slices_is_bounded_however_often_it_waits() -> None:
    store = ShelfStore(entries=4)
    far, chunks = site(store), [noise(LARGEST_CHUNK, seed) for seed in range(17)]
    for chunk in chunks:
        hold(far, chunk)
    store.cold = True
    assert from_disk(store, decoder_of(far), sliced(chunks[:16])).data[:16] == bytes(chunk[0] for chunk in chunks[:16])
    with pytest.raises(BatchError, match="more than 4194304 bytes of chunks"):
        from_disk(store, decoder_of(far), sliced(chunks))
