"""What is sent while the peer's store has enough to read: chunks go as if it did not hold them, and arrive."""

from itertools import accumulate

from proxy.reduction.tokens import LEARN, LITERAL
from tests.unit.reduction.sites import (
    DATA,
    LENGTHS,
    Site,
    Stream,
    encoder_of,
    opcodes,
    send,
    two_sites,
    written,
)

HALF = next(end for end in accumulate(LENGTHS) if end > len(DATA) // 2 and end % 2 == 0)
"""Where a chunk ends, and a pause finds that it does (`Encoder._cut`)."""


def test_no_more_is_referred_to_than_a_slow_store_gives(near: Site) -> None:
    """What comes beside goes as if the peer did not hold it, until it has consumed some of what was referred to."""
    near.relief.told(1)
    encoder = encoder_of(near)
    first, second = written(encoder, DATA[:HALF]), written(encoder, DATA[HALF:])
    assert first.known == HALF - 1, "that there is a border is known when more comes"
    assert set(opcodes(second)) == {LITERAL, LEARN}
    assert second.literal == len(DATA) - HALF
    assert encoder.underway.relieved == second.literal - LENGTHS[-1], "nobody knows yet whether that is a chunk"
    encoder.underway.delivered(first)
    third = written(encoder, DATA)
    assert third.known > HALF
    for batch in (second, third):
        encoder.underway.delivered(batch)
    assert near.relief.idle


def test_no_part_of_a_chunk_goes_as_a_slice_while_a_slow_store_has_enough_to_do(near: Site) -> None:
    near.relief.told(1)
    encoder = encoder_of(near)
    written(encoder, DATA[:HALF])
    assert opcodes(written(encoder, DATA[HALF : HALF + 300])) == [LEARN, LITERAL]


def test_what_never_arrives_is_under_way_no_more(near: Site) -> None:
    encoder = encoder_of(near)
    batch = written(encoder, DATA)
    assert not near.relief.idle
    encoder.underway.abandon(batch)
    assert near.relief.idle


def test_what_goes_literally_is_no_news_to_the_stores() -> None:
    near, far = two_sites()
    send(near, far, [DATA])
    before = near.store.names, far.store.names
    near.relief.told(1)
    stream = Stream(near, far)
    for at in range(0, len(DATA), 5000):
        stream.write(DATA[at : at + 5000])
        stream.pause()
    stream.finish()
    while stream.queue:
        stream.carry()
    assert stream.received == DATA
    assert 0 < stream.encoder.underway.relieved <= stream.literal
    assert (near.store.names, far.store.names) == before
