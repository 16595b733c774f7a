"""The receiving side: each rule of PROTOCOL.md, "Batches", and what happens to those who break it."""

import tracemalloc

import pytest

from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import BATCH_PLAIN_MAX, CODEC_NONE, assemble
from proxy.reduction.decoder import CHUNK_MAX, DecodedBatch, Decoder, Needs
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.tokens import learn_token, literal_token, more_token, reference_token, slice_token
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, noise, send, site, two_sites

CHUNK = noise(1000, 1)
NAME = fingerprint(CHUNK)
OTHER = noise(500, 2)
OTHER_NAME = fingerprint(OTHER)
WHOLE = reference_token(NAME)


def batch(*tokens: bytes, literals: bytes = b"", plain: int = 0) -> memoryview:
    """A batch of those tokens; it delivers as many bytes as literals, or as said."""
    return memoryview(assemble(plain or len(literals), CODEC_NONE, b"".join(tokens), len(literals), literals))


def literal(data: bytes) -> bytes:
    return literal_token(len(data))


def hold(site: Site, *chunks: bytes) -> None:
    """Those chunks have been exchanged with the peer."""
    for chunk in chunks:
        place = site.store.put(fingerprint(chunk), chunk)
        assert place is not None
        site.holdings.add(place)


@pytest.fixture
def far() -> Site:
    """A site that has exchanged CHUNK with the peer."""
    far = site(ShelfStore())
    hold(far, CHUNK)
    return far


def delivered(decoder: Decoder, data: memoryview) -> bytes:
    decoded = decoder.feed(data)
    assert decoded is not None
    return decoded.data


# -- what tokens deliver ---------------------------------------------------------------------------------------


def test_literals_in_the_order_of_their_tokens(far: Site) -> None:
    data = batch(literal_token(2), WHOLE, literal_token(3), literals=b"ab" + b"cde", plain=1005)
    assert delivered(decoder_of(far), data) == b"ab" + CHUNK + b"cde"


def test_a_reference_delivers_the_chunk_verified_from_the_store(far: Site) -> None:
    assert decoder_of(far).feed(batch(WHOLE, WHOLE, plain=2000)) == DecodedBatch(CHUNK * 2, 2000, 2000)


def test_slices_and_more_of_them(far: Site) -> None:
    """MORE goes on where the last SLICE or MORE ended, also in a later batch."""
    decoder = decoder_of(far)
    assert delivered(decoder, batch(slice_token(NAME, 10, 5), more_token(7), plain=12)) == CHUNK[10:22]
    assert delivered(decoder, batch(more_token(100), plain=100)) == CHUNK[22:122]
    assert delivered(decoder, batch(slice_token(NAME, 999, 1), plain=1)) == CHUNK[999:]


def test_more_of_a_chunk_that_has_gone(far: Site) -> None:
    decoder = decoder_of(far)
    assert delivered(decoder, batch(slice_token(NAME, 0, 5), plain=5)) == CHUNK[:5]
    far.store.lose(NAME)
    assert delivered(decoder, batch(more_token(5), plain=5)) == CHUNK[5:10]


def test_the_tail_is_learned_from_several_batches() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    pieces = OTHER[:100], OTHER[100:101], OTHER[101:]
    for piece in pieces:
        assert delivered(decoder, batch(literal(piece), literals=piece)) == piece
    last = batch(learn_token(500, OTHER_NAME), literal_token(1), literals=b"x")
    assert delivered(decoder, last) == b"x"
    assert far.store.names == [OTHER_NAME]
    assert delivered(decoder, batch(reference_token(OTHER_NAME), plain=500)) == OTHER


def test_a_tail_may_come_from_slices_and_literals(far: Site) -> None:
    mixed = CHUNK[:300] + OTHER
    tokens = slice_token(NAME, 0, 300), literal(OTHER), learn_token(800, fingerprint(mixed))
    assert delivered(decoder_of(far), batch(*tokens, literals=OTHER, plain=800)) == mixed
    assert far.store.read(fingerprint(mixed)) == mixed


def test_a_slice_to_the_end_of_what_is_the_whole_tail_is_a_border(far: Site) -> None:
    """Otherwise the LEARN would count 1500 bytes."""
    tokens = slice_token(NAME, 0, 400), more_token(600), literal(OTHER), learn_token(500, OTHER_NAME)
    assert delivered(decoder_of(far), batch(*tokens, literals=OTHER, plain=1500)) == CHUNK + OTHER
    assert OTHER_NAME in far.store.names


def test_that_border_may_come_after_literals(far: Site) -> None:
    tokens = literal_token(10), slice_token(NAME, 10, 990), literal(OTHER), learn_token(500, OTHER_NAME)
    data = batch(*tokens, literals=CHUNK[:10] + OTHER, plain=1500)
    assert delivered(decoder_of(far), data) == CHUNK + OTHER


@pytest.mark.parametrize("before", [b"", b"x"], ids=["shorter tail", "other bytes"])
def test_a_slice_to_the_end_of_another_tail_is_no_border(far: Site, before: bytes) -> None:
    start = 600 if not before else 1
    tail = before + CHUNK[start:]
    tokens = [literal(before)] if before else []
    tokens += [slice_token(NAME, start, 1000 - start), learn_token(len(tail), fingerprint(tail))]
    assert delivered(decoder_of(far), batch(*tokens, literals=before, plain=len(tail))) == tail
    assert fingerprint(tail) in far.store.names


def test_a_reference_ends_the_tail(far: Site) -> None:
    tokens = literal_token(3), WHOLE, literal(OTHER), learn_token(500, OTHER_NAME)
    assert delivered(decoder_of(far), batch(*tokens, literals=b"abc" + OTHER, plain=1503)) == b"abc" + CHUNK + OTHER


def test_what_was_learned_may_be_referred_to_from_both_sides() -> None:
    near, far = two_sites()
    send(near, far, [noise(9000)])
    for one in (near, far):
        places = [one.store.find(name) for name in one.store.names]
        assert places
        assert all(place is not None and one.holdings.holds(place) for place in places)


# -- rules about tokens ----------------------------------------------------------------------------------------

BREACHES = {
    "LEARN of more than the tail": batch(literal_token(3), learn_token(4, NAME), literals=b"abc"),
    "LEARN of less than the tail": batch(literal_token(3), learn_token(2, NAME), literals=b"abc"),
    "LEARN without a tail": batch(learn_token(1, NAME), literal_token(1), literals=b"x"),
    "LEARN twice": batch(
        literal_token(500), learn_token(500, OTHER_NAME), learn_token(500, OTHER_NAME), literals=OTHER
    ),
    "LEARN after a reference": batch(WHOLE, learn_token(1000, NAME), plain=1000),
    "LEARN after a slice that was a border": batch(slice_token(NAME, 0, 1000), learn_token(1000, NAME), plain=1000),
    "SLICE that ends one byte beyond the chunk": batch(slice_token(NAME, 999, 2), plain=2),
    "SLICE that begins at the chunk's end": batch(slice_token(NAME, 1000, 1), plain=1),
    "SLICE that begins far beyond": batch(slice_token(NAME, 2**32 - 1, 1), plain=1),
    "SLICE of 4 GiB": batch(slice_token(NAME, 0, 2**32 - 1), plain=1000),
    "MORE without a SLICE": batch(more_token(1), plain=1),
    "MORE after a literal": batch(slice_token(NAME, 0, 1), literal_token(1), more_token(1), literals=b"x", plain=3),
    "MORE after a reference": batch(slice_token(NAME, 0, 1), WHOLE, more_token(1), plain=1002),
    "MORE after a LEARN": batch(
        slice_token(NAME, 0, 1), learn_token(1, fingerprint(CHUNK[:1])), more_token(1), plain=2
    ),
    "MORE after a slice that was a border": batch(slice_token(NAME, 0, 1000), more_token(1), plain=1001),
    "MORE that ends beyond the chunk": batch(slice_token(NAME, 5, 990), more_token(6), plain=996),
    "MORE of 4 GiB": batch(slice_token(NAME, 0, 1), more_token(2**32 - 1), plain=1000),
    "fewer bytes than declared": batch(WHOLE, plain=1001),
    "more bytes than declared": batch(WHOLE, plain=999),
    "more bytes than declared, from slices": batch(slice_token(NAME, 0, 5), more_token(5), plain=9),
    "more bytes than declared, literals included": batch(literal_token(3), WHOLE, literals=b"abc", plain=1002),
    "no tokens": batch(plain=1),
    "literals in an unknown codec": memoryview(assemble(3, 9, literal_token(3), 3, b"abc")),
    "literals longer than declared": memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, b"abcd")),
    "literals shorter than declared": memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, b"ab")),
    "literals that are no zstd frame": memoryview(assemble(3, 1, literal_token(3), 3, b"abc")),
}


@pytest.mark.parametrize("data", BREACHES.values(), ids=list(BREACHES))
@pytest.mark.parametrize("kept", [False, True], ids=["at once", "later"])
def test_a_breach_is_refused(far: Site, data: memoryview, kept: bool) -> None:
    """Also if the array did not read when it came."""
    decoder = decoder_of(far)
    if kept:
        decoder.keep(data)
    with pytest.raises(BatchError):
        decoder.advance() if kept else decoder.feed(data)
    assert decoder.total == 0


def test_a_tail_must_not_grow_beyond_a_chunk() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    data = noise(CHUNK_MAX)
    assert delivered(decoder, batch(literal(data), literals=data)) == data
    with pytest.raises(BatchError, match="without a chunk border"):
        decoder.feed(batch(literal_token(1), literals=b"x"))
    again = decoder_of(far)
    assert delivered(again, batch(literal(data), learn_token(CHUNK_MAX, fingerprint(data)), literals=data)) == data
    assert far.store.names == [fingerprint(data)]


@pytest.mark.parametrize("wrong", ["check", "bytes"])
def test_a_chunk_that_does_not_match_its_check_is_neither_stored_nor_delivered(far: Site, wrong: str) -> None:
    decoder = decoder_of(far)
    assert delivered(decoder, batch(literal_token(400), literals=OTHER[:400])) == OTHER[:400]
    rest = bytes(100) if wrong == "bytes" else OTHER[400:]
    name = bytes(32) if wrong == "check" else OTHER_NAME
    with pytest.raises(CorruptStream, match="500 bytes"):
        decoder.feed(batch(literal_token(100), learn_token(500, name), literals=rest))
    assert far.store.names == [NAME]
    assert decoder.total == 400


def test_a_batch_that_delivers_too_much_takes_no_memory() -> None:
    """500 KiB that name half a gigabyte of the store."""
    far = site(ShelfStore())
    big = noise(CHUNK_MAX)
    hold(far, big)
    data = batch(reference_token(fingerprint(big)) * 1900, plain=BATCH_PLAIN_MAX)
    tracemalloc.start()
    try:
        with pytest.raises(BatchError, match="more than the 524288 bytes"):
            decoder_of(far).feed(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


# -- what is not at hand ---------------------------------------------------------------------------------------


def test_a_missing_chunk_is_asked_for_once_and_the_stream_waits() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    assert decoder.feed(batch(literal_token(2), WHOLE, literals=b"ab", plain=1002)) is None
    assert decoder.needs() == Needs(ask=[NAME])
    assert decoder.needs() is None
    assert decoder.feed(batch(literal_token(1), literals=b"c")) is None
    assert decoder.advance() is None
    assert decoder.needs() is None
    decoder.fill(NAME, CHUNK)
    decoded = [decoder.advance() for _ in range(3)]
    assert [batch and batch.data for batch in decoded] == [b"ab" + CHUNK, b"c", None]
    assert far.store.names == [NAME]


def test_what_was_filled_is_held_from_then_on() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(WHOLE, plain=1000))
    decoder.fill(NAME, CHUNK)
    assert decoder.advance() is not None
    assert delivered(decoder_of(far), batch(WHOLE, plain=1000)) == CHUNK


def test_another_peers_chunk_is_not_given_away(far: Site) -> None:
    """A peer that guesses fingerprints learns neither the bytes nor whether we hold them."""
    other = site(far.store, b"a second peer's store")
    for data in (batch(WHOLE, plain=1000), batch(slice_token(NAME, 5, 1), plain=1)):
        decoder = decoder_of(other)
        assert decoder.feed(data) is None
        assert decoder.needs() == Needs(ask=[NAME])
    decoder.fill(NAME, CHUNK)
    assert delivered(decoder_of(other), batch(WHOLE, plain=1000)) == CHUNK


def test_another_peers_chunk_is_not_given_away_by_looking_ahead(far: Site) -> None:
    other = site(far.store, b"a second peer's store")
    decoder = decoder_of(other)
    decoder.feed(batch(reference_token(OTHER_NAME), WHOLE, plain=1500))
    assert decoder.needs() == Needs(ask=[OTHER_NAME, NAME])


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
    assert decoder.needs() == Needs(ask=[*missing, OTHER_NAME])


def test_a_chunk_that_the_same_batch_teaches_is_not_asked_for() -> None:
    far = site(ShelfStore())
    tokens = WHOLE, literal(OTHER), learn_token(500, OTHER_NAME), reference_token(OTHER_NAME)
    decoder = decoder_of(far)
    assert decoder.feed(batch(*tokens, literals=OTHER, plain=2000)) is None
    assert decoder.needs() == Needs(ask=[NAME])
    decoder.fill(NAME, CHUNK)
    decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data == CHUNK + OTHER + OTHER


def test_no_more_is_asked_for_at_once_than_a_frame_holds_and_no_work_done_twice() -> None:
    """A peer that names thousands of unknown chunks gets no more work out of us than it has to fill."""
    far = site(ShelfStore())
    chunks = [at.to_bytes(2) for at in range(1900)]
    decoder = decoder_of(far)
    assert decoder.feed(batch(*(reference_token(fingerprint(c)) for c in chunks), plain=BATCH_PLAIN_MAX)) is None
    asked = 0
    while (needs := decoder.needs()) is not None:
        assert len(needs.ask) <= 1024
        for chunk in chunks[asked : asked + len(needs.ask)]:
            assert decoder.needs() is None
            decoder.fill(fingerprint(chunk), chunk)
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
    decoder.fill(NAME, CHUNK)
    assert decoder.advance() is not None


def test_a_filled_chunk_serves_its_batch_even_if_the_store_refuses_it() -> None:
    """And only that: the next batch asks again."""
    far = site(ShelfStore())
    far.store.refusing = True
    decoder = decoder_of(far)
    data = batch(WHOLE, slice_token(NAME, 3, 4), WHOLE, plain=2004)
    for _ in range(2):
        assert decoder.feed(data) is None
        assert decoder.needs() == Needs(ask=[NAME])
        decoder.fill(NAME, CHUNK)
        decoded = decoder.advance()
        assert decoded is not None
        assert decoded.data == CHUNK + CHUNK[3:7] + CHUNK


@pytest.mark.parametrize("trouble", ["lose", "rot"])
def test_what_the_store_has_lost_is_asked_for(far: Site, trouble: str) -> None:
    getattr(far.store, trouble)(NAME)
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.needs() == Needs(ask=[NAME])


def test_a_chunk_on_disk_is_loaded(far: Site) -> None:
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.needs() == Needs(load=NAME)
    assert decoder.advance() is None
    assert decoder.needs() == Needs(load=NAME)
    far.store.load(NAME)
    decoded = decoder.advance()
    assert decoded is not None
    assert decoded.data == CHUNK


def test_it_says_when_it_enters_another_container() -> None:
    """What was stored after it will be wanted soon, and can be loaded meanwhile."""
    far = site(ShelfStore(entries=2))
    chunks = [noise(100, seed) for seed in range(5)]
    hold(far, *chunks)
    decoder = decoder_of(far)
    seen = []
    for chunk in chunks:
        decoder.feed(batch(reference_token(fingerprint(chunk)), plain=100))
        seen.append(decoder.entered)
        decoder.entered = None
    assert seen == [fingerprint(chunks[0]), None, fingerprint(chunks[2]), None, fingerprint(chunks[4])]


def test_a_chunk_that_cannot_be_loaded_is_asked_for(far: Site) -> None:
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.needs() == Needs(load=NAME)
    far.store.lose(NAME)
    assert decoder.advance() is None
    assert decoder.needs() == Needs(ask=[NAME])


def test_it_is_idle_when_all_that_was_fed_is_decoded(far: Site) -> None:
    decoder = decoder_of(far)
    seen = [decoder.idle]
    decoder.keep(batch(literal_token(1), literals=b"x"))
    seen.append(decoder.idle)
    decoder.advance()
    seen.append(decoder.idle)
    decoder.feed(batch(reference_token(OTHER_NAME), plain=500))
    seen.append(decoder.idle)
    decoder.fill(OTHER_NAME, OTHER)
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
            decoder.fill(name, chunk)
    assert far.store.names == [NAME]


def test_a_second_fill_is_a_breach() -> None:
    decoder = decoder_of(site(ShelfStore()))
    decoder.feed(batch(WHOLE, plain=1000))
    decoder.fill(NAME, CHUNK)
    with pytest.raises(BatchError, match="was not asked for"):
        decoder.fill(NAME, CHUNK)


def test_another_streams_fill_is_a_breach(far: Site) -> None:
    decoder_of(far).feed(batch(reference_token(OTHER_NAME), plain=500))
    with pytest.raises(BatchError, match="was not asked for"):
        decoder_of(far).fill(OTHER_NAME, OTHER)


@pytest.mark.parametrize("data", [OTHER, CHUNK[:-1], CHUNK + b"x", b""], ids=["other", "short", "long", "empty"])
def test_a_wrong_fill_is_neither_stored_nor_delivered(data: bytes) -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(WHOLE, plain=1000))
    with pytest.raises(CorruptStream, match=NAME.hex()[:16]):
        decoder.fill(NAME, data)
    assert far.store.names == []
    assert decoder.advance() is None


def test_a_fill_longer_than_a_chunk_is_refused_even_if_it_matches() -> None:
    long = bytes(CHUNK_MAX + 1)
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.feed(batch(slice_token(fingerprint(long), 0, 1), plain=1))
    with pytest.raises(CorruptStream):
        decoder.fill(fingerprint(long), long)
    assert far.store.names == []


def test_what_is_filled_for_one_batch_is_bounded() -> None:
    """A peer cannot have us hold a gigabyte by naming a byte each of many long chunks."""
    chunks = [noise(CHUNK_MAX, seed) for seed in range(24)]
    decoder = decoder_of(site(ShelfStore()))
    decoder.feed(batch(*(slice_token(fingerprint(chunk), 0, 1) for chunk in chunks), plain=BATCH_PLAIN_MAX))
    for chunk in chunks[:17]:
        decoder.fill(fingerprint(chunk), chunk)
    with pytest.raises(BatchError, match="more is filled"):
        decoder.fill(fingerprint(chunks[17]), chunks[17])


# -- END -------------------------------------------------------------------------------------------------------


def test_the_end_teaches_the_last_chunk() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    assert delivered(decoder, batch(literal(OTHER), literals=OTHER)) == OTHER
    decoder.learn_last(memoryview(learn_token(500, OTHER_NAME)))
    assert far.store.names == [OTHER_NAME]
    assert decoder.total == 500


def test_an_end_may_teach_nothing(far: Site) -> None:
    decoder = decoder_of(far)
    delivered(decoder, batch(WHOLE, plain=1000))
    decoder.learn_last(memoryview(b""))
    assert far.store.names == [NAME]


@pytest.mark.parametrize(
    "tokens",
    [
        WHOLE,
        literal_token(1),
        more_token(1),
        slice_token(NAME, 0, 1),
        learn_token(500, OTHER_NAME) * 2,
        learn_token(499, OTHER_NAME),
        learn_token(501, OTHER_NAME),
        b"\x00",
    ],
    ids=["reference", "literal", "more", "slice", "twice", "less", "more than the tail", "no token"],
)
def test_an_end_that_says_something_else_is_a_breach(far: Site, tokens: bytes) -> None:
    decoder = decoder_of(far)
    delivered(decoder, batch(literal(OTHER), literals=OTHER))
    with pytest.raises(BatchError):
        decoder.learn_last(memoryview(tokens))


def test_an_end_with_a_wrong_check_is_corrupt(far: Site) -> None:
    decoder = decoder_of(far)
    delivered(decoder, batch(literal(OTHER), literals=OTHER))
    with pytest.raises(CorruptStream):
        decoder.learn_last(memoryview(learn_token(500, NAME)))
    assert far.store.names == [NAME]
