"""What a Weaver refuses: records and payload that no Framer writes."""

import pytest

from proxy.iscsi.connection import Connection
from proxy.iscsi.digest import crc32c, digest_bytes
from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import Opcode, Sender
from proxy.iscsi.record import AS_IS, DATA_DIGEST, PAYLOAD, PLAIN, TAIL
from proxy.iscsi.weaver import WAITING_MAX, Weaver
from tests.unit.iscsi.pdus import pdu

NOP = b"\0" + pdu(Opcode.NOP_OUT)
DATA = bytes((PAYLOAD,)) + pdu(Opcode.DATA_OUT, data=bytes(6))[:48]
DIGESTED = bytes((PAYLOAD | DATA_DIGEST,)) + DATA[1:]
EIGHT = bytes((PAYLOAD,)) + pdu(Opcode.DATA_OUT, data=bytes(8))[:48]


def weaver() -> Weaver:
    return Weaver(Connection(), Sender.INITIATOR)


def test_payload_waits_for_its_rest_and_its_tail() -> None:
    woven = weaver()
    woven.records([DATA])
    assert woven.take(0.0) == [DATA[1:]]
    woven.payload([memoryview(b"abcd")])
    assert b"".join(woven.take(0.0)) == b"abcd"
    woven.payload([memoryview(b"ef")])
    assert b"".join(woven.take(0.0)) == b"ef"
    woven.records([bytes((TAIL,)), NOP])
    assert b"".join(woven.take(0.0)) == b"\0\0" + NOP[1:]
    assert woven.waiting == 0


@pytest.mark.parametrize("size", [*range(1, 10), 16, 24, 40])
def test_alike_pdus_however_their_payload_comes(size: int) -> None:
    payload = bytes(range(40))
    woven = weaver()
    woven.records([EIGHT] * 5)
    woven.payload(memoryview(payload)[at : at + size] for at in range(0, 40, size))
    expected = b"".join(EIGHT[1:] + payload[at : at + 8] for at in range(0, 40, 8))
    assert b"".join(woven.take(0.0)) == expected
    assert woven.pdus == 5


def test_alike_pdus_with_tails() -> None:
    tail = digest_bytes(crc32c(b"123456\0\0"))
    woven = weaver()
    woven.records([DIGESTED, bytes((TAIL,))] * 3)
    woven.payload([b"1234", b"56123", b"456123456"])
    assert b"".join(woven.take(0.0)) == 3 * (DIGESTED[1:] + b"123456\0\0" + tail)
    assert woven.digests == 3


def test_records_wait_for_payload() -> None:
    woven = weaver()
    woven.records([DATA, bytes((TAIL,)), NOP])
    woven.take(0.0)
    assert woven.waiting == 1 + len(NOP)


@pytest.mark.parametrize(
    ("records", "payload"),
    [
        pytest.param([], b"x", id="payload alone"),
        pytest.param([DATA, bytes((TAIL,)), NOP], b"1234567", id="payload beyond what is announced"),
        pytest.param([DATA], b"1234567", id="payload in place of a tail"),
        pytest.param([NOP], b"x", id="payload where there is none"),
        pytest.param([bytes((TAIL,))], b"", id="a tail alone"),
        pytest.param([NOP, bytes((TAIL,))], b"", id="a tail of nothing"),
        pytest.param([DATA, NOP], b"123456", id="no tail"),
        pytest.param([DATA, bytes((PLAIN,))], b"123456", id="plain in place of a tail"),
        pytest.param([DATA, bytes((TAIL | AS_IS, 3, 0, 0, 0))], b"123456", id="a long tail"),
        pytest.param([DIGESTED, bytes((TAIL | AS_IS, 1, 0)), NOP], b"123456", id="more after an end"),
        pytest.param([EIGHT] * 2, b"1" * 17, id="payload beyond what alike ones announce"),
        pytest.param([DIGESTED] * 2, b"1" * 12, id="no tail between alike ones"),
        pytest.param([DIGESTED, bytes((TAIL | AS_IS, 1, 0)), DIGESTED], b"1" * 12, id="one alike after an end"),
        pytest.param([EIGHT, bytes((PLAIN,)), EIGHT], b"1" * 16, id="one alike after the last record"),
        pytest.param([bytes((PLAIN,)), NOP], b"", id="more after the last record"),
        pytest.param([bytes((PLAIN,)), bytes((PLAIN,))], b"", id="plain twice"),
    ],
)
def test_what_no_framer_writes(records: list[bytes], payload: bytes) -> None:
    woven = weaver()
    woven.records(records)
    woven.payload([memoryview(payload)])
    with pytest.raises(RecordError):
        woven.take(0.0)


def test_records_without_payload_are_bounded() -> None:
    woven = weaver()
    woven.records([DATA])
    most = WAITING_MAX // len(NOP)
    woven.records([NOP] * (most - 1))
    with pytest.raises(RecordError, match="are the most"):
        woven.records([NOP])


def test_plain_is_plain() -> None:
    woven = weaver()
    woven.records([NOP, bytes((PLAIN,))])
    woven.payload([memoryview(b"anything")])
    assert b"".join(woven.take(0.0)) == NOP[1:] + b"anything"
    assert woven.plain
