"""The receiving side: each rule of PROTOCOL.md, "Batches", and what happens to those who break it."""

import pytest

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import CHECK_BYTES, fingerprint
from proxy.reduction.batch import BATCH_PLAIN_MAX, CODEC_NONE, assemble
from proxy.reduction.decoder import DecodedBatch
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.tokens import learn_token, literal_token, more_token, reference_token, run_token, slice_token
from tests.memory import tracing
from tests.unit.reduction.batches import (
    CHUNK,
    NAME,
    OTHER,
    OTHER_NAME,
    WHOLE,
    batch,
    delivered,
    hold,
    literal,
)
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, decoder_of, noise, send, site, two_sites

ALMOST = OTHER_NAME[: CHECK_BYTES - 1] + bytes((OTHER_NAME[CHECK_BYTES - 1] ^ 1,)) + OTHER_NAME[CHECK_BYTES:]
"""OTHER_NAME, but for the last bit of what LEARN says of it."""


# -- what tokens deliver ---------------------------------------------------------------------------------------


def test_literals_in_the_order_of_their_tokens(far: Site) -> None:
    data = batch(literal_token(2), WHOLE, literal_token(3), literals=b"ab" + b"cde", plain=1005)
    assert delivered(decoder_of(far), data) == b"ab" + CHUNK + b"cde"


def test_a_reference_delivers_the_chunk_verified_from_the_store(far: Site) -> None:
    assert decoder_of(far).feed(batch(WHOLE, WHOLE, plain=2000)) == DecodedBatch([CHUNK, CHUNK], 2000, 2000)


def test_a_run_is_read_at_once_as_far_as_its_container_goes() -> None:
    far = site(ShelfStore(entries=5))
    chunks = [noise(1000, seed) for seed in range(9)]
    hold(far, *chunks)
    names = [fingerprint(chunk) for chunk in chunks]
    run = run_token(8, fingerprint(b"".join(names[1:])))
    decoded = decoder_of(far).feed(batch(reference_token(names[0]), run, plain=9000))
    pieces: list[bytes | memoryview] = [chunks[0], b"".join(chunks[1:5]), *chunks[5:]]
    assert decoded == DecodedBatch(pieces, 9000, 9000)


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
    "literals in an unknown codec": memoryview(assemble(3, 9, literal_token(3), 3, [b"abc"])),
    "literals longer than declared": memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, [b"abcd"])),
    "literals shorter than declared": memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, [b"ab"])),
    "literals that are no zstd frame": memoryview(assemble(3, 1, literal_token(3), 3, [b"abc"])),
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


def test_nothing_is_delivered_behind_what_is_no_batch(far: Site) -> None:
    """It would come with a gap before it."""
    decoder = decoder_of(far)
    with pytest.raises(BatchError):
        decoder.feed(memoryview(b"short"))
    assert decoder.feed(batch(WHOLE, plain=1000)) is None
    assert decoder.advance() is None
    assert decoder.total == 0


def test_a_tail_must_not_grow_beyond_a_chunk() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    data = noise(LARGEST_CHUNK)
    assert delivered(decoder, batch(literal(data), literals=data)) == data
    with pytest.raises(BatchError, match="without a chunk border"):
        decoder.feed(batch(literal_token(1), literals=b"x"))
    again = decoder_of(far)
    assert delivered(again, batch(literal(data), learn_token(LARGEST_CHUNK, fingerprint(data)), literals=data)) == data
    assert far.store.names == [fingerprint(data)]


@pytest.mark.parametrize("wrong", ["check", "last bit of the check", "bytes"])
def test_a_chunk_that_does_not_match_its_check_is_neither_stored_nor_delivered(far: Site, wrong: str) -> None:
    decoder = decoder_of(far)
    assert delivered(decoder, batch(literal_token(400), literals=OTHER[:400])) == OTHER[:400]
    rest = bytes(100) if wrong == "bytes" else OTHER[400:]
    name = {"check": bytes(32), "last bit of the check": ALMOST}.get(wrong, OTHER_NAME)
    with pytest.raises(CorruptStream, match="500 bytes"):
        decoder.feed(batch(literal_token(100), learn_token(500, name), literals=rest))
    assert far.store.names == [NAME]
    assert decoder.total == 400


def test_a_batch_that_delivers_too_much_takes_no_memory() -> None:
    """500 KiB that name half a gigabyte of the store."""
    far = site(ShelfStore())
    big = noise(LARGEST_CHUNK)
    hold(far, big)
    data = batch(reference_token(fingerprint(big)) * 1900, plain=BATCH_PLAIN_MAX)
    with tracing() as taken, pytest.raises(BatchError, match="more than the 524288 bytes"):
        decoder_of(far).feed(data)
    assert taken.most < 4 << 20


# -- END -------------------------------------------------------------------------------------------------------


def test_the_end_teaches_the_last_chunk() -> None:
    far = site(ShelfStore())
    decoder = decoder_of(far)
    assert delivered(decoder, batch(literal(OTHER), literals=OTHER)) == OTHER
    decoder.finish(learn_token(500, OTHER_NAME))
    assert far.store.names == [OTHER_NAME]
    assert decoder.total == 500


def test_an_end_may_teach_nothing(far: Site) -> None:
    decoder = decoder_of(far)
    delivered(decoder, batch(WHOLE, plain=1000))
    decoder.finish(b"")
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
        decoder.finish(tokens)


@pytest.mark.parametrize("check", [NAME, ALMOST], ids=["another", "wrong in its last bit"])
def test_an_end_with_a_wrong_check_is_corrupt(far: Site, check: bytes) -> None:
    decoder = decoder_of(far)
    delivered(decoder, batch(literal(OTHER), literals=OTHER))
    with pytest.raises(CorruptStream):
        decoder.finish(learn_token(500, check))
    assert far.store.names == [NAME]
