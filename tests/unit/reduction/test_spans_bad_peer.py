"""Sections, records and payload that no SpanEncoder sends are refused before they cost memory."""

from typing import cast

import pytest

from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import BASIC_BYTES, Opcode, Sender
from proxy.iscsi.prediction import Predictor
from proxy.iscsi.record import DATA_DIGEST, PAYLOAD, PLAIN, TAIL
from proxy.reduction.batch import CODEC_NONE, CODEC_ZSTD, RECORDS_MAX, Section, assemble
from proxy.reduction.compression import zstd
from proxy.reduction.decoder import Decoder
from proxy.reduction.errors import BatchError
from proxy.reduction.span_decoder import SpanDecoder
from proxy.reduction.tokens import learn_token, literal_token, more_token, slice_token
from tests.memory import tracing
from tests.unit.iscsi.pdus import NEXT_FULL_FEATURE, data_out, login, login_answer, pdu
from tests.unit.iscsi.sites import Cut
from tests.unit.reduction.batches import delivered
from tests.unit.reduction.shelf import ShelfStore
from tests.unit.reduction.sites import decoder_of, site
from tests.unit.reduction.span_sites import span_decoder

LOGIN = pdu(Opcode.LOGIN_REQUEST | 0x40, NEXT_FULL_FEATURE)
NOP = pdu(Opcode.NOP_OUT | 0x40, tag=1)
OUT = data_out(1, b"payload!")


def new(*headers: bytes, flags: int = 0) -> bytes:
    """What stands for those headers: a new difference each, all words given. Only the first of an opcode is right."""
    return b"".join(bytes((0x90 | flags, header[0])) + b"\x0f\xff" + words(header) for header in headers)


def words(header: bytes) -> bytes:
    whole = b"\0" + header[1:BASIC_BYTES]
    return b"".join(b"\x0f" + whole[at : at + 4] for at in range(0, BASIC_BYTES, 4))


def batch(section: bytes, records: int, payload: bytes = b"", codec: int = CODEC_NONE, length: int = 0) -> memoryview:
    coded = Section(records, codec, length or len(section), section)
    tokens = literal_token(len(payload)) if payload else b""
    return memoryview(assemble(len(payload), CODEC_NONE, tokens, len(payload), [payload], coded))


def far() -> SpanDecoder:
    return span_decoder(site(ShelfStore()))


def begun() -> SpanDecoder:
    """A direction that has begun with a login."""
    decoder = far()
    assert delivered(decoder, batch(new(LOGIN), 49)) == LOGIN
    return decoder


def test_batches_made_by_hand() -> None:
    """So that each of those below is refused for its own reason."""
    decoder = begun()
    assert delivered(decoder, batch(new(OUT, flags=PAYLOAD), 49, b"pay")) == OUT[:51]
    assert delivered(decoder, batch(new(NOP), 49, b"load!")) == OUT[51:] + NOP
    assert decoder.total == 3 * 49 + 8


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (batch(new(NOP) + b"\x01", 49), "more than 49 bytes of records"),
        (batch(new(NOP), 50), "of another length than"),
        (batch(new(NOP)[:-1], 49), "ends within a record"),
        (batch(b"\x05", 49), "place 5 is empty"),
        (batch(b"\xa0" + bytes(60), 49), "no record has the flags"),
        (batch(new(NOP), 49, b"payload"), "payload that no record announces"),
        (batch(new(OUT, flags=PAYLOAD) + new(NOP), 98, b"pay"), "come before the payload before them"),
        (batch(new(OUT, flags=PAYLOAD) + bytes((PLAIN,)), 50, b"pay"), "come before the payload before them"),
        (batch(new(OUT, flags=PAYLOAD), 49, b"payload!payload!"), "payload that no record announces"),
        (batch(new(OUT, flags=PAYLOAD | DATA_DIGEST) + new(NOP), 98, b"payload!"), "tail"),
        (batch(bytes((TAIL,)), 1), "tail"),
        (batch(bytes((PLAIN,)) + new(NOP), 50), "after the last one"),
        (batch(new(NOP), 49, codec=CODEC_ZSTD), "cannot be decoded"),
        (batch(new(NOP), 49, codec=2), "unknown codec"),
        (batch(new(NOP), 49, codec=14), "unknown codec"),
        (batch(zstd(1)(new(NOP)), 49, codec=CODEC_ZSTD, length=53), "zstd frame declares"),
        (batch(zstd(1)(bytes(1 << 20)), 49, codec=CODEC_ZSTD, length=1 << 20), "stand for 49 bytes"),
        (batch(zstd(1)(bytes(98)), 49, codec=CODEC_ZSTD, length=98), "more than 49 bytes of records"),
        (batch(new(NOP), 49, length=99), "stand for 49 bytes"),
        (batch(new(NOP), 49, length=51), "literal bytes where 51 are declared"),
        (memoryview(bytes.fromhex("00000031 10 000000 00000000 31 34")), "varint cut short"),
        (memoryview(bytes.fromhex("00000031 10 000000 00000000 31 34 05 90")), "a section of 5 bytes"),
        (memoryview(bytes.fromhex("00000031 10 000000 00000000 31 34 00")), "a section of 0 bytes"),
        (memoryview(bytes.fromhex("00000031 10 000000 00000000 32 34 01 90")), "50 bytes of records in a batch of 49"),
        (memoryview(bytes.fromhex("00000031 10 000000 00000000 00 34 01 90")), "0 bytes of records"),
        (batch(new(NOP), RECORDS_MAX + 1), "131073 bytes of records in a batch"),
        (memoryview(bytes.fromhex("00000031 10 0000ff 00000000 31 01 01 90")), "tokens of 255 bytes are too long"),
    ],
)
def test_what_is_refused(data: memoryview, reason: str) -> None:
    decoder = begun()
    with pytest.raises(BatchError, match=reason):
        decoder.feed(data)


def test_records_where_a_direction_began_without() -> None:
    decoder = far()
    assert decoder.feed(memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, [b"abc"]))) is not None
    with pytest.raises(BatchError, match="began without them"):
        decoder.feed(batch(new(LOGIN), 49))


def test_records_of_an_acceptor_whose_opener_has_sent_none() -> None:
    """Not even a Login Request of its own begins the connection; once ours has begun it, records are legal."""
    for first in (LOGIN, login_answer()):
        connection = Connection()
        opener = span_decoder(site(ShelfStore()), connection, Sender.TARGET)
        with pytest.raises(BatchError, match="the opener has sent none"):
            opener.feed(batch(Predictor().predict(b"\0" + first), len(first) + 1))
        assert not connection.begun
    connection = Connection()
    Framer(connection, Sender.INITIATOR).receive(memoryview(login(b"InitiatorName=iqn.a\0")), 0.0, Cut())
    opener = span_decoder(site(ShelfStore()), connection, Sender.TARGET)
    answer = login_answer()
    assert delivered(opener, batch(Predictor().predict(b"\0" + answer), len(answer) + 1)) == answer


def test_payload_without_records_where_there_were_some() -> None:
    with pytest.raises(BatchError, match="no record announces"):
        begun().feed(memoryview(assemble(3, CODEC_NONE, literal_token(3), 3, [b"abc"])))


def test_records_that_were_not_agreed_on() -> None:
    with pytest.raises(BatchError, match="not agreed on"):
        decoder_of(site(ShelfStore())).feed(batch(new(LOGIN), 49))


def test_records_in_a_codec_that_was_not_agreed_on() -> None:
    here, coded = site(ShelfStore()), zstd(1)(new(LOGIN))
    decoder = Decoder(cast(ChunkStore, here.store), here.holdings, spans=True)
    with pytest.raises(BatchError, match="codec 1, which was not agreed on"):
        decoder.feed(batch(coded, 49, codec=CODEC_ZSTD, length=len(new(LOGIN))))


def test_short_sections_that_stand_for_many_records() -> None:
    """A byte may stand for 49: what they come to counts against credit, and is bounded before it is made."""
    decoder = begun()
    assert decoder.feed(batch(new(NOP), 49)) is not None
    assert decoder.feed(batch(new(NOP), 49)) is not None  # the difference of nothing but an opcode is now at a place
    many = RECORDS_MAX // 49
    bomb = bytes((1,)) * (2 * many)
    with tracing() as taken, pytest.raises(BatchError, match=f"more than {49 * many} bytes of records"):
        decoder.feed(batch(bomb, 49 * many))
    assert taken.most < 4 * RECORDS_MAX


def test_a_chunk_in_thousands_of_slices() -> None:
    """The array may not read: then what was decoded waits, and of each stream of the peer as much."""
    decoder, size, piece = begun(), 64 << 10, 16
    chunk = bytes(size)
    lesson = literal_token(size) + learn_token(size, fingerprint(chunk))
    for tokens, literals in (lesson, [chunk]), (sliced(chunk, piece), []):
        header = pdu(Opcode.DATA_OUT, data=chunk)[:BASIC_BYTES]
        section = Section(49, CODEC_NONE, len(new(header)), new(header, flags=PAYLOAD))
        whole = memoryview(assemble(size, CODEC_NONE, tokens, sum(map(len, literals)), literals, section))
        with tracing() as taken:
            decoded = decoder.feed(whole)
        assert decoded is not None
        assert decoded.data[BASIC_BYTES:] == chunk
        assert taken.kept < 4 * size  # what goes to the array, the chunk here and in the store, and little else


def sliced(chunk: bytes, piece: int) -> bytes:
    """All of it, in pieces."""
    first = slice_token(fingerprint(chunk), 0, piece)
    return first + b"".join(more_token(piece) for _ in range(len(chunk) // piece - 1))
