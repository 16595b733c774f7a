"""The sending side: what is pinned and for how long, what may be missed, and how a stream ends."""

from unittest.mock import MagicMock

import pytest

from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from proxy.reduction.batch import BATCH_PLAIN_MAX, dissect, length_bound
from proxy.reduction.drafts import BATCH_TARGET
from proxy.reduction.encoder import READ_BYTES
from proxy.reduction.tokens import LEARN, LITERAL, MORE, REFERENCE, SLICE, learn_token
from tests.memory import tracing
from tests.unit.reduction.batches import delivered
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import (
    DATA,
    LENGTHS,
    SMALL_CHUNKS,
    Site,
    Stream,
    brings,
    cut_up,
    decoder_of,
    encoder_of,
    noise,
    opcodes,
    send,
    site,
    traced,
    two_sites,
    written,
)

# -- reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "given"), [(1, 1), (1000, 1000), (READ_BYTES, READ_BYTES), (1 << 30, READ_BYTES)])
def test_the_buffer_takes_no_more_than_asked_and_than_one_read(most: int, given: int) -> None:
    assert len(encoder_of(site(ShelfStore())).buffer(most)) == given


def test_a_silent_source_takes_no_room_but_that_of_what_came() -> None:
    near, far = two_sites()
    with tracing():
        stream = Stream(near, far, Chunker())
        least = traced()
        stream.write(DATA[:5000])
        stream.pause()
        stream.settle()
        stream.sent.clear()
        stream.received.clear()
        assert traced() > least + READ_BYTES
        stream.encoder.shrink()
        assert traced() < least + READ_BYTES // 4


def test_what_comes_after_a_silence_is_cut_as_if_there_had_been_none() -> None:
    near, far = two_sites()
    send(near, far, [DATA])
    stream = Stream(near, far)
    for at in range(0, len(DATA), 1500):
        stream.write(DATA[at : at + 1500])
        stream.pause()
        stream.encoder.shrink()
        stream.encoder.shrink()
    stream.finish()
    stream.settle()
    assert stream.received == DATA
    assert stream.literal < 100


def test_a_silence_before_the_flush_hides_no_border() -> None:
    """Which is looked for with one byte beyond the last."""
    border = LENGTHS[0] + LENGTHS[1]
    for end in range(LENGTHS[0] + 1, border + 3):
        heard, silent = (encoder_of(site(ShelfStore())) for _ in range(2))
        for encoder in (heard, silent):
            brings(encoder, DATA[:end])
        silent.shrink()
        heard.flush()
        silent.flush()
        told, expected = silent.take(), heard.take()
        assert told is not None
        assert expected is not None
        assert told.data == expected.data


@pytest.mark.parametrize("data", [bytes(3 << 20), noise(3 << 20)], ids=["longest chunks", "random"])
@pytest.mark.parametrize("warm", [False, True])
def test_batches_taken_at_the_target_are_legal(data: bytes, warm: bool) -> None:
    """Also with the longest chunks that there may be."""
    near, far = two_sites()
    chunker = Chunker(64 << 10, 128 << 10, 256 << 10)
    if warm:
        send(near, far, [data], chunker=chunker)
    stream = Stream(near, far, chunker)
    stream.write(data)
    stream.encoder.finish()
    stream.take()
    plain = [dissect(memoryview(batch)).plain for batch in stream.queue]
    assert sum(plain) == len(data)
    assert BATCH_TARGET <= max(plain) <= BATCH_PLAIN_MAX
    assert all(len(batch) <= length_bound(n) for batch, n in zip(stream.queue, plain, strict=True))


@pytest.mark.parametrize("grain", [1, 1000, 16 << 10])
def test_small_batches_for_a_slow_line(grain: int) -> None:
    """What is new goes in pieces of the grain; what is known stays as it is, and chunks are none the smaller."""
    near, far = two_sites()
    data = noise(200_000 if grain > 1 else 3000)
    cold = Stream(near, far, grain=grain)
    cold.write(data)
    cold.pause()
    sizes = [dissect(memoryview(batch)).plain for batch in cold.queue]
    assert max(sizes) <= grain
    assert len(sizes) >= len(data) // grain
    cold.end()
    warm = Stream(near, far, grain=grain)
    warm.write(data)
    warm.end()
    assert warm.literal == 0


def test_nothing_written_is_no_batch() -> None:
    encoder = encoder_of(site(ShelfStore()))
    encoder.flush()
    assert encoder.take() is None
    assert (encoder.drafts.plain, encoder.unsent, encoder.ending()[0]) == (0, 0, 0)


def test_what_has_arrived_is_in_a_batch_or_unsent() -> None:
    encoder = encoder_of(site(ShelfStore()))
    brings(encoder, DATA[:3000])
    assert encoder.unsent > 0
    assert encoder.drafts.plain + encoder.unsent == 3000
    encoder.flush()
    assert (encoder.drafts.plain, encoder.unsent) == (3000, 0)
    assert encoder.take()
    assert encoder.ending()[0] == 3000


# -- pins ------------------------------------------------------------------------------------------------------


def test_what_is_referred_to_stays_until_it_is_consumed(near: Site) -> None:
    encoder = encoder_of(near)
    first, second = written(encoder, DATA[:20_000]), written(encoder, DATA[20_000:])
    assert first.pinned
    assert second.pinned
    assert near.store.pinned == len(first.pinned) + len(second.pinned)
    encoder.underway.delivered(first)
    assert set(+near.store.pins) == second.pinned
    encoder.underway.delivered(second)
    assert near.store.pinned == 0


def test_an_abandoned_stream_pins_nothing(near: Site) -> None:
    encoder = encoder_of(near)
    batch = written(encoder, DATA[:20_000])
    brings(encoder, DATA[20_000:])
    assert near.store.pinned > len(batch.pinned)
    encoder.underway.abandon(batch)
    encoder.close()
    assert near.store.pinned == 0


def test_an_encoder_that_was_closed_has_no_room(near: Site) -> None:
    """Its relay is in a cycle and may wait for the collector; hundreds of short streams had 0.2 MiB each meanwhile."""
    encoder = encoder_of(near)
    with tracing():
        brings(encoder, DATA[:1000])
        assert traced() > READ_BYTES
        encoder.close()
        assert traced() < READ_BYTES // 8
    assert encoder.unsent == 0


@pytest.mark.parametrize("full", [False, True])
def test_a_batch_that_cannot_be_written_pins_nothing(
    near: Site, monkeypatch: pytest.MonkeyPatch, *, full: bool
) -> None:
    encoder = encoder_of(near)
    brings(encoder, DATA[:20_000])
    if full:
        encoder.drafts.seal()
    monkeypatch.setattr(encoder.compression, "encode", MagicMock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        encoder.take()
    assert near.store.pinned
    encoder.close()
    assert near.store.pinned == 0


def test_what_is_new_is_not_pinned() -> None:
    near = site(ShelfStore())
    assert written(encoder_of(near), DATA).learned
    assert near.store.pinned == 0


def test_an_expected_chunk_that_was_evicted_is_referred_to_no_more(near: Site) -> None:
    """The first pause slices it; it goes when that is consumed; after a few literal bytes the next one must not."""
    encoder = encoder_of(near)
    start = sum(LENGTHS[:2])
    first = written(encoder, DATA[: start + 70])
    assert opcodes(first)[-1] == SLICE
    encoder.underway.delivered(first)
    for name in near.store.names:
        near.store.move(name)
    second = written(encoder, DATA[start + 70 : start + 75])
    third = written(encoder, DATA[start + 75 : start + 145])
    assert opcodes(second) == opcodes(third) == [LITERAL]
    assert near.store.pinned == 0


def test_more_of_a_chunk_needs_it_no_longer(near: Site) -> None:
    """The peer has it at hand since the SLICE."""
    encoder = encoder_of(near)
    start = sum(LENGTHS[:2])
    assert opcodes(written(encoder, DATA[: start + 70]))[-1] == SLICE
    more = written(encoder, DATA[start + 70 : start + 140])
    assert (opcodes(more), more.references, more.named, more.pinned) == ([MORE], 0, set(), set())


# -- what the peer may miss ------------------------------------------------------------------------------------


def test_only_what_is_referred_to_may_be_missed(near: Site) -> None:
    encoder = encoder_of(near)
    name = near.store.names[0]
    assert not encoder.underway.missed(name)
    batch = written(encoder, DATA[:10_000])
    assert name in batch.named
    assert not encoder.underway.missed(bytes(32))
    assert encoder.underway.missed(name)
    assert not encoder.underway.missed(name)
    encoder.underway.delivered(batch)
    assert not encoder.underway.missed(name)


def test_what_was_not_taken_cannot_be_missed(near: Site) -> None:
    encoder = encoder_of(near)
    brings(encoder, DATA[:10_000])
    assert near.store.pinned
    assert not encoder.underway.missed(near.store.names[0])


def test_what_was_taught_cannot_be_missed() -> None:
    near = site(ShelfStore())
    encoder = encoder_of(near)
    written(encoder, DATA)
    assert not any(encoder.underway.missed(name) for name in near.store.names)


def test_another_stream_cannot_miss_it(near: Site) -> None:
    written(encoder_of(near), DATA[:10_000])
    assert not encoder_of(near).underway.missed(near.store.names[0])


def test_each_batch_may_miss_a_chunk_once(near: Site) -> None:
    """The peer may not have been able to store it, or have lost it again."""
    encoder = encoder_of(near)
    chunk = DATA[: LENGTHS[0]]
    name = fingerprint(chunk)
    batches = []
    for _ in range(3):
        brings(encoder, chunk + DATA[len(chunk) : len(chunk) + 1])
        encoder.finish()
        batch = encoder.take()
        assert batch is not None
        assert name in batch.named
        batches.append(batch)
    assert [encoder.underway.missed(name) for _ in range(4)] == [True, True, True, False]
    encoder.underway.delivered(batches[0])
    assert not encoder.underway.missed(name)


def test_a_missed_chunk_is_doubted_until_the_batch_is_consumed(near: Site) -> None:
    encoder = encoder_of(near)
    batch = written(encoder, DATA[:10_000])
    name = near.store.names[0]
    place = near.store.find(name)
    assert place is not None
    assert encoder.underway.missed(name)
    assert not near.holdings.holds(place)
    assert LITERAL in opcodes(written(encoder_of(near), DATA[:10_000]))
    encoder.underway.delivered(batch)
    assert near.holdings.holds(place)


# -- what it refers to -----------------------------------------------------------------------------------------


def test_nothing_is_referred_to_while_references_are_suspended(near: Site) -> None:
    near.holdings.reliability.missed(100, now=0)
    assert set(opcodes(written(encoder_of(near), DATA))) == {LITERAL, LEARN}
    near.holdings.reliability.tick(30)
    assert opcodes(written(encoder_of(near), DATA))[0] == REFERENCE


def test_no_slice_of_what_the_peer_has_lost(near: Site) -> None:
    start = sum(LENGTHS[:2])
    lost = near.store.find(near.store.names[2])
    assert lost is not None
    near.holdings.doubt(lost)
    assert opcodes(written(encoder_of(near), DATA[: start + 100])) == [REFERENCE, REFERENCE, LITERAL]


def test_what_was_just_taught_is_referred_to_on_the_same_stream() -> None:
    near, far = two_sites()
    stream = Stream(near, far)
    stream.write(DATA)
    stream.write(DATA)
    assert not stream.unconfirmed
    stream.end()
    assert stream.literal < 1.2 * len(DATA)
    assert stream.misses == 0


def test_what_was_just_taught_is_not_referred_to_on_another_stream() -> None:
    """It might overtake."""
    near = site(ShelfStore())
    written(encoder_of(near), DATA)
    assert REFERENCE not in opcodes(written(encoder_of(near), DATA))


def test_what_was_to_be_taught_is_no_longer_shared_when_the_stream_is_over() -> None:
    near = site(ShelfStore())
    encoder = encoder_of(near)
    batch = written(encoder, DATA)
    place = batch.learned[0][1]
    assert near.holdings.shares(place)
    encoder.underway.abandon(batch)
    assert not near.holdings.shares(place)


def test_one_peers_chunks_are_not_referred_to_for_another(near: Site) -> None:
    other = site(near.store, b"a second peer's store")
    assert set(opcodes(written(encoder_of(other), DATA))) == {LITERAL, LEARN}


def test_a_container_that_must_be_loaded_is_wanted_once(near: Site) -> None:
    near.store.cold = True
    encoder = encoder_of(near)
    start = sum(LENGTHS[:2])
    assert opcodes(written(encoder, DATA[: start + 100]))[-1] == LITERAL
    wanted = encoder.course.take_wanted()
    assert wanted is not None
    assert opcodes(written(encoder, DATA[start + 100 : start + 200])) == [LITERAL]
    assert encoder.course.take_wanted() is None
    near.store.load(wanted)
    assert opcodes(written(encoder, DATA[start + 200 : start + 300])) == [SLICE]


def test_a_rotten_chunk_is_not_expected(near: Site) -> None:
    near.store.rot(near.store.names[2])
    start = sum(LENGTHS[:2])
    assert opcodes(written(encoder_of(near), DATA[: start + 100])) == [REFERENCE, REFERENCE, LITERAL]


# -- pauses and ends -------------------------------------------------------------------------------------------


def test_a_pause_at_the_end_of_an_expected_chunk_is_no_border() -> None:
    """The last chunk of a stream ends where the stream did; another one may go on there."""
    near, far = two_sites()
    send(near, far, [DATA[:10_000]])
    stream = Stream(near, far)
    stream.write(DATA[:10_000])
    stream.encoder.flush()
    batch = stream.encoder.take()
    assert batch is not None
    assert opcodes(batch)[-2:] == [SLICE, LITERAL]
    assert dissect(memoryview(batch.data)).literal_length == 1
    stream.encoder.underway.abandon(batch)
    again = send(near, far, [DATA[:10_000], DATA[10_000:]], pauses=True)
    assert again.received == DATA


@pytest.mark.parametrize("pause", [False, True])
def test_the_end_teaches_the_last_chunk(pause: bool) -> None:
    """In the last batch, or in END if every byte of it is on its way already."""
    near = site(ShelfStore())
    encoder = encoder_of(near)
    brings(encoder, DATA[:100])
    if pause:
        encoder.flush()
        assert encoder.take() is not None
    encoder.finish()
    batch = encoder.take()
    mark = learn_token(100, fingerprint(DATA[:100]))
    assert (batch is None) == pause
    assert encoder.ending() == (100, mark if pause else b"")
    assert near.store.names == [fingerprint(DATA[:100])]


def test_what_the_end_taught_is_believed() -> None:
    near, far = two_sites()
    send(near, far, [DATA[:100]], pauses=True)
    assert send(near, far, [DATA[:100]]).literal == 0


def test_an_empty_stream_ends_with_nothing() -> None:
    encoder = encoder_of(site(ShelfStore()))
    encoder.finish()
    assert encoder.take() is None
    assert encoder.ending() == (0, b"")


def test_a_pause_before_the_end_changes_no_border() -> None:
    """FastCDC does not look at the last of an odd number of bytes; a border before it is found all the same."""
    even = next(at for at, length in enumerate(LENGTHS) if length % 2 == 0)
    data = DATA[: sum(LENGTHS[: even + 1]) + 1]
    stores = []
    for pauses in (False, True):
        near, far = two_sites()
        send(near, far, [data], pauses=pauses)
        stores.append(near.store.names)
    assert stores[0] == stores[1]
    assert stores[0][-1] == fingerprint(data[-1:])


def test_what_lies_behind_the_data_makes_no_border() -> None:
    """To see a border before the last of an odd number of bytes one more is looked at, whatever it is."""
    odd = next(at for at, length in enumerate(LENGTHS) if length % 2)
    start = sum(LENGTHS[:odd])
    end = start + LENGTHS[odd]
    near = site(ShelfStore())
    encoder = encoder_of(near)
    encoder.buffer(end + 1)[:] = DATA[: end + 1]
    encoder.received(end)
    encoder.flush()
    assert len(near.store.names) == odd
    brings(encoder, DATA[end : end + 1])
    encoder.flush()
    assert len(near.store.names) == odd + 1


def test_after_a_surprise_it_expects_again() -> None:
    """One chunk of the second pass has changed: that and the next cost literals, the rest none."""
    near, far = two_sites()
    send(near, far, [DATA])
    at = sum(LENGTHS[:4]) + 100
    changed = DATA[:at] + bytes(50) + DATA[at + 50 :]
    again = send(near, far, cut_up(changed, [200] * 300), pauses=True)
    assert again.literal < LENGTHS[0] + 3 * SMALL_CHUNKS.maximum
    assert again.literal < len(DATA) / 4


def test_nothing_is_learned_where_the_store_has_no_room() -> None:
    near, far = site(ShelfStore()), site(ShelfStore())
    near.store.refusing = True
    batch = written(encoder_of(near), DATA)
    assert batch.learned == []
    assert delivered(decoder_of(far), memoryview(batch.data)) == DATA
    assert far.store.names
