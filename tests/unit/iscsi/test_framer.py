"""What a Framer makes of one direction, and where data belongs."""

import itertools
import struct
from collections.abc import Callable

import pytest

from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.keys import TEXT_MAX
from proxy.iscsi.pdu import Opcode, Sender
from proxy.iscsi.record import AS_IS, DATA_DIGEST, DATA_MAX, HEADER_DIGEST, PAYLOAD, PLAIN, TAIL
from proxy.iscsi.span import Address, address_of
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
from tests.unit.iscsi.sites import Cut, Pair, Span

SECRET = b"0x1f9c3a5577secret"


def logged_in(*, header_digest: bool = False, data_digest: bool = False) -> Pair:
    pair = Pair()
    pair.log_in(digests(header_digest, data_digest))
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
    assert addresses(pair.out.payload()) == [(address_of(0, 51200), 4096), (address_of(0, 55296), 8192)]
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
        assert after.address == span.address + len(span.data)
    assert spans[0].address == address_of(0, 512)


def test_data_in_many_pdus_knows_where_each_belongs() -> None:
    """Also behind a ping, and when the tag is used again for another place, or for none."""
    pair = logged_in()
    for lba in (0, 80):
        pair.out.send(command(7, write_10(lba, 80)))
        for at in range(0, 32768, 8192):
            pair.out.send(data_out(7, bytes(8192), at) + pdu(0x40) * (at == 8192))
        places = [(address_of(0, lba * 512 + at), 8192) for at in range(0, 32768, 8192)]
        assert addresses(pair.out.payload()) == places
    pair.out.send(command(7, INQUIRY) + data_out(7, bytes(8192), 32768))
    assert not addresses(pair.out.payload())


def test_a_read() -> None:
    """The acceptor's side knows from the command where the target's data belongs."""
    pair = logged_in()
    pair.out.send(command(9, read_10(8, 16), lun=1 << 48))
    pair.back.send(data_in(9, bytes(4096)))
    pair.back.send(data_in(9, bytes(4096), 4096, status=True))
    assert addresses(pair.back.payload()) == [(address_of(1 << 48, 4096), 4096), (address_of(1 << 48, 8192), 4096)]
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
    assert addresses(pair.out.payload()) == [(address_of(0, 3 * 4096), 4096)]


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


def test_data_before_the_login_is_over_says_nothing_of_what_comes_after_it() -> None:
    """It has no digests yet, and what begins like it may have some."""
    pair = Pair()
    pair.out.send(login(digests(True, True)))
    early, late = data_out(1, bytes(8)), data_out(1, bytes(8), header_digest=True, data_digest=True)
    assert pair.out.send(early) == early
    pair.back.send(login_answer(digests(True, True)))
    assert pair.out.send(2 * late) == 2 * late
    assert pair.out.framer.fallen is None


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


def test_a_header_digest_that_is_wrong_in_its_last_bit_is_sent_as_it_is() -> None:
    """And what follows: nobody knows what the header says."""
    pair = logged_in(header_digest=True)
    whole = command(1, INQUIRY, header_digest=True)
    whole = whole[:-1] + bytes((whole[-1] ^ 1,))
    assert pair.out.send(whole) == whole
    assert pair.out.framer.fallen == "a wrong header digest"


@pytest.mark.parametrize("opcode", [Opcode.NOP_OUT, Opcode.DATA_OUT], ids=["inline", "payload"])
def test_padding_that_is_not_zeros_is_sent_as_it_is(opcode: Opcode) -> None:
    """Under its own digest, which is not wrong, as under the one that zeros would have."""
    pair = logged_in(data_digest=True)
    zeros, right = (pdu(opcode, data=b"abc", padding=padding, data_digest=True) for padding in (b"\0", b"\1"))
    wrong = right[:-4] + zeros[-4:]
    for whole, count in ((right, 0), (wrong, 1)):
        assert pair.out.send(whole) == whole
        assert pair.out.framer.wrong_digests == count


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


def test_a_login_that_is_answered_by_something_else() -> None:
    """It is not the initiator's beginning that was no login."""
    pair = Pair()
    pair.out.send(login())
    assert pair.back.send(b"HTTP/1.1 400 Bad Request\r\n") == b"HTTP/1.1 400 Bad Request\r\n"
    assert pair.back.framer.fallen == "no Login Response at the beginning"


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
    pair.log_in(text(OFMarker="Yes", IFMarker="No"))
    assert pair.out.send(pdu(Opcode.NOP_OUT)) == pdu(Opcode.NOP_OUT)
    assert pair.out.framer.fallen == "markers were agreed on"


@pytest.mark.parametrize("cut", [10, 48, 52, 60, 108, 116, 118])
def test_the_end_may_come_anywhere(cut: int) -> None:
    """Within the header, its digest, data, padding or the data's digest."""
    pair = logged_in(header_digest=True, data_digest=True)
    whole = command(1, write_10(0, 1), bytes(65), header_digest=True, data_digest=True)[:cut]
    assert pair.out.send(whole) + pair.out.finish() == whole


@pytest.mark.parametrize("data_digest", [False, True])
def test_how_far_it_is_to_the_next_header(data_digest: bool) -> None:
    """Where payload is long: who reads so much gets it in few pieces."""
    pair = logged_in(data_digest=data_digest)
    pair.out.send(command(1, write_10(0, 256)))
    assert pair.out.framer.awaited == 0
    whole = data_out(1, bytes(64 << 10), data_digest=data_digest)
    pair.out.send(whole[:1000])
    assert pair.out.framer.awaited == len(whole) - 1000 + 48
    pair.out.send(whole[1000:])
    assert pair.out.framer.awaited == 48 + (64 << 10) + 48
    pair.out.send(whole[:20])
    assert pair.out.framer.awaited == 28 + (64 << 10) + 48
    pair.out.send(whole[20:])
    pair.out.send(data_out(1, bytes(4096), data_digest=data_digest)[:1000])
    assert pair.out.framer.awaited == 0


def test_payload_points_into_what_was_received() -> None:
    connection = Connection()
    framer = Framer(connection, Sender.INITIATOR)
    cut = Cut()
    framer.receive(memoryview(login()), 0.0, cut)
    buffer = bytearray(data_out(1, b"abcd"))
    framer.receive(memoryview(buffer), 0.0, cut)
    buffer[-4:] = b"wxyz"
    assert bytes(cut[-1].data) == b"wxyz"
    assert cut[-1].is_payload


def test_secrets_are_in_no_words_about_it() -> None:
    """CHAP's answer passes exactly; nothing that could be logged has it."""
    pair = Pair()
    chap = login(text(CHAP_N="me", CHAP_R=SECRET.decode()), first=0x40)
    cut = Cut()
    pair.out.framer.receive(memoryview(chap), 0.0, cut)
    assert SECRET in bytes(cut[0].data)
    assert SECRET.decode() not in f"{pair.near!r} {pair.near.keys!r} {pair.out.framer!r}"
    pair.out.framer.receive(memoryview(login(first=NEXT_FULL_FEATURE)), 0.0, cut)
    assert SECRET.decode() not in f"{vars(pair.near.keys)} {vars(pair.out.framer)}"


@pytest.mark.parametrize("answer", ["Y-org.example.c32", "CRC32C,None", "crc32c", " CRC32C"])
def test_a_digest_that_is_not_known_makes_both_directions_fall_back(answer: str) -> None:
    """At once, from the first PDU that has it; 13.1."""
    pair = Pair()
    pair.log_in(text(HeaderDigest=answer, DataDigest="None"))
    for direction, whole in ((pair.out, command(1, INQUIRY) + b"dgst"), (pair.back, response(1) + b"dgst")):
        assert direction.send(whole) == whole
        assert direction.framer.fallen == "a digest that is neither None nor CRC32C"


def test_a_login_text_that_is_too_long_to_be_looked_at() -> None:
    pair = Pair()
    for _ in range(TEXT_MAX // 8000 + 1):
        pair.out.send(login(text(**{"X-a": "a" * 8000}), first=0x44))
        pair.back.send(login_answer(first=0x04))
    pair.log_in(digests(True, True))
    whole = command(1, INQUIRY, header_digest=True)
    assert pair.out.send(whole) == whole
    assert pair.out.framer.fallen == "a login text longer than is looked at"


def test_a_login_that_is_none_behind_others() -> None:
    """What has begun as iSCSI may still go on as something else."""
    direction = logged_in().out
    none = pdu(0x43, 0x88)
    assert direction.send(none) == none
    assert direction.framer.fallen == "a login that is none"


def test_nothing_is_understood_behind_a_second_login() -> None:
    """Nor data like that before it."""
    pair = logged_in()
    write, data = command(1, write_10(0, 48)), data_out(1, bytes(8192))
    assert pair.out.send(write + 2 * data) == write + 2 * data
    pair.back.send(login_answer(digests(True, True)))
    assert pair.out.framer.fallen is None
    assert pair.out.send(data) == data
    assert pair.out.framer.fallen == "a login after the login phase"


@pytest.mark.parametrize("status", [0, 2], ids=["after success", "after failure"])
def test_a_second_login_on_a_connection(status: int) -> None:
    """Allowed by no standard (11.13.5); what it agrees on is not believed."""
    pair = Pair()
    pair.out.send(login())
    pair.back.send(login_answer(status=status))
    for direction, whole in ((pair.out, login(digests(True, True))), (pair.back, login_answer(digests(True, True)))):
        assert direction.send(whole) == whole
    for direction, whole in ((pair.out, command(1, INQUIRY, header_digest=True)), (pair.back, response(1) + b"dgst")):
        assert direction.send(whole) == whole
        assert direction.framer.fallen == "a login after the login phase"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda keys: login_answer(keys)[:3] + b"\1" + login_answer(keys)[4:], id="a version"),
        pytest.param(lambda keys: login_answer(keys, first=0x8B), id="a stage"),
        pytest.param(lambda keys: bytes((0x63,)) + login_answer(keys)[1:], id="a reserved bit"),
        pytest.param(lambda keys: login_answer(keys + text(**{"X-a": "a" * DATA_MAX})), id="a long text"),
    ],
)
def test_a_target_that_is_not_understood_in_its_login_takes_the_initiator_along(
    answer: Callable[[bytes], bytes],
) -> None:
    """Nobody saw whether there are digests."""
    pair = Pair()
    keys = digests(True, True)
    pair.out.send(login(keys))
    pair.back.send(answer(keys))
    assert pair.back.framer.fallen
    whole = command(1, INQUIRY, header_digest=True)
    assert pair.out.send(whole) == whole
    assert pair.out.framer.fallen == "the other direction is not understood"


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(struct.pack("<Q", 67) + bytes(24) + b"I wait for an answer to these 43 bytes here", id="no text"),
        pytest.param(b"\x43" + bytes(5) + b"\x00\x10" + bytes(40) + b"no iSCSI's text.", id="no name in it"),
    ],
)
def test_what_only_looks_like_a_login_is_not_held(message: bytes) -> None:
    """A length in front, as many protocols have it: each byte arrives without any further one, or a pause."""
    pair = Pair()
    assert pair.out.send(message) == message
    assert pair.out.framer.fallen == "a first login that does not name the initiator"


def test_the_source_stops_within_a_header() -> None:
    pair = logged_in()
    whole = command(1, write_10(0, 1))
    assert pair.out.send(whole[:20]) + pair.out.pause() == b""
    assert pair.out.give_up() == whole[:20]
    assert pair.out.send(whole[20:]) == whole[20:]
    assert pair.out.framer.held == 0


def test_the_source_stops_within_a_tail() -> None:
    """The part of it that has come arrives, and the rest goes as it is."""
    pair = logged_in(data_digest=True)
    whole = command(1, write_10(0, 1), bytes(512), data_digest=True)
    assert pair.out.send(whole[:-2]) == whole[:-4]
    assert pair.out.give_up() == whole[-4:-2]
    more = whole[-2:] + response(1)
    assert pair.out.send(more) == more
    assert [record[0] for record in pair.out.records()] == [DATA_DIGEST | PAYLOAD, TAIL | AS_IS, PLAIN]


def test_a_source_that_stops_between_pdus_is_not_given_up() -> None:
    pair = logged_in()
    pair.out.send(command(1, INQUIRY))
    assert pair.out.give_up() == b""
    assert pair.out.framer.fallen is None
