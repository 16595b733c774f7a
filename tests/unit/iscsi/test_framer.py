"""What a Framer makes of one direction, and where data belongs."""

import itertools

import pytest

from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Opcode, Sender
from proxy.iscsi.record import AS_IS, DATA_DIGEST, DATA_MAX, HEADER_DIGEST, PAYLOAD, PLAIN, TAIL
from proxy.iscsi.span import Address, Kind, Span
from tests.unit.iscsi.pdus import (
    INQUIRY,
    NEXT_FULL_FEATURE,
    READ_CAPACITY_10,
    READ_CAPACITY_16,
    command,
    data_in,
    data_out,
    digests,
    login,
    login_answer,
    pdu,
    read_10,
    response,
    text,
    write_10,
)
from tests.unit.iscsi.sites import Pair

SECRET = b"0x1f9c3a5577secret"


def logged_in(*, header_digest: bool = False, data_digest: bool = False) -> Pair:
    pair = Pair()
    keys = digests(header_digest, data_digest)
    pair.out.send(login(keys))
    pair.back.send(login_answer(keys))
    pair.out.spans.clear()
    pair.back.spans.clear()
    return pair


def addresses(spans: list[Span]) -> list[tuple[Address | None, int]]:
    return [(span.address, len(span.data)) for span in spans]


def test_a_login_is_a_record() -> None:
    pair = Pair()
    keys = text(InitiatorName="iqn.a", TargetName="iqn.b")
    pair.out.send(login(keys))
    assert pair.out.records() == [b"\0" + login(keys)[: 48 + len(keys)]]
    assert pair.near.initiator == pair.far.initiator == "iqn.a"
    assert pair.near.target == pair.far.target == "iqn.b"


def test_a_write() -> None:
    """Immediate data, then what was asked for: one run on the volume."""
    pair = logged_in()
    pair.out.send(command(7, write_10(100, 24), bytes(4096)))
    pair.back.send(pdu(Opcode.R2T, tag=7))
    pair.out.send(data_out(7, bytes(8192), 4096))
    pair.back.send(response(7))
    assert addresses(pair.out.payload()) == [(Address(0, 51200), 4096), (Address(0, 55296), 8192)]
    assert not pair.back.payload()
    assert len(pair.near.tasks) == len(pair.far.tasks) == 0


def test_payload_in_pieces_knows_where_each_belongs() -> None:
    pair = logged_in()
    pair.out.send(command(7, write_10(1, 2)))
    pair.out.send(data_out(7, bytes(1024)), size=300)
    spans = pair.out.payload()
    assert sum(len(span.data) for span in spans) == 1024
    for span, after in itertools.pairwise(spans):
        assert span.address is not None
        assert after.address == Address(0, span.address.byte + len(span.data))
    assert spans[0].address == Address(0, 512)


def test_a_read() -> None:
    """The acceptor's side knows from the command where the target's data belongs."""
    pair = logged_in()
    pair.out.send(command(9, read_10(8, 16), lun=1 << 48))
    pair.back.send(data_in(9, bytes(4096)))
    pair.back.send(data_in(9, bytes(4096), 4096, status=True))
    assert addresses(pair.back.payload()) == [(Address(1 << 48, 4096), 4096), (Address(1 << 48, 8192), 4096)]
    assert len(pair.near.tasks) == len(pair.far.tasks) == 0


@pytest.mark.parametrize(
    ("cdb", "answer"),
    [
        pytest.param(READ_CAPACITY_10, b"\0\0\xff\xff\0\0\x10\0", id="10"),
        pytest.param(READ_CAPACITY_16, bytes(8) + b"\0\0\x10\0" + bytes(20), id="16"),
    ],
)
def test_long_logical_blocks_are_learned(cdb: bytes, answer: bytes) -> None:
    pair = logged_in()
    pair.out.send(command(1, cdb))
    pair.back.send(data_in(1, answer, status=True))
    pair.out.send(command(2, write_10(3, 1), bytes(4096)))
    assert not pair.back.payload()
    assert addresses(pair.out.payload()) == [(Address(0, 3 * 4096), 4096)]


def test_what_belongs_to_no_volume_is_in_records() -> None:
    pair = logged_in()
    pair.out.send(command(1, INQUIRY))
    pair.back.send(data_in(1, b"vendor", status=True))
    pair.out.send(command(2, bytes((0x15,)) + bytes(5), b"mode pages"))
    pair.out.send(pdu(Opcode.NOP_OUT, data=b"ping"))
    pair.back.send(response(2, sense=b"sense data", status=2))
    assert not pair.out.payload()
    assert not pair.back.payload()


@pytest.mark.parametrize(
    "whole",
    [
        pytest.param(data_out(5, bytes(16)), id="unknown task"),
        pytest.param(command(5, b"\x7f" + bytes(15), bytes(16)), id="variable length"),
        pytest.param(command(5, b"\xc1" + bytes(15), bytes(16)), id="vendor's"),
        pytest.param(pdu(Opcode.TEXT_REQUEST, data=bytes(DATA_MAX + 1)), id="longer than a record"),
    ],
)
def test_what_may_be_anything_is_payload_without_address(whole: bytes) -> None:
    pair = logged_in()
    pair.out.send(whole)
    assert {span.address for span in pair.out.payload()} == {None}


def test_digests_and_padding_are_not_sent() -> None:
    pair = logged_in(header_digest=True, data_digest=True)
    pair.out.send(command(1, write_10(0, 1), b"abc", header_digest=True, data_digest=True))
    head, tail = pair.out.records()
    assert (head[0], len(head), tail) == (HEADER_DIGEST | DATA_DIGEST | PAYLOAD, 49, bytes((TAIL,)))
    pair.out.send(pdu(Opcode.NOP_OUT, data=b"abc", header_digest=True, data_digest=True))
    (ping,) = pair.out.records()
    assert (ping[0], len(ping)) == (HEADER_DIGEST | DATA_DIGEST, 49 + 3)
    assert pair.out.framer.wrong_digests == 0
    assert pair.out.weaver.digests == 4


def test_wrong_digests_are_sent_as_they_are() -> None:
    pair = logged_in(data_digest=True)
    data = data_out(1, bytes(8), data_digest=True, flip=1)
    ping = pdu(Opcode.NOP_OUT, data=bytes(8), data_digest=True, flip=1)
    assert pair.out.send(data + ping) == data + ping
    _, tail, inline = pair.out.records()
    assert tail == bytes((TAIL | AS_IS, 4)) + data[-4:]
    assert inline[0] == DATA_DIGEST | AS_IS
    assert pair.out.framer.wrong_digests == 2
    assert pair.out.weaver.digests == 0


@pytest.mark.parametrize(
    ("sender", "first", "reason"),
    [
        (Sender.INITIATOR, b"SSH-2.0-OpenSSH\r\n", "no Login Request at the beginning"),
        (Sender.TARGET, b"220 ready\r\n", "no Login Request at the beginning"),
        (Sender.TARGET, login_answer(), "no Login Request at the beginning"),
        (Sender.INITIATOR, pdu(Opcode.NOP_OUT | 0x40), "no Login Request at the beginning"),
        (Sender.INITIATOR, pdu(0x43, 0x87)[:3] + b"\x01" + pdu(0x43, 0x87)[4:], "a login that is none"),
        (Sender.INITIATOR, pdu(0x43, 0x88), "a login that is none"),
        (Sender.INITIATOR, pdu(0x43, 0x87, additional=bytes(4)), "a login that is none"),
        (Sender.INITIATOR, pdu(0x43, 0x87)[:5] + b"\xff" + pdu(0x43, 0x87)[6:], "a login that is none"),
    ],
)
def test_what_does_not_begin_as_iscsi_does(sender: Sender, first: bytes, reason: str) -> None:
    """It goes as it is, at once and from its first byte; also a target that speaks first."""
    direction = Pair().direction(sender)
    assert direction.send(first) == first
    assert direction.framer.fallen == reason
    assert direction.records() == [bytes((PLAIN,))]
    assert direction.send(b"more") == b"more"
    assert direction.records() == []


def test_half_a_login_does_not_wait_for_the_rest() -> None:
    direction = Pair().out
    assert direction.send(login()[:20]) == b""
    assert direction.framer.held == 20
    assert direction.pause() == login()[:20]
    assert direction.framer.held == 0


def test_half_an_answer_to_a_login_waits() -> None:
    """The initiator can do nothing with it."""
    pair = Pair()
    pair.out.send(login())
    assert pair.back.send(login_answer()[:20]) + pair.back.pause() == b""
    assert pair.back.send(login_answer()[20:]) == login_answer()
    assert pair.far.full_feature


def test_half_a_header_waits_once_it_is_iscsi() -> None:
    pair = logged_in()
    ping = pdu(Opcode.NOP_OUT)
    assert pair.out.send(ping[:20]) + pair.out.pause() == b""
    assert pair.out.send(ping[20:]) == ping


@pytest.mark.parametrize("first", [0x07, 0x20, 0x25, 0x80, 0xC1, 0xFF])
def test_a_pdu_that_does_not_exist(first: int) -> None:
    """From here on as it is; what was whole before stays a record, and the other direction goes on."""
    pair = logged_in()
    ping, odd = pdu(Opcode.NOP_OUT), bytes((first,)) + bytes(99)
    assert pair.out.send(ping + odd) == ping + odd
    assert pair.out.framer.fallen == f"no PDU begins with {first:#04x}"
    assert len(pair.out.records()) == 2
    answer = pdu(Opcode.NOP_IN)
    assert pair.back.send(answer) == answer
    assert pair.back.framer.fallen is None


def test_markers_hide_pdus() -> None:
    pair = Pair()
    keys = text(OFMarker="Yes", IFMarker="No")
    pair.out.send(login(keys))
    pair.back.send(login_answer(keys))
    assert pair.out.send(pdu(Opcode.NOP_OUT)) == pdu(Opcode.NOP_OUT)
    assert pair.out.framer.fallen == "markers were agreed on"


@pytest.mark.parametrize("cut", [10, 48, 52, 60, 108, 116, 118])
def test_the_end_may_come_anywhere(cut: int) -> None:
    """Within the header, its digest, data, padding or the data's digest."""
    pair = logged_in(header_digest=True, data_digest=True)
    whole = command(1, write_10(0, 1), bytes(65), header_digest=True, data_digest=True)[:cut]
    assert pair.out.send(whole) + pair.out.finish() == whole


def test_payload_points_into_what_was_received() -> None:
    connection = Connection()
    framer = Framer(connection, Sender.INITIATOR)
    framer.receive(memoryview(login()), 0.0)
    buffer = bytearray(data_out(1, b"abcd"))
    spans = framer.receive(memoryview(buffer), 0.0)
    buffer[-4:] = b"wxyz"
    assert bytes(spans[-1].data) == b"wxyz"
    assert spans[-1].kind is Kind.PAYLOAD


def test_secrets_are_in_no_words_about_it() -> None:
    """CHAP's answer passes exactly; nothing that could be logged has it."""
    pair = Pair()
    chap = login(text(CHAP_N="me", CHAP_R=SECRET.decode()), first=0x40)
    spans = pair.out.framer.receive(memoryview(chap), 0.0)
    assert SECRET in bytes(spans[0].data)
    assert SECRET.decode() not in f"{spans} {pair.near!r} {pair.near.keys!r} {pair.out.framer!r}"
    pair.out.framer.receive(memoryview(login(first=NEXT_FULL_FEATURE)), 0.0)
    assert SECRET.decode() not in f"{vars(pair.near.keys)} {vars(pair.out.framer)}"
