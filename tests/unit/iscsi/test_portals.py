"""Portal addresses in the texts of targets: which are found, what replaces them, and that nothing else changes."""

from typing import Any

import pytest

from proxy.iscsi.keys import VALUE_MAX
from proxy.iscsi.pdu import CONTINUED, FINAL, Opcode
from proxy.iscsi.portals import Portal, PortalTexts, parse_portal
from proxy.iscsi.record import DATA_MAX
from tests.memory import tracing
from tests.unit.iscsi.pdus import digests, login, login_answer, pdu, text
from tests.unit.iscsi.sites import Pair

FAR, NEAR = Portal("10.1.0.5", 3260), Portal("127.0.0.1", 33261)
MOST = 8192


class Map:
    """Replaces by a table; remembers what was asked for, how many were replaced, and what passed."""

    def __init__(self, **instead: Portal) -> None:
        self.table = {FAR: NEAR, **{Portal(host, 3260): portal for host, portal in instead.items()}}
        self.asked: list[Portal] = []
        self.reasons: list[str] = []
        self.number = 0

    def instead(self, named: Portal) -> Portal | None:
        self.asked.append(named)
        return self.table.get(named)

    def replaced(self, number: int) -> None:
        self.number += number

    def passed(self, reason: str) -> None:
        self.reasons.append(reason)


def header(first: int) -> bytes:
    return pdu(Opcode.TEXT_RESPONSE, first)


def rewritten(portals: Map, content: bytes, most: int = MOST) -> bytes:
    return PortalTexts(portals).rewritten(header(FINAL), content, most)


def discovering(portals: Map, agreed: bool, **keys: str) -> Pair:
    """After a login."""
    pair = Pair(portals=portals)
    pair.log_in(digests(agreed, agreed), text(SessionType="Discovery", **keys))
    assert pair.near.full_feature
    return pair


def answer(data: bytes, agreed: bool = False, **more: Any) -> bytes:
    """A Text Response, with digests if they are agreed on."""
    return pdu(Opcode.TEXT_RESPONSE, data=data, header_digest=agreed, data_digest=agreed, **more)


@pytest.mark.parametrize(
    ("value", "host", "port", "rest"),
    [
        ("10.1.0.5:3260,1", "10.1.0.5", 3260, ",1"),
        ("10.1.0.5", "10.1.0.5", 3260, ""),
        ("10.1.0.5,65535", "10.1.0.5", 3260, ",65535"),
        ("10.1.0.5:860", "10.1.0.5", 860, ""),
        ("[2001:DB8:0:0::1]:3260,2", "2001:db8::1", 3260, ",2"),
        ("[fe80::1]", "fe80::1", 3260, ""),
        ("Array.Example.ORG:3261,1", "array.example.org", 3261, ",1"),
    ],
)
def test_addresses_as_rfc_7143_13_8_writes_them(value: str, host: str, port: int, rest: str) -> None:
    assert parse_portal(value.encode()) == (Portal(host, port), rest.encode())


@pytest.mark.parametrize(
    "value",
    [
        *["", ":3260", "2001:db8::1", "[10.1.0.5]", "[::1", "[]:1", "a:0", "a:65536", "a:b", "a:123456", "ä:1", ",1"],
        *["x" * (VALUE_MAX + 1), "10.1.0.5:3260," + "1" * VALUE_MAX],
    ],
)
def test_what_is_no_address(value: str) -> None:
    assert parse_portal(value.encode("latin-1")) is None


def test_how_a_portal_is_written() -> None:
    assert str(Portal("10.1.0.5", 3260)) == "10.1.0.5:3260"
    assert str(Portal("2001:db8::1", 3260)) == "[2001:db8::1]:3260"


def test_only_addresses_that_are_mapped_change() -> None:
    portals = Map()
    before = text(TargetName="iqn.x:TargetAddress=10.1.0.5", TargetAddress="10.1.0.5:3260,1")
    after = text(TargetName="iqn.x:TargetAddress=10.1.0.5", TargetAddress="127.0.0.1:33261,1")
    other = text(TargetAddress="10.1.0.6,1", XTargetAddress="10.1.0.5")
    assert rewritten(portals, before + other + before) == after + other + after
    assert portals.asked == [FAR, Portal("10.1.0.6", 3260), FAR]
    assert (portals.number, portals.reasons) == (2, [])


def test_an_address_that_cannot_be_read() -> None:
    portals = Map()
    odd = text(TargetAddress="2001:db8::1,1")
    assert rewritten(portals, odd) == odd
    assert portals.reasons == ["an address cannot be read"]


def test_an_address_as_long_as_a_text_is_none() -> None:
    """Who is told of one logs it and remembers it."""
    portals = Map()
    endless = text(TargetAddress="\1" * 200_000)
    assert rewritten(portals, endless) == endless
    assert (portals.asked, portals.reasons) == ([], ["an address cannot be read"])


def test_the_last_pair_may_lack_its_zero() -> None:
    assert rewritten(Map(), b"TargetAddress=10.1.0.5") == b"TargetAddress=127.0.0.1:33261"


@pytest.mark.parametrize("cut", range(len(b"TargetName=a\0TargetAddress=10.1.0.5:3260,1\0TargetName=b\0") + 1))
def test_a_text_in_two_pdus(cut: int) -> None:
    """Pairs that are whole in a PDU are replaced there; one that is split passes, and is told."""
    first, address, last = text(TargetName="a"), text(TargetAddress="10.1.0.5:3260,1"), text(TargetName="b")
    whole = first + address + last
    portals = Map()
    texts = PortalTexts(portals)
    told = texts.rewritten(header(CONTINUED), whole[:cut], MOST) + texts.rewritten(header(FINAL), whole[cut:], MOST)
    split = len(first) < cut < len(first) + len(address)
    assert told == (whole if split else first + text(TargetAddress="127.0.0.1:33261,1") + last)
    assert portals.reasons == (["an address is split over two PDUs"] if split else [])
    assert texts.rewritten(header(FINAL), address, MOST) == text(TargetAddress="127.0.0.1:33261,1")


def test_an_address_in_three_pdus_and_an_endless_one() -> None:
    portals = Map()
    texts = PortalTexts(portals)
    pieces = [
        b"TargetAddr",
        b"ess=10.1.",
        b"0.5\0",
        *[b"TargetAddress=" + b"x" * 400] * 9,
        b"\0TargetAddress=10.1.0.5\0",
    ]
    told = [texts.rewritten(header(CONTINUED), piece, MOST) for piece in pieces]
    assert told == [*pieces[:-1], b"\0TargetAddress=127.0.0.1:33261\0"]
    assert portals.reasons == ["an address is split over two PDUs"] * 2


def test_what_goes_on_in_the_next_pdu_is_no_address_whatever_it_is() -> None:
    """It is the value of another key."""
    portals = Map()
    texts = PortalTexts(portals)
    pieces = b"X-org.example.note=", text(TargetAddress="10.1.0.5")
    assert [
        texts.rewritten(header(first), piece, MOST) for first, piece in zip((CONTINUED, FINAL), pieces, strict=True)
    ] == [*pieces]
    assert (portals.asked, portals.reasons) == ([], [])


def test_a_key_and_value_without_end_take_no_memory_without_end() -> None:
    texts = PortalTexts(Map())
    with tracing() as taken:
        for _ in range(100):
            texts.rewritten(header(CONTINUED), b"x" * MOST, MOST)
    assert taken.kept < 16 << 10


def test_no_text_becomes_longer_than_the_initiator_takes() -> None:
    portals = Map()
    full = text(TargetAddress="10.1.0.5") + text(TargetName="x" * 100)
    longer = text(TargetAddress="127.0.0.1:33261") + text(TargetName="x" * 100)
    assert rewritten(portals, full, len(longer)) == longer
    assert rewritten(portals, full, len(longer) - 1) == full
    assert f"longer than the {len(longer) - 1} bytes" in portals.reasons[0]
    assert portals.number == 1


@pytest.mark.parametrize("agreed", [False, True])
def test_a_pdu_around_another_text_is_right(agreed: bool) -> None:
    """Length, padding and digests are those of the text that it has then."""
    portals = Map(array=Portal("h", 1))
    pair = discovering(portals, agreed)
    for before, after in (("10.1.0.5", "127.0.0.1:33261"), ("array,1", "h:1,1"), ("10.1.0.6", "10.1.0.6")):
        sent, due = (
            answer(text(TargetName="t", TargetAddress=address), agreed, tag=7, additional=bytes(8))
            for address in (before, after)
        )
        assert pair.back.send(sent, 11) == due


def test_a_redirected_login() -> None:
    pair = Pair(portals=Map())
    pair.out.send(login(text(SessionType="Normal")))
    before, after = (text(TargetAddress=address) for address in ("10.1.0.5:3260", "127.0.0.1:33261"))
    assert pair.back.send(login_answer(before, first=0, status=1)) == login_answer(after, first=0, status=1)


def test_what_the_initiator_takes_counts() -> None:
    """The default during the login, then what it has declared (13.12)."""
    portals = Map()
    pair = discovering(portals, False, MaxRecvDataSegmentLength="512")
    small, large = (text(TargetAddress="10.1.0.5", TargetName="x" * length) for length in (400, 474))
    assert b"127.0.0.1:33261" in pair.back.send(answer(small))
    assert pair.back.send(answer(large)) == answer(large)
    assert "512" in portals.reasons[0]


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param({"flip": 1}, id="wrong digest"),
        pytest.param({"padding": b"\1\1\1"}, id="odd padding"),
        pytest.param({"data": text(TargetAddress="10.1.0.5") + bytes(DATA_MAX), "flip": 1}, id="long and wrong"),
        pytest.param({"data": text(TargetAddress="10.1.0.5") + bytes(256 << 10)}, id="too long"),
    ],
)
def test_what_is_not_as_computed_passes(spoilt: dict[str, Any]) -> None:
    """The array's own check still works; the operator is told."""
    portals = Map()
    pair = discovering(portals, True)
    data = text(TargetAddress="10.1.0.5:32600")
    assert len(data) % 4
    spoilt = {"data": data} | spoilt
    whole = answer(agreed=True, **spoilt)
    assert pair.back.send(whole) == whole
    assert len(portals.reasons) == 1
    assert portals.asked == []


@pytest.mark.parametrize("size", [1000, 1 << 20])
@pytest.mark.parametrize("agreed", [False, True])
@pytest.mark.parametrize("more", range(4))
def test_a_long_text(more: int, agreed: bool, size: int) -> None:
    """More than a record carries: gathered, and replaced as a whole."""
    portals = Map()
    pair = discovering(portals, agreed, MaxRecvDataSegmentLength="262144")
    names = [text(TargetName=f"iqn.2024-01.org.example:{number:04}") for number in range(500)] + [bytes(more)]
    sent, due = (
        answer(text(TargetAddress=address).join(names), agreed) for address in ("10.1.0.5:3260,1", "127.0.0.1:33261,1")
    )
    assert len(sent) > DATA_MAX
    for _ in range(2):
        assert pair.back.send(sent, size) == due
    assert pair.back.finish() == b""
    assert len(portals.asked) == 1000
    assert portals.reasons == []


@pytest.mark.parametrize("missing", [1, 2, 4, 5, 6, DATA_MAX])
def test_a_long_text_that_ends_with_its_connection(missing: int) -> None:
    """All that came is delivered, as it was."""
    pair = discovering(Map(), True)
    whole = answer(text(TargetAddress="10.1.0.5") + bytes(DATA_MAX), True)
    assert pair.back.send(whole[:-missing], 1000) + pair.back.finish() == whole[:-missing]


@pytest.mark.parametrize("agreed", [False, True])
@pytest.mark.parametrize("cut", [52, 53, 1000, DATA_MAX, -9, -1])
def test_a_target_that_stops_within_a_long_text(cut: int, agreed: bool) -> None:
    """What has come goes as it came, and so does the rest, whenever it comes; the next text is looked at again."""
    portals = Map()
    pair = discovering(portals, agreed, MaxRecvDataSegmentLength="262144")
    data = text(TargetAddress="10.1.0.5") + bytes(DATA_MAX + 1)
    whole = answer(data, agreed)
    came = whole[:cut]
    assert pair.back.send(came, 1000) == b""
    assert pair.back.weaver.gathered
    let_go = b"".join(pair.back.weaver.let_go())
    assert came.startswith(let_go)
    assert let_go + pair.back.send(whole[cut:], 1000) == whole
    assert portals.reasons == [f"a text of {len(data)} bytes is not looked at: the target stopped within it"]
    again = answer(data, agreed)
    assert b"127.0.0.1:33261" in pair.back.send(again, 1000)


def test_other_pdus_and_the_other_direction_are_left_alone() -> None:
    portals = Map()
    pair = discovering(portals, False)
    named = text(TargetAddress="10.1.0.5")
    for opcode in set(Opcode) - {Opcode.TEXT_RESPONSE, Opcode.LOGIN_RESPONSE, Opcode.LOGIN_REQUEST}:
        direction = pair.back if opcode & 0x20 else pair.out
        whole = pdu(opcode, data=named)
        assert direction.send(whole) == whole
    assert portals.asked == []
