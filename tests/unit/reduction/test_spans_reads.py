"""Reads of iSCSI streams: how far they go, and that what comes otherwise than expected still makes legal batches."""

import pytest

from dedupstore.chunker import Chunker
from proxy.reduction.batch import RECORDS_MAX, dissect
from proxy.reduction.span_encoder import LOOK_BYTES
from tests.memory import tracing
from tests.unit.iscsi.pdus import command, data_out, pdu, write_10
from tests.unit.reduction.sites import noise, two_sites
from tests.unit.reduction.span_sites import Talk

KIB = 1 << 10
VOLUME = noise(1 << 20, 9)


def test_long_pdus_are_read_to_the_next_header() -> None:
    talk = Talk(*two_sites(), Chunker())
    talk.log_in()
    encoder = talk.out.encoder
    assert len(encoder.buffer(1 << 20)) == LOOK_BYTES
    talk.out.say(command(1, write_10(0, 512)) + data_out(1, VOLUME[: 100 * KIB])[:1048])
    first = len(encoder.buffer(1 << 20))
    assert first == 100 * KIB - 1000 + 48 - LOOK_BYTES
    talk.out.say(VOLUME[1000 : 1000 + first])
    assert len(encoder.buffer(1 << 20)) == LOOK_BYTES
    assert len(encoder.buffer(100)) == 100


@pytest.mark.parametrize("come", [48, 1000, 8 * KIB + 20])
def test_short_pdus_are_read_many_at_once(come: int) -> None:
    """Wherever the last read ended, also within one."""
    talk = Talk(*two_sites(), Chunker())
    talk.log_in()
    short = data_out(1, VOLUME[: 8 * KIB])
    talk.out.say(command(1, write_10(0, 512)) + 4 * short + (2 * short)[:come])
    assert len(talk.out.encoder.buffer(1 << 20)) == LOOK_BYTES


def test_two_long_pdus_are_read_at_once() -> None:
    """From where the first has been announced; what has come goes out when the source pauses."""
    talk = Talk(*two_sites(), Chunker())
    talk.log_in()
    encoder = talk.out.encoder
    one = data_out(1, VOLUME[: 64 * KIB])
    talk.out.say(command(1, write_10(0, 512)) + one + one[:48])
    assert len(encoder.buffer(1 << 20)) == 2 * len(one)
    talk.out.write(one[48:1048])
    assert encoder.unsent == 1000
    assert len(encoder.buffer(1 << 20)) == 2 * len(one) - 1000
    talk.out.pause()
    talk.out.settle()
    assert talk.out.received == talk.out.sent
    assert len(encoder.buffer(1 << 20)) == 2 * len(one) - 1000


@pytest.mark.parametrize("unit", [pdu(0x40), data_out(9, b"d"), pdu(0x40, data=noise(1000))])
def test_what_comes_where_long_pdus_were_expected_takes_legal_batches(unit: bytes) -> None:
    """Much is read at once there, and all of it may be records."""
    talk = Talk(*two_sites(), Chunker())
    talk.log_in()
    for carried in range(0, 40 * KIB, 8 * KIB):  # what has come before and is not yet enough for a batch
        long = data_out(1, VOLUME[: 64 * KIB])
        talk.out.say(command(1, write_10(0, 512)) + long)
        talk.out.write(unit * (carried // len(unit)) + 2 * long + unit * (3 * RECORDS_MAX // len(unit)))
        talk.out.pause()
        talk.out.settle()
    batches = [dissect(memoryview(batch.data)) for batch in talk.out.batches]
    assert max(batch.section.records for batch in batches) <= RECORDS_MAX
    talk.end()


def test_a_silent_source_takes_no_room_but_that_of_what_came() -> None:
    """Neither where PDUs are looked at nor where their payload waits for a border; of a PDU that is not whole nothing
    is lost."""
    with tracing() as taken:
        talk = Talk(*two_sites(), Chunker())
        talk.log_in()
        one = data_out(1, VOLUME[: 8 * KIB])
        talk.out.say(command(1, write_10(0, 32)) + one + one[:100])
        taken.look()
        before = taken.kept
        talk.out.encoder.shrink()
    assert before - taken.kept > 2 * LOOK_BYTES + 128 * KIB
    talk.out.say(one[100:])
    assert talk.out.received == talk.out.sent
