"""HELLO: what it must say, and what two of them come to."""

from dataclasses import replace

import pytest

from proxy.protocol.codes import Capability, CloseCode
from proxy.protocol.errors import HelloRefused, Misuse, PeerError
from proxy.protocol.hello import Hello, agree
from proxy.protocol.reader import HELLO_MAX

EAST = Hello(
    site="east",
    peer="west",
    half=b"half of east    ",
    known_half=None,
    store=b"store of east   ",
    epochs=(b"epoch  2", b"epoch  1"),
    initial_credit=1 << 20,
    streams=1024,
    capabilities=frozenset({Capability.ZSTD, Capability.SLICES}),
    software="isthmus 0.1.0",
)
WEST = replace(EAST, site="west", peer="east", half=b"half of west    ", store=b"store of west   ", streams=7)

HEAD = EAST.encode()[:12]


def field(kind: int, value: bytes) -> bytes:
    return kind.to_bytes(2, "big") + len(value).to_bytes(2, "big") + value


def test_round_trip() -> None:
    assert Hello.decode(EAST.encode()) == EAST
    paired = replace(EAST, known_half=WEST.half, capabilities=frozenset(), software="")
    assert Hello.decode(paired.encode()) == paired


def test_unknown_fields_are_skipped() -> None:
    assert Hello.decode(EAST.encode() + field(99, b"what is to come")) == EAST


@pytest.mark.parametrize("number", [1, 2, 3, 5, 6, 7, 8, 9])
def test_fields_that_must_be_there(number: int) -> None:
    data, kept = EAST.encode()[12:], b""
    while data:
        size = 4 + int.from_bytes(data[2:4], "big")
        kept += data[:size] if int.from_bytes(data[:2], "big") != number else b""
        data = data[size:]
    with pytest.raises(PeerError, match=rf"fields \[{number}\] are missing"):
        Hello.decode(HEAD + kept)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "does not begin with the magic"),
        (b"ISTHMUS\1\0\1\0\1", "does not begin with the magic"),
        (HEAD[:11], "does not begin with the magic"),
        (bytes(4097), "4097 bytes, but at most 4096"),
        (EAST.encode() + field(1, b"east"), "field 1 comes twice"),
        (EAST.encode() + field(99, b"") + field(99, b""), "field 99 comes twice"),
        (EAST.encode() + b"\0\x63\0", "is cut off"),
        (EAST.encode() + b"\0\x63\0\x02x", "reaches beyond the end"),
        (HEAD, "fields [1, 2, 3, 5, 6, 7, 8, 9] are missing"),
    ],
)
def test_malformed(data: bytes, sentence: str) -> None:
    with pytest.raises(PeerError) as caught:
        Hello.decode(data)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("number", "value", "sentence"),
    [
        (1, b"", "1 to 64 bytes"),
        (1, b"x" * 65, "1 to 64 bytes"),
        (2, b"\xff", "not UTF-8"),
        (3, bytes(15), "half has 16 bytes, not 15"),
        (4, bytes(17), "known half has 16 bytes, not 17"),
        (5, b"", "store has 16 bytes, not 0"),
        (6, b"", "epochs is 1 to 16, not 0"),
        (6, bytes(9), "epochs has 9 bytes"),
        (6, bytes(8 * 17), "epochs is 1 to 16, not 17"),
        (7, bytes(4), "initial credit has 8 bytes, not 4"),
        (7, (65535).to_bytes(8, "big"), "initial credit is 65536 to 16777216, not 65535"),
        (7, b"\xff" * 8, "initial credit is"),
        (8, bytes(4), "streams is 1 to 65536, not 0"),
        (8, bytes(5), "streams has 4 bytes, not 5"),
        (9, bytes(3), "capabilities has 3 bytes"),
        (9, b"".join(n.to_bytes(2, "big") for n in range(65)), "capabilities is 0 to 64, not 65"),
        (9, bytes(2 * 65), "capabilities is 0 to 64, not 65"),
        (10, b"\xff", "not UTF-8"),
    ],
)
def test_values_that_cannot_be(number: int, value: bytes, sentence: str) -> None:
    fields = {
        1: b"east",
        2: b"west",
        3: bytes(16),
        5: bytes(16),
        6: bytes(8),
        7: (1 << 16).to_bytes(8, "big"),
        8: b"\0\0\0\1",
        9: b"",
    }
    assert Hello.decode(HEAD + b"".join(field(*each) for each in fields.items())).streams == 1
    fields[number] = value
    with pytest.raises(PeerError) as caught:
        Hello.decode(HEAD + b"".join(field(*each) for each in fields.items()))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("lowest", "highest"), [(0, 1), (2, 1), (0, 0)])
def test_versions_that_cannot_be(lowest: int, highest: int) -> None:
    head = HEAD[:8] + lowest.to_bytes(2, "big") + highest.to_bytes(2, "big")
    with pytest.raises(PeerError, match=f"versions {lowest} to {highest}"):
        Hello.decode(head + EAST.encode()[12:])


def test_software_is_made_fit_for_a_log() -> None:
    assert Hello.decode(replace(EAST, software="x\ny").encode()).software == "x\\ny"


def test_we_do_not_say_what_the_peer_would_refuse() -> None:
    with pytest.raises(Misuse, match="half has 16 bytes"):
        replace(EAST, half=b"")


def test_agreement() -> None:
    agreement = agree(EAST, replace(WEST, capabilities=frozenset({Capability.ZSTD, 77})))
    assert agreement.version == 1
    assert agreement.capabilities == {Capability.ZSTD}
    assert (agreement.initial_credit, agreement.streams) == (1 << 20, 7)
    assert (agreement.store, agreement.epochs) == (WEST.store, WEST.epochs)


def test_the_highest_common_version() -> None:
    assert agree(replace(EAST, highest=5), replace(WEST, lowest=2, highest=3)).version == 3


@pytest.mark.parametrize(
    ("theirs", "code", "sentence"),
    [
        (replace(EAST, peer="east"), CloseCode.WRONG_NAME, "both sites are called 'east'"),
        (replace(WEST, site="north"), CloseCode.WRONG_NAME, "'north' calling 'east' came to 'east' expecting 'west'"),
        (replace(WEST, peer="north"), CloseCode.WRONG_NAME, "'west' calling 'north' came to 'east' expecting 'west'"),
        (
            replace(WEST, peer="north"),
            CloseCode.WRONG_NAME,
            "the peer.name of each has to be the site.name of the other",
        ),
        (replace(WEST, site="a\nb"), CloseCode.WRONG_NAME, "'a\\nb' calling"),
        (
            replace(WEST, lowest=2, highest=3),
            CloseCode.VERSION,
            "no common version: east speaks 1 to 1, west 2 to 3; upgrade east",
        ),
        (
            replace(WEST, capabilities=frozenset({1})),
            CloseCode.SETTINGS,
            "capabilities do not suffice: east needs [2], west offers [1]",
        ),
    ],
)
def test_refusals(theirs: Hello, code: CloseCode, sentence: str) -> None:
    with pytest.raises(HelloRefused) as caught:
        agree(EAST, theirs, needed={int(Capability.SLICES)})
    assert caught.value.code == code
    assert sentence in str(caught.value)


def test_an_older_peer_is_the_one_to_upgrade() -> None:
    with pytest.raises(HelloRefused, match="east speaks 2 to 3, west 1 to 1; upgrade west"):
        agree(replace(EAST, lowest=2, highest=3), WEST)


def test_padding_says_nothing() -> None:
    """As long as may be, or as it is where there is no room for a field."""
    plain = EAST.encode()
    assert len(EAST.encode(HELLO_MAX)) == HELLO_MAX
    assert Hello.decode(EAST.encode(HELLO_MAX)) == EAST
    assert len(EAST.encode(len(plain) + 4)) == len(plain) + 4
    assert EAST.encode(len(plain) + 3) == plain
