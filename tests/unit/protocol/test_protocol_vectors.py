"""The frames of tests/vectors/protocol, byte for byte: what they mean, and that we send just them."""

from dataclasses import replace
from pathlib import Path

import pytest

from proxy.protocol import frames
from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, encode
from tests.unit.protocol.playbook import cut

VECTORS = Path(__file__).parents[2] / "vectors" / "protocol"
FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))
TOKEN = 0x0123456789ABCDEF
DATA = b"\0\0\0\x05\0\0\0\x02\0\0\0\x05\x01\x05hello"

EAST = Hello(
    site="east",
    peer="west",
    half=bytes(range(16)),
    known_half=None,
    store=bytes(range(48, 64)),
    epochs=(b"\0\0\0\0\0\0\0\x02", b"\0\0\0\0\0\0\0\x01"),
    initial_credit=256 << 10,
    streams=1024,
    capabilities=frozenset({1, 2, 4}),
    software="isthmus 0.1.0",
)
PAIRED = replace(EAST, known_half=bytes(range(16, 32)))
MARKED = replace(EAST, mark=18)

MEANING = {
    "hello": Frame(FrameType.HELLO, 0, 0, EAST.encode()),
    "hello_paired": Frame(FrameType.HELLO, 0, 0, PAIRED.encode()),
    "hello_marked": Frame(FrameType.HELLO, 0, 0, MARKED.encode()),
    "close": Frame(FrameType.CLOSE, 0, 0, frames.encode_close(CloseCode.SURPLUS, "enough")),
    "ping": Frame(FrameType.PING, 0, 0, frames.encode_token(TOKEN)),
    "pong": Frame(FrameType.PONG, 0, 0, frames.encode_token(TOKEN)),
    "ack": Frame(FrameType.ACK, 0, 0, frames.encode_ack([(1, 3), (6, frames.OVER)])),
    "ack_empty": Frame(FrameType.ACK, 0, 0, frames.encode_ack([])),
    "credit": Frame(FrameType.CREDIT, 0, 0, frames.encode_credit([(1, 756, 66292)])),
    "drain": Frame(FrameType.DRAIN, 0, 0, frames.encode_drain("upgrade")),
    "lanes": Frame(FrameType.LANES, 0, 0, frames.encode_lanes({0: 4, 18: 1})),
    "store": Frame(FrameType.STORE, 0, 0, frames.encode_store(4_000_000)),
    "open": Frame(FrameType.OPEN, 1, 0, frames.encode_open("array", "10.0.0.1")),
    "accept": Frame(FrameType.ACCEPT, 1, 0, b""),
    "data": Frame(FrameType.DATA, 1, 1, DATA),
    "end": Frame(FrameType.END, 1, 2, frames.encode_end(5, b"\x03\x05\x01\x02\x03\x04\x05\x06\x07\x08")),
    "reset": Frame(FrameType.RESET, 2, 3, frames.encode_reset(ResetCode.UNREACHABLE, "port closed")),
    "miss": Frame(FrameType.MISS, 1, 1, frames.encode_miss([FIRST, SECOND])),
    "fill": Frame(FrameType.FILL, 1, 4, frames.encode_fill(FIRST, 0, 3, b"abc")),
    "fill_gone": Frame(FrameType.FILL, 1, 5, frames.encode_fill(FIRST, 0, 0, b"")),
    "waive": Frame(FrameType.WAIVE, 1, 6, frames.encode_waive(12 << 20)),
}


def vector(name: str) -> bytes:
    """The bytes of a file: hexadecimal, blanks and comments left out."""
    text = (VECTORS / f"{name}.hex").read_text()
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))


def test_every_vector_has_a_meaning_and_every_type_a_vector() -> None:
    assert {path.stem for path in VECTORS.glob("*.hex")} == set(MEANING)
    assert {frame.type for frame in MEANING.values()} == set(FrameType)


@pytest.mark.parametrize("name", MEANING)
def test_we_send_it(name: str) -> None:
    assert encode(*MEANING[name]) == vector(name)


@pytest.mark.parametrize("name", MEANING)
def test_we_read_it(name: str) -> None:
    assert cut([vector(name)]) == [MEANING[name]]


def test_hello_means_what_it_says() -> None:
    assert Hello.decode(vector("hello")[16:]) == EAST
    assert Hello.decode(vector("hello_paired")[16:]) == PAIRED
    assert Hello.decode(vector("hello_marked")[16:]) == MARKED


def test_payloads_mean_what_they_say() -> None:
    assert frames.decode_close(vector("close")[16:]) == (CloseCode.SURPLUS, "enough")
    assert frames.decode_token("PING", vector("ping")[16:]) == TOKEN
    assert list(frames.decode_ack(vector("ack")[16:])) == [(1, 3), (6, (1 << 64) - 1)]
    assert list(frames.decode_credit(vector("credit")[16:])) == [(1, 756, 66292)]
    assert frames.decode_drain(vector("drain")[16:]) == "upgrade"
    assert frames.decode_lanes(vector("lanes")[16:]) == {0: 4, 18: 1}
    assert frames.decode_store(vector("store")[16:]) == 4_000_000
    assert frames.decode_open(vector("open")[16:]) == ("array", "10.0.0.1")
    assert frames.decode_data(vector("data")[16:]) == 5
    assert frames.decode_end(vector("end")[16:]) == (5, b"\x03\x05\x01\x02\x03\x04\x05\x06\x07\x08")
    assert frames.decode_reset(vector("reset")[16:]) == (ResetCode.UNREACHABLE, "port closed")
    assert frames.decode_miss(vector("miss")[16:]) == (FIRST, SECOND)
    assert frames.decode_fill(vector("fill")[16:]) == (FIRST, 0, 3, b"abc")
    assert frames.decode_fill(vector("fill_gone")[16:]) == (FIRST, 0, 0, b"")
    assert frames.decode_waive(vector("waive")[16:]) == 12 << 20
