"""What batches behind one that has to ask lack is asked for with it: so a round trip does for many of them."""

from unittest.mock import Mock, call

import pytest

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import fingerprint
from proxy.reduction.ahead import ALL_MAX, BYTES_MAX, NAMES_MAX, AheadMemory
from proxy.reduction.batch import BATCH_PLAIN_MAX
from proxy.reduction.decoder import Decoder
from proxy.reduction.errors import BatchError
from proxy.reduction.tokens import learn_token, reference_token, run_token, slice_token
from tests.unit.reduction.batches import CHUNK, NAME, OTHER, OTHER_NAME, WHOLE, batch, hold, literal
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import Site, Stream, decoder_of, noise, site, two_sites


def asked(decoder: Decoder) -> list[bytes]:
    needs = decoder.obtaining.needs()
    return [] if needs is None else needs.ask


def named(chunk: bytes) -> memoryview:
    """A batch that is that chunk."""
    return batch(reference_token(fingerprint(chunk)), plain=len(chunk))


def waiting(*chunks: bytes, far: Site | None = None) -> tuple[Decoder, list[bytes]]:
    """A batch for each has come, and the first one has to ask: for what?"""
    decoder = decoder_of(far or site(ShelfStore()))
    for chunk in chunks:
        decoder.keep(named(chunk))
    assert decoder.advance() is None
    return decoder, asked(decoder)


def test_one_round_trip_does_for_all_that_have_come() -> None:
    """Here and there the far store lacks a chunk: each would have cost one of its own."""
    near, far = two_sites()
    said = noise(1 << 20, 5)
    first = Stream(near, far)
    first.write(said)
    first.end()
    for name in far.store.names[::30]:
        far.store.lose(name)
    stream = Stream(near, far, grain=1 << 14)
    for at in range(0, len(said), 1 << 14):
        stream.write(said[at : at + (1 << 14)])
        stream.pause()
    batches, round_trips = len(stream.queue), 0
    stream.hold(True)
    while stream.queue:
        stream.carry()
    stream.hold(False)
    while stream.asked:
        round_trips += 1
        for _ in range(len(stream.asked)):
            stream.answer()
    assert stream.misses > 30
    assert batches > 60
    assert round_trips < 5
    stream.end()


def test_what_is_held_or_taught_before_is_not_asked_for() -> None:
    far = site(ShelfStore())
    hold(far, CHUNK)
    decoder = decoder_of(far)
    lost, taught = noise(700, 3), noise(800, 4)
    decoder.keep(named(OTHER))
    decoder.keep(batch(literal(taught), learn_token(800, fingerprint(taught)), literals=taught))
    for chunk in (CHUNK, taught, lost, OTHER, lost):
        decoder.keep(named(chunk))
    assert decoder.advance() is None
    assert asked(decoder) == [OTHER_NAME, fingerprint(lost)]
    decoder.obtaining.fill(OTHER_NAME, OTHER)
    assert decoder.advance() is None, "all that was asked for has to come first"
    decoder.obtaining.fill(fingerprint(lost), lost)
    decoded = [decoder.advance() for _ in range(8)]
    assert [each and each.data for each in decoded] == [OTHER, taught, CHUNK, taught, lost, OTHER, lost, None]


def test_it_is_kept_for_its_batch_if_the_store_refuses_it() -> None:
    """The peer may be asked for it but once a batch."""
    far = site(ShelfStore())
    far.store.refusing = True
    decoder, names = waiting(CHUNK, OTHER, CHUNK, far=far)
    assert names == [NAME, OTHER_NAME]
    for chunk in (CHUNK, OTHER):
        decoder.obtaining.fill(fingerprint(chunk), chunk)
    decoded = [decoder.advance() for _ in range(3)]
    assert [each and each.data for each in decoded] == [CHUNK, OTHER, None]
    assert asked(decoder) == [NAME], "of the third batch, which it was not asked for"
    decoder.keep(batch(WHOLE, plain=1000))
    decoder.obtaining.fill(NAME, CHUNK)
    assert decoder.advance() is not None
    assert decoder.advance() is None
    assert asked(decoder) == [NAME], "nothing is kept longer"


def test_it_is_kept_for_the_last_batch_though_one_before_it_asks_again() -> None:
    """What that one lacks may belong to the next batch, long before the last one."""
    far = site(ShelfStore())
    gone = [noise(700, seed) for seed in (3, 4)]
    hold(far, *gone)
    far.store.refusing = True
    decoder = decoder_of(far)
    for chunk in (CHUNK, *gone):
        decoder.keep(named(chunk))
    decoder.keep(batch(literal(b"x"), literals=b"x"))
    decoder.keep(named(OTHER))
    assert decoder.advance() is None
    assert asked(decoder) == [NAME, OTHER_NAME]
    for chunk in gone:
        far.store.lose(fingerprint(chunk))
    for chunk in (CHUNK, OTHER):
        decoder.obtaining.fill(fingerprint(chunk), chunk)
    assert [decoded and decoded.data for decoded in (decoder.advance(), decoder.advance())] == [CHUNK, None]
    assert asked(decoder) == [fingerprint(chunk) for chunk in gone]
    for chunk in gone:
        decoder.obtaining.fill(fingerprint(chunk), chunk)
    decoded = [decoder.advance() for _ in range(4)]
    assert [each and each.data for each in decoded] == [*gone, b"x", OTHER]


def test_nothing_is_kept_once_the_last_of_these_batches_is_decoded() -> None:
    far, memory = site(ShelfStore()), AheadMemory()
    far.store.refusing = True
    decoder = decoder_of(far, ahead=memory)
    for _ in range(2):
        for chunk in (CHUNK, OTHER):
            decoder.keep(named(chunk))
        assert decoder.advance() is None
        assert asked(decoder) == [NAME, OTHER_NAME]
        for chunk in (CHUNK, OTHER):
            decoder.obtaining.fill(fingerprint(chunk), chunk)
        decoded = [decoder.advance() for _ in range(2)]
        assert [each and each.data for each in decoded] == [CHUNK, OTHER]
    assert memory.take(ALL_MAX), "others may have all of it"


def test_a_list_that_is_longer_than_what_its_chunks_deliver_may_come() -> None:
    """Of chunks of a few bytes it is: whoever answered would have broken the protocol."""
    first, *rest = [noise(10, seed) for seed in range(4)]
    listed = b"".join(map(fingerprint, rest))
    far = site(ShelfStore())
    decoder = decoder_of(far)
    decoder.keep(named(CHUNK))
    decoder.keep(batch(reference_token(fingerprint(first)), run_token(3, fingerprint(listed)), plain=40))
    assert decoder.advance() is None
    assert asked(decoder) == [NAME, fingerprint(first), fingerprint(listed)]
    for data in (CHUNK, first, listed):
        decoder.obtaining.fill(fingerprint(data), data)
    assert far.store.find(fingerprint(listed)) is None, "it is no chunk"
    assert decoder.advance() is not None
    assert decoder.advance() is None
    assert asked(decoder) == [fingerprint(chunk) for chunk in rest]


def run_of(*chunks: bytes) -> bytes:
    """The first of them, and the others as a run."""
    first, *rest = map(fingerprint, chunks)
    return reference_token(first) + run_token(len(rest), fingerprint(b"".join(rest)))


@pytest.mark.parametrize("silent", [False, True])
def test_what_the_runs_lack_that_the_store_knows_is_asked_for(silent: bool) -> None:
    """Most of what is known comes as runs, of which the store knows what they stand for, though it lacks some of it."""
    far = site(ShelfStore(entries=100))
    chunks = [noise(100, seed) for seed in range(12)]
    hold(far, *chunks)
    decoder = decoder_of(far)
    for first in range(0, 12, 4):
        decoder.keep(batch(run_of(*chunks[first : first + 4]), plain=400))
    lost = [fingerprint(chunks[at]) for at in (2, 5, 6, 11)]
    for name in lost:
        far.store.lose(name)
    far.silent = silent
    assert decoder.advance() is None
    assert asked(decoder) == lost
    for at in (2, 5, 6, 11):
        decoder.obtaining.fill(fingerprint(chunks[at]), chunks[at])
    decoded = [decoder.advance() for _ in range(3)]
    assert b"".join(each.data for each in decoded if each) == b"".join(chunks)


def test_a_list_that_has_come_is_not_asked_for_again_whatever_it_is() -> None:
    """The peer may be asked for it but once a batch: that it is wrong is found when it is its turn."""
    far = site(ShelfStore(entries=100))
    chunks = [noise(100, seed) for seed in range(3)]
    hold(far, *chunks)
    wrong = bytes(33)
    decoder = decoder_of(far)
    decoder.keep(named(CHUNK))
    decoder.keep(batch(run_of(*chunks), plain=300))
    decoder.keep(batch(reference_token(OTHER_NAME), run_token(2, fingerprint(wrong)), plain=700))
    assert decoder.advance() is None
    assert asked(decoder) == [NAME, OTHER_NAME, fingerprint(wrong)]
    for data in (CHUNK, OTHER, wrong):
        decoder.obtaining.fill(fingerprint(data), data)
    far.store.move(fingerprint(chunks[0]))
    hold(far, chunks[0])
    assert [decoder.advance() is None for _ in range(2)] == [False, True]
    assert asked(decoder) == [], "first it is looked for on disk"
    assert decoder.advance() is None
    assert asked(decoder) == [fingerprint(b"".join(map(fingerprint, chunks[1:])))]


def test_no_more_is_asked_for_than_a_sender_answers_at_once() -> None:
    chunks = [noise(100, seed) for seed in range(NAMES_MAX + 20)]
    _, names = waiting(*chunks)
    assert names == [fingerprint(chunk) for chunk in chunks[: NAMES_MAX + 1]]


def test_no_more_is_asked_for_than_a_frame_holds() -> None:
    decoder = decoder_of(site(ShelfStore()))
    decoder.keep(batch(*(reference_token(at.to_bytes(32)) for at in range(1020)), plain=BATCH_PLAIN_MAX))
    for seed in range(8):
        decoder.keep(named(noise(100, seed)))
    assert decoder.advance() is None
    assert len(asked(decoder)) == 1024


def test_no_more_is_asked_for_than_may_be_kept() -> None:
    chunks = [noise(LARGEST_CHUNK, seed) for seed in range(20)]
    _, names = waiting(*chunks)
    assert len(names) == 1 + BYTES_MAX // LARGEST_CHUNK


def test_of_what_is_sliced_a_whole_chunk_may_come() -> None:
    decoder = decoder_of(site(ShelfStore()))
    for at in range(40):
        decoder.keep(batch(slice_token(bytes((at,)) * 32, 0, 1), plain=1))
    assert decoder.advance() is None
    assert len(asked(decoder)) == 1 + BYTES_MAX // LARGEST_CHUNK


def test_who_fills_more_than_the_batches_deliver_breaks_the_protocol() -> None:
    """Or a few bytes would have us keep megabytes."""
    long = [noise(LARGEST_CHUNK, seed) for seed in range(3)]
    decoder = decoder_of(site(ShelfStore()))
    for chunk in long:
        decoder.keep(batch(reference_token(fingerprint(chunk)), plain=LARGEST_CHUNK // 2))
    assert decoder.advance() is None
    assert len(asked(decoder)) == len(long)
    for chunk in long[:2]:
        decoder.obtaining.fill(fingerprint(chunk), chunk)
    with pytest.raises(BatchError, match="longer than these"):
        decoder.obtaining.fill(fingerprint(long[2]), long[2])


def test_all_streams_of_a_tunnel_share_what_may_be_kept() -> None:
    """A stream that has decoded the batch that asked keeps what is for others, and has let other streams ask."""
    memory, streams = AheadMemory(), ALL_MAX // BYTES_MAX + 2
    decoders = []
    for nth in range(streams):
        decoder = decoder_of(site(ShelfStore()), ahead=memory)
        for at in range(40):
            decoder.keep(batch(slice_token(bytes((nth, at)) * 16, 0, 1), plain=1))
        assert decoder.advance() is None
        decoders.append(decoder)
    assert [len(asked(decoder)) for decoder in decoders] == [17] * (streams - 2) + [1, 1]
    decoders[0].close()
    last = decoder_of(site(ShelfStore()), ahead=memory)
    for chunk in (CHUNK, OTHER):
        last.keep(named(chunk))
    assert last.advance() is None
    assert asked(last) == [NAME, OTHER_NAME]


def test_what_is_no_batch_is_told_of_in_its_turn() -> None:
    decoder = decoder_of(site(ShelfStore()))
    for data in (named(CHUNK), memoryview(b"short"), named(OTHER)):
        decoder.keep(data)
    assert decoder.advance() is None
    assert asked(decoder) == [NAME]
    decoder.obtaining.fill(NAME, CHUNK)
    assert decoder.advance() is not None
    with pytest.raises(BatchError, match="has no header"):
        decoder.advance()


def test_looking_at_them_takes_little() -> None:
    """Tens of kilobytes of tokens may stand behind each batch."""
    decoder = decoder_of(site(ShelfStore()))
    decoder.keep(named(CHUNK))
    ones = b"\x01\x01" * 20_000
    decoder.keep(batch(ones, reference_token(OTHER_NAME), literals=bytes(20_000), plain=BATCH_PLAIN_MAX))
    assert decoder.advance() is None
    assert asked(decoder) == [NAME]


def test_looking_at_what_runs_stand_for_takes_little_either() -> None:
    """A run of a hundred chunks is 34 bytes: of 40 of them the first nineteen are looked at."""
    far = site(ShelfStore(entries=4000))
    chunks = [noise(10, seed) for seed in range(4000)]
    hold(far, *chunks)
    decoder = decoder_of(far)
    decoder.keep(named(CHUNK))
    for first in range(0, 4000, 100):
        decoder.keep(batch(run_of(*chunks[first : first + 100]), plain=1 << 15))
    lost = [fingerprint(chunks[at]) for at in (50, 1899, 1999, 3999)]
    for name in lost:
        far.store.lose(name)
    assert decoder.advance() is None
    assert asked(decoder) == [NAME, *lost[:2]]


def test_looking_at_lists_takes_little_either() -> None:
    """A run of 2,048 chunks is 34 bytes, and its list may be at hand: so hundreds of them took a second, each time."""
    far = site(ShelfStore())
    small, taught = noise(255, 3), b"z"
    hold(far, small)
    listed = fingerprint(small) * 2048
    run = run_token(2048, fingerprint(listed))
    late = fingerprint(taught)[:8] + bytes(24)  # it looks as if it were taught, so it is asked for in its turn only
    decoder = decoder_of(far)
    teaching = literal(taught) + learn_token(1, fingerprint(taught))
    present = WHOLE + run + reference_token(late) + teaching
    decoder.keep(batch(present, literals=taught, plain=BATCH_PLAIN_MAX))
    for _ in range(200):
        decoder.keep(batch(reference_token(fingerprint(small)), run, plain=BATCH_PLAIN_MAX))
    assert decoder.advance() is None
    assert asked(decoder) == [NAME, fingerprint(listed)]
    decoder.obtaining.fill(NAME, CHUNK)
    decoder.obtaining.fill(fingerprint(listed), listed)
    before = far.store.finds
    assert decoder.advance() is None
    assert asked(decoder) == [late]
    assert far.store.finds - before < 10_000


def test_what_is_named_often_is_read_once_while_the_disk_does_not_answer() -> None:
    """A SLICE is 37 bytes and may name 256 KiB, which are verified: hundreds took a fifth of a second, each time."""
    far = site(ShelfStore())
    hold(far, CHUNK)
    far.silent = True
    decoder = decoder_of(far)
    decoder.keep(named(OTHER))
    for _ in range(100):
        decoder.keep(batch(*[slice_token(NAME, at, 1) for at in range(8)], plain=2000))
    with pytest.MonkeyPatch.context() as patch:
        read = Mock(return_value=CHUNK)
        patch.setattr(far.store, "read", read)
        assert decoder.advance() is None
    assert asked(decoder) == [OTHER_NAME]
    assert read.call_args_list == [call(NAME)]
