"""Runs: chunks that are stored one after another are named at once, and what becomes of it where they are not."""

from typing import cast

import pytest

from dedupstore.fingerprint import fingerprint
from dedupstore.memory import MemoryStore
from dedupstore.store import ChunkStore
from proxy.reduction.batch import dissect
from proxy.reduction.decoder import Decoder
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.holdings import Holdings
from proxy.reduction.obtaining import Needs
from proxy.reduction.runs import Order
from proxy.reduction.tokens import (
    LITERAL,
    REFERENCE,
    RUN,
    SLICE,
    literal_token,
    reference_token,
    run_token,
    slice_token,
)
from tests.unit.reduction.batches import advanced, batch, delivered, hold
from tests.unit.reduction.runs import CHUNKS, FIRST, NAMES, known, mostly_cold, out_of_order, run_of, written
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import DATA, Site, Stream, brings, decoder_of, encoder_of, noise, send, site

PAUSE = 30.0


RUN_TOKEN, RUN_NAME, LISTED = run_of(*NAMES[1:4])
FOUR = batch(FIRST, RUN_TOKEN, plain=4000)


@pytest.fixture
def far() -> Site:
    """A site that has exchanged CHUNKS with the peer, in containers of five."""
    far = site(ShelfStore(entries=5))
    hold(far, *CHUNKS)
    return far


# -- what the receiver makes of them ---------------------------------------------------------------------------


def test_what_is_stored_behind_a_chunk_is_delivered(far: Site) -> None:
    decoder = decoder_of(far)
    decoded = decoder.feed(FOUR)
    assert decoded is not None
    assert (decoded.data, decoded.from_store, decoded.verified) == (b"".join(CHUNKS[:4]), 4000, 4000)
    assert decoder.obtaining.needs() is None


def test_runs_and_other_tokens(far: Site) -> None:
    """Behind a run the tail is empty, as behind a reference."""
    tokens = FIRST, RUN_TOKEN, slice_token(NAMES[8], 0, 7), FIRST, RUN_TOKEN, literal_token(2)
    decoded = delivered(decoder_of(far), batch(*tokens, literals=b"ab", plain=8009))
    four = b"".join(CHUNKS[:4])
    assert decoded == four + CHUNKS[8][:7] + four + b"ab"


def test_a_run_may_go_on_in_the_next_container(far: Site) -> None:
    token, _, _ = run_of(*NAMES[1:9])
    assert delivered(decoder_of(far), batch(FIRST, token, plain=9000)) == b"".join(CHUNKS)


def test_a_run_that_is_not_known_is_asked_for_and_its_list_is_no_chunk() -> None:
    """Its chunks are held, but were stored in another order."""
    far = site(ShelfStore())
    hold(far, CHUNKS[0], *CHUNKS[3:0:-1])
    decoder = decoder_of(far)
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(ask=[RUN_NAME])
    assert decoder.advance() is None
    assert decoder.obtaining.needs() is None
    decoder.obtaining.fill(RUN_NAME, LISTED)
    assert advanced(decoder) == b"".join(CHUNKS[:4])
    assert far.store.find(RUN_NAME) is None
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(ask=[RUN_NAME])


def test_before_asking_what_may_follow_is_loaded() -> None:
    """There are as many as the run has, or there is nothing left to be loaded: then it is asked for."""
    far = mostly_cold(2)
    decoder = decoder_of(far)
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(load_behind=NAMES[1])
    far.store.load(NAMES[1])
    far.store.prefetch(NAMES[1])
    assert advanced(decoder) == b"".join(CHUNKS[:4])


@pytest.mark.parametrize("taught", [False, True])
def test_who_knows_chunks_can_find_out_whether_others_have_taught_them(taught: bool) -> None:
    """What PROTOCOL.md, "Threat model", admits: they lie where they were put first. Their names alone tell nothing."""
    shelf = ShelfStore()
    if taught:
        hold(site(shelf, b"another's store"), *CHUNKS[:4])
    far = site(shelf)
    decoder = decoder_of(far)
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(ask=[NAMES[0], RUN_NAME])
    hold(far, CHUNKS[0], CHUNKS[8], *CHUNKS[1:4])
    decoder = decoder_of(far)
    assert (decoder.feed(FOUR) is not None) == taught
    assert decoder.obtaining.needs() == (None if taught else Needs(ask=[RUN_NAME]))


def test_while_the_disk_does_not_answer_it_is_asked_for() -> None:
    far = site(ShelfStore(entries=2))
    hold(far, *CHUNKS)
    far.store.cold = far.silent = True
    far.store.load(NAMES[0])
    decoder = decoder_of(far)
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(ask=[RUN_NAME])


def test_it_is_looked_for_once() -> None:
    far = site(ShelfStore())
    hold(far, *CHUNKS[:2])
    decoder = decoder_of(far)
    assert decoder.feed(FOUR) is None
    assert decoder.obtaining.needs() == Needs(load_behind=NAMES[1])
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[RUN_NAME])


def test_a_chunk_of_a_run_may_have_to_be_loaded_or_filled(far: Site) -> None:
    token, name, listed = run_of(*NAMES[4:7])
    far.store.lose(NAMES[5])
    far.store.cold = True
    decoder = decoder_of(far)
    assert decoder.feed(batch(reference_token(NAMES[3]), token, plain=4000)) is None
    asked: list[Needs] = []
    decoded = None
    while decoded is None:
        needs = decoder.obtaining.needs()
        assert needs is not None
        asked.append(needs)
        for loaded in filter(None, (needs.load, needs.load_behind)):
            far.store.load(loaded)
        if needs.load_behind:
            far.store.prefetch(needs.load_behind)
        for one in needs.ask:
            decoder.obtaining.fill(one, listed if one == name else CHUNKS[NAMES.index(one)])
        decoded = decoder.advance()
    assert decoded.data == b"".join(CHUNKS[3:7])
    assert [needs.ask for needs in asked if needs.ask] == [[name], [NAMES[5]]]


def test_a_run_behind_a_missing_chunk_is_asked_for_with_it(far: Site) -> None:
    """And one behind a chunk that is held is not: it may be known by its turn."""
    missing = noise(1000, 77)
    token, name, listed = run_of(*NAMES[1:3])
    decoder = decoder_of(far)
    tokens = reference_token(fingerprint(missing)), token, FIRST, RUN_TOKEN
    assert decoder.feed(batch(*tokens, plain=7000)) is None
    assert decoder.obtaining.needs() == Needs(ask=[fingerprint(missing), name])
    decoder.obtaining.fill(name, listed)
    assert decoder.advance() is None
    decoder.obtaining.fill(fingerprint(missing), missing)
    assert advanced(decoder) == missing + b"".join(CHUNKS[1:3]) + b"".join(CHUNKS[:4])


def test_with_a_run_that_is_not_known_all_others_of_the_batch_are_asked_for() -> None:
    """The order is another one, so they will not be known either: one round trip is enough."""
    far = site(ShelfStore())
    hold(far, *reversed(CHUNKS))
    decoder = decoder_of(far)
    token, name, listed = run_of(*NAMES[6:8])
    tokens = FIRST, RUN_TOKEN, reference_token(NAMES[5]), token, FIRST, RUN_TOKEN
    assert decoder.feed(batch(*tokens, plain=11_000)) is None
    assert decoder.obtaining.needs() == Needs(load_behind=NAMES[0])
    assert decoder.advance() is None
    assert decoder.obtaining.needs() == Needs(ask=[RUN_NAME, name])
    decoder.obtaining.fill(RUN_NAME, LISTED)
    decoder.obtaining.fill(name, listed)
    assert advanced(decoder) == b"".join(CHUNKS[:4] + CHUNKS[5:8] + CHUNKS[:4])


def test_another_peers_chunks_are_no_run(far: Site) -> None:
    """A peer that guesses what we hold learns nothing: it is asked for the list whether the guess was right or not."""
    other = site(far.store, b"a second peer's store")
    for chunk in (CHUNKS[0], CHUNKS[1]):
        place = far.store.find(fingerprint(chunk))
        assert place is not None
        other.holdings.add(place)
    for guess in (NAMES[1:4], [NAMES[1], NAMES[2], NAMES[8]]):
        token, name, _ = run_of(*guess)
        decoder = decoder_of(other)
        assert decoder.feed(batch(FIRST, token, plain=4000)) is None
        assert decoder.obtaining.needs() == Needs(load_behind=NAMES[0])
        assert decoder.advance() is None
        assert decoder.obtaining.needs() == Needs(ask=[name])


def test_what_was_just_sent_may_be_named_as_a_run(far: Site) -> None:
    """The peer had it before we know that it has arrived."""
    other = site(far.store, b"a second peer's store")
    other.holdings.send(place for name in NAMES if (place := far.store.find(name)) is not None)
    assert delivered(decoder_of(other), FOUR) == b"".join(CHUNKS[:4])


@pytest.mark.parametrize(
    ("n", "listed", "error"),
    [
        (3, LISTED[:-32], BatchError),
        (3, LISTED[:-1], BatchError),
        (2, LISTED, BatchError),
        (3, b"", CorruptStream),
    ],
)
def test_a_list_of_another_length_is_refused(n: int, listed: bytes, error: type[Exception]) -> None:
    far = site(ShelfStore())
    hold(far, CHUNKS[0])
    decoder = decoder_of(far)
    name = fingerprint(listed)
    assert decoder.feed(batch(FIRST, run_token(n, name), plain=4000)) is None
    decoder.obtaining.needs()
    decoder.advance()
    with pytest.raises(error):
        filled(decoder, name, listed)
    assert decoder.advance() is None
    assert far.store.names == NAMES[:1]


def filled(decoder: Decoder, name: bytes, data: bytes) -> None:
    decoder.obtaining.fill(name, data)
    decoder.advance()


def test_a_wrong_list_is_refused() -> None:
    far = site(ShelfStore())
    hold(far, CHUNKS[0])
    decoder = decoder_of(far)
    decoder.feed(FOUR)
    decoder.advance()
    with pytest.raises(CorruptStream):
        decoder.obtaining.fill(RUN_NAME, LISTED[::-1])


def test_a_run_that_delivers_too_much_is_refused_at_the_first_chunk_too_many(far: Site) -> None:
    decoder = decoder_of(far)
    far.store.rot(NAMES[3])
    with pytest.raises(BatchError, match="delivers more than"):
        decoder.feed(batch(FIRST, RUN_TOKEN, plain=2999))
    assert far.store.find(NAMES[3]) is not None


def test_no_longer_runs_than_references_would_be(far: Site) -> None:
    with pytest.raises(BatchError, match="RUNs of 4294967295 chunks"):
        decoder_of(far).feed(batch(FIRST, run_token((1 << 32) - 1, RUN_NAME), plain=4000))


def test_runs_that_were_not_agreed_on_are_refused(far: Site) -> None:
    decoder = Decoder(cast(ChunkStore, far.store), far.holdings)
    with pytest.raises(BatchError, match="not agreed"):
        decoder.feed(FOUR)


def test_a_chunk_that_looks_like_a_list(far: Site) -> None:
    """It has the run's name, and its bytes: whatever it was asked for as, it serves."""
    missing = noise(1000, 77)
    decoder = decoder_of(far)
    tokens = reference_token(fingerprint(missing)), RUN_TOKEN, reference_token(RUN_NAME)
    assert decoder.feed(batch(*tokens, plain=4000 + len(LISTED))) is None
    assert decoder.obtaining.needs() == Needs(ask=[fingerprint(missing), RUN_NAME])
    decoder.obtaining.fill(RUN_NAME, LISTED)
    decoder.obtaining.fill(fingerprint(missing), missing)
    assert advanced(decoder) == missing + b"".join(CHUNKS[1:4]) + LISTED


# -- when the sender uses them ---------------------------------------------------------------------------------


def opcodes(stream: Stream) -> list[int]:
    """Of what is on its way."""
    return [token[0] for data in stream.queue for token in dissect(memoryview(data)).tokens]


def test_what_is_stored_one_after_another_goes_as_a_run() -> None:
    near, far = known()
    stream = written(near, far)
    assert opcodes(stream) == [REFERENCE, RUN]
    assert stream.undecoded[0].references == len(near.store.names)
    assert near.store.pinned == 1
    stream.settle()
    assert (bytes(stream.received), stream.misses, stream.lists) == (DATA, 0, 0)
    assert near.store.pinned == 0


def test_a_run_ends_where_a_container_does() -> None:
    near, far = known(entries=5)
    stream = written(near, far)
    assert opcodes(stream)[:4] == [REFERENCE, RUN, REFERENCE, RUN]
    stream.settle()
    assert stream.lists == 0


def test_two_chunks_are_no_run() -> None:
    near, far = known(entries=2)
    assert RUN not in opcodes(written(near, far))


def test_a_run_ends_where_something_else_comes() -> None:
    near, far = known()
    stream = written(near, far, DATA[:20_000] + noise(5000, 9) + DATA[20_000:])
    assert opcodes(stream)[:3] == [REFERENCE, RUN, LITERAL]
    assert opcodes(stream)[-2:] == [REFERENCE, RUN]
    stream.settle()
    assert (stream.received, stream.lists) == (stream.sent, 0)


def test_a_slice_between_two_chunks_ends_a_run() -> None:
    near, far = known()
    stream = Stream(near, far)
    for at in range(0, len(DATA), 10_000):
        stream.write(DATA[at : at + 10_000])
        stream.pause()
    assert SLICE in opcodes(stream)
    stream.settle()
    assert (bytes(stream.received), stream.lists) == (DATA, 0)


def test_a_peer_that_knows_none_is_sent_none() -> None:
    near, far = known()
    stream = written(near, far, runs=False)
    assert set(opcodes(stream)) == {REFERENCE}
    assert not stream.undecoded[0].lists


def test_only_runs_on_their_way_may_be_missed_each_once_a_batch() -> None:
    near, far = known()
    stream = written(near, far)
    (name,) = stream.undecoded[0].lists
    listed = stream.encoder.underway.runs.listed(name)
    assert listed is not None
    assert fingerprint(listed) == name
    assert [stream.encoder.underway.missed(name) for _ in range(2)] == [True, False]
    assert all(stream.encoder.underway.missed(listed[at : at + 32]) for at in range(0, len(listed), 32))
    stream.encoder.underway.delivered(stream.undecoded[0])
    assert stream.encoder.underway.runs.listed(name) is None
    assert not stream.encoder.underway.missed(name)


def test_a_list_stays_until_the_last_batch_that_has_it_is_consumed() -> None:
    near, _ = known()
    encoder = encoder_of(near)
    batches = []
    for _ in range(2):
        brings(encoder, DATA)
        encoder.finish()
        taken = encoder.take()
        assert taken is not None
        batches.append(taken)
    (name,) = batches[0].lists.keys() & batches[1].lists.keys()
    encoder.underway.delivered(batches[0])
    assert encoder.underway.runs.listed(name) is not None
    encoder.underway.abandon(batches[1])
    assert encoder.underway.runs.listed(name) is None


def test_a_run_that_is_missed_ends_runs_for_a_while() -> None:
    near, far = out_of_order()
    stream = send(near, far, [DATA])
    assert (stream.misses, stream.lists) == (0, 1)
    assert RUN not in opcodes(written(near, far))
    near.now += PAUSE
    stream = written(near, far)
    assert opcodes(stream) == [REFERENCE, RUN]
    stream.settle()
    assert (bytes(stream.received), stream.misses, stream.lists) == (DATA, 0, 1)


def test_a_chunk_of_a_run_that_is_missed_ends_nothing() -> None:
    near, far = known()
    far.store.lose(far.store.names[3])
    stream = send(near, far, [DATA])
    assert (stream.misses, stream.lists) == (1, 0)
    assert opcodes(written(near, far)) == [REFERENCE, RUN]


def test_missed_runs_suspend_no_references() -> None:
    """A relay does not count them as missed references either: each costs a round trip and a list, and no chunk."""
    near, far = out_of_order()
    send(near, far, [DATA])
    stream = written(near, far)
    assert set(opcodes(stream)) == {REFERENCE}
    stream.settle()
    assert stream.misses == 0


def test_as_many_more_runs_as_were_found() -> None:
    now = 0.0
    order = Order(lambda: now)
    first = order.room
    order.send(first)
    assert order.room == 0
    order.end(first, found=True)
    assert order.room == 2 * first
    order.send(2 * first)
    order.miss()
    assert order.room == 0
    order.end(2 * first - 1, found=True)
    order.miss()
    order.end(1, found=False)
    assert order.room == 0
    now = PAUSE
    assert order.room == 1
    order.send(1)
    assert order.room == 0
    order.end(1, found=False)
    assert order.room == 1


def test_streams_share_what_is_known_of_the_peers_order() -> None:
    near, far = out_of_order()
    one, other = written(near, far), written(near, far)
    one.settle()
    assert one.lists == 1
    assert RUN in opcodes(other)
    assert RUN not in opcodes(written(near, far))


def test_in_the_real_store() -> None:
    """A run that goes on in the next container."""
    store = MemoryStore(16 << 20)
    chunks = [noise(150_000, seed) for seed in range(30)]
    names = [fingerprint(chunk) for chunk in chunks]
    far = Site(cast(ShelfStore, store), Holdings(store, b"the other's store"))
    hold(far, *chunks)
    place = store.find(names[26])
    assert place is not None
    assert (place[0], store.behind(place, 9)) == (1, [])
    token, _, _ = run_of(*names[26:28])
    assert delivered(decoder_of(far), batch(reference_token(names[25]), token, plain=450_000)) == b"".join(
        chunks[25:28]
    )
