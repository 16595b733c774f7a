"""Whatever a target names: addresses that are mapped are replaced, nothing else changes, and no PDU breaks."""

import ipaddress
import itertools

from hypothesis import given
from hypothesis import strategies as st

from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import CONTINUED, FINAL, Opcode, Sender
from proxy.iscsi.portals import Portal, PortalTexts, parse_portal
from tests.unit.iscsi.pdus import digests, login, login_answer, pdu
from tests.unit.iscsi.sites import Cut, OneForAll, Pair

IPS = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6))
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}(\.[a-z0-9-]{1,20}){0,3}", fullmatch=True)
PORTALS = st.builds(Portal, st.one_of(IPS.map(str), NAMES), st.integers(1, 65535))
TAGS = st.one_of(st.just(b""), st.integers(0, 65535).map(lambda tag: f",{tag}".encode()))
ADDRESSES = st.builds(lambda portal, tag: b"TargetAddress=" + str(portal).encode() + tag, PORTALS, TAGS)
NOISE = st.binary(max_size=40).map(lambda pair: pair.replace(b"\0", b"="))
TEXTS = st.lists(st.one_of(ADDRESSES, NOISE), max_size=8).map(lambda pairs: b"".join(pair + b"\0" for pair in pairs))


def expected(pair: bytes, portal: Portal) -> bytes:
    found = parse_portal(pair.removeprefix(b"TargetAddress=")) if pair.startswith(b"TargetAddress=") else None
    return pair if found is None else b"TargetAddress=" + str(portal).encode() + found[1]


@given(PORTALS, TAGS)
def test_what_is_written_is_read(portal: Portal, tag: bytes) -> None:
    assert parse_portal(str(portal).encode() + tag) == (portal, tag)


@given(st.ip_addresses(v=6))
def test_all_ways_to_write_an_address_are_one(ip: ipaddress.IPv6Address) -> None:
    ways = {ip.exploded, ip.compressed, ip.exploded.upper()}
    assert {parse_portal(f"[{way}]:3260".encode()) for way in ways} == {(Portal(str(ip), 3260), b"")}


@given(st.binary(max_size=60))
def test_any_value_is_an_address_or_none(value: bytes) -> None:
    found = parse_portal(value)
    if found is not None:
        portal, rest = found
        assert value.endswith(rest)
        assert parse_portal(str(portal).encode()) == (portal, b"")


@given(TEXTS, st.lists(st.integers(0, 300), max_size=4), PORTALS)
def test_every_split(text: bytes, cuts: list[int], portal: Portal) -> None:
    """Pairs that lie in one PDU are replaced; with nobody who knows a portal all is as it was."""
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[at:end] for at, end in itertools.pairwise(edges)]
    for portals in (OneForAll(None), OneForAll(portal)):
        texts = PortalTexts(portals)
        out = []
        for at, piece in enumerate(pieces):
            first = CONTINUED if at + 1 < len(pieces) else FINAL
            out.append(texts.rewritten(pdu(Opcode.TEXT_RESPONSE, first), piece, 1 << 24))
        due, at = [], 0
        for pair in text.split(b"\0"):
            whole = not any(at < edge <= at + len(pair) for edge in edges[1:-1])
            due.append(expected(pair, portal) if whole and portals.portal else pair)
            at += len(pair) + 1
        assert b"".join(out) == b"\0".join(due)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans(), st.booleans(), PORTALS, st.integers(1, 400))
def test_what_arrives_parses(texts: list[bytes], header: bool, data: bool, portal: Portal, size: int) -> None:
    """As an initiator would read it: every header and digest is right, no text is longer than it takes."""
    pair = Pair(portals=OneForAll(portal))
    keys = digests(header, data) + b"MaxRecvDataSegmentLength=512\0"
    initiator = Connection()
    sent, heard = Framer(initiator, Sender.INITIATOR), Framer(initiator, Sender.TARGET)
    pair.out.send(login(keys))
    sent.receive(memoryview(login(keys)), 0.0, Cut())
    came = pair.back.send(login_answer(digests(header, data)))
    for text in texts:
        whole = pdu(Opcode.TEXT_RESPONSE, data=text[:512], header_digest=header, data_digest=data)
        came += pair.back.send(whole, size)
    cut = Cut()
    heard.receive(memoryview(came), 0.0, cut)
    for span in cut:
        assert int.from_bytes(span.data[6:9]) <= 512
    assert heard.fallen is None
    assert heard.wrong_digests == heard.held == 0
    assert heard.pdus == 1 + len(texts)
