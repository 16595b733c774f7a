"""Whatever two arrays say to each other, in whatever pieces, the far side says the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import BASIC_BYTES, Opcode, Sender, opcodes_of
from proxy.iscsi.prediction import Predictor, Restorer
from proxy.iscsi.record import DATA_MAX, pdu_length
from tests.property.conversations import Conversation, conversations
from tests.unit.iscsi.pdus import command, digests, login, login_answer, pdu, write_10
from tests.unit.iscsi.sites import Direction, Pair

SIZES = st.sampled_from([1, 2, 3, 4, 7, 47, 48, 49, 100, 4096, 1 << 20])


def logged_in(header_digest: bool, data_digest: bool, size: int = 1 << 20) -> Pair:
    pair = Pair()
    keys = digests(header_digest, data_digest)
    assert pair.out.send(login(keys), size) == login(keys)
    assert pair.back.send(login_answer(keys), size) == login_answer(keys)
    assert pair.near.full_feature
    assert pair.far.full_feature
    return pair


@given(conversations(), SIZES)
def test_every_pdu_in_every_split(conversation: Conversation, size: int) -> None:
    """Each PDU is out as soon as it is in; a wrong digest and odd padding are passed on."""
    agreed, said = conversation
    pair = logged_in(*agreed, size=size)
    for sender, whole in said:
        assert pair.direction(sender).send(whole, size) == whole
    for direction in (pair.out, pair.back):
        assert direction.framer.fallen is None
        assert direction.finish() == b""
        assert direction.came == direction.framer.total


@given(conversations(), st.data())
def test_a_connection_may_end_or_go_astray_anywhere(conversation: Conversation, data: st.DataObject) -> None:
    """A byte changed, a piece lost, a long pause, or the end: all that came in comes out."""
    agreed, said = conversation
    pair = logged_in(*agreed)
    for direction, sender in ((pair.out, Sender.INITIATOR), (pair.back, Sender.TARGET)):
        stream = bytearray(b"".join(whole for by, whole in said if by is sender))
        for _ in range(data.draw(st.integers(0, 3)) if stream else 0):
            at = data.draw(st.integers(0, len(stream) - 1))
            stream[at] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(stream)))
        sent, rest = bytes(stream[:cut]), bytes(stream[cut:])
        assert in_pieces(direction, sent, data) + direction.give_up() == sent
        assert in_pieces(direction, rest, data) + direction.finish() == rest


@given(st.binary(max_size=300), st.sampled_from(Sender), st.data())
def test_any_bytes(content: bytes, sender: Sender, data: st.DataObject) -> None:
    """What never was iSCSI is not held back over a pause, not even its first byte."""
    direction = Pair().direction(sender)
    start = data.draw(st.sampled_from([b"", b"\x43", b"\x23", b"\x43\x87\x00\x00\x00\x00\x00"]))
    came = b""
    for at, byte in enumerate(start + content):
        came += direction.send(bytes((byte,))) + direction.pause()
        assert len(came) == at + 1 or direction.framer.fallen is None
    came += direction.give_up()
    assert came == start + content
    assert direction.send(b"more") + direction.finish() == b"more"


@given(conversations())
def test_payload_is_not_held_back(conversation: Conversation) -> None:
    """Of a PDU with payload all but its header and tail is out as soon as it is in."""
    agreed, said = conversation
    pair = logged_in(*agreed)
    for sender, whole in said:
        direction = pair.direction(sender)
        for at in range(0, len(whole), 64):
            direction.send(whole[at : at + 64])
            assert direction.framer.total - direction.came == direction.framer.held
        assert direction.framer.held == 0


def in_pieces(direction: Direction, content: bytes, data: st.DataObject) -> bytes:
    out = b""
    while content:
        n = data.draw(st.integers(1, 2000))
        out += direction.send(content[:n])
        content = content[n:]
        if data.draw(st.booleans()):
            out += direction.pause()
    return out


HEADERS = st.builds(
    lambda flags, opcode, words: bytes((flags, opcode)) + bytes(7) + b"".join(word.to_bytes(4) for word in words),
    st.sampled_from([0, 1]),
    st.integers(0, 255),
    st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**32 - 1)), min_size=10, max_size=10),
)


@given(st.lists(HEADERS, max_size=20), st.integers(1, 200))
def test_prediction_is_exact(headers: list[bytes], times: int) -> None:
    """Also when more new differences come than are remembered."""
    predictor, restorer = Predictor(), Restorer()
    for at in range(times):
        step = [header[:-4] + at.to_bytes(4) for header in headers]
        assert all(len(record) == pdu_length(record) == BASIC_BYTES + 1 for record in step)
        section = b"".join(predictor.predict(record) for record in step)
        assert restorer.restore(section, 1 << 20) == step


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_any_section_is_records_or_refused(sections: list[bytes]) -> None:
    restorer = Restorer()
    for section in sections:
        try:
            records = restorer.restore(section, 1 << 20)
        except RecordError:
            return
        assert all(records)


def test_what_is_agreed_holds_from_the_next_pdu_on() -> None:
    """A command without the digests that were agreed on is not understood any more; it passes all the same."""
    pair = logged_in(header_digest=True, data_digest=True)
    right = command(1, write_10(8, 8), b"x" * 4096, header_digest=True, data_digest=True)
    assert pair.out.send(right) == right
    assert pair.out.framer.fallen is None
    wrong = command(1, write_10(8, 8), b"x" * 4096)
    assert pair.out.send(wrong) == wrong
    assert pair.out.framer.fallen == "a wrong header digest"


@pytest.mark.parametrize("opcode", sorted(opcodes_of(Sender.INITIATOR) | opcodes_of(Sender.TARGET)))
@pytest.mark.parametrize("length", [DATA_MAX, DATA_MAX + 1])
@pytest.mark.parametrize("agreed", [False, True])
def test_long_data(opcode: Opcode, length: int, agreed: bool) -> None:
    """Up to the longest that a record carries, and beyond."""
    pair = logged_in(header_digest=agreed, data_digest=agreed)
    sender = Sender.TARGET if opcode & 0x20 else Sender.INITIATOR
    whole = pdu(opcode, data=bytes(length), additional=bytes(1020), header_digest=agreed, data_digest=agreed)
    direction = pair.direction(sender)
    assert direction.send(whole, 1000) + direction.finish() == whole
    is_login = opcode in (Opcode.LOGIN_REQUEST, Opcode.LOGIN_RESPONSE)
    assert bool(direction.framer.fallen) == is_login
