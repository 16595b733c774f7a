"""FrameReader: bytes in any pieces, frames out; what is too long or unknown is refused at its header."""

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.reader import PAYLOAD_MAX, Frame, FrameReader, encode, header
from tests.unit.protocol.playbook import fed, lane_reader

LONGEST = {
    FrameType.HELLO: 4096,
    FrameType.CLOSE: 514,
    FrameType.PING: 8,
    FrameType.PONG: 8,
    FrameType.ACK: 1 << 20,
    FrameType.CREDIT: 1 << 20,
    FrameType.DRAIN: 512,
    FrameType.LANES: 128,
    FrameType.STORE: 8,
    FrameType.OPEN: 512,
    FrameType.ACCEPT: 0,
    FrameType.DATA: 590080,
    FrameType.END: 1032,
    FrameType.RESET: 514,
    FrameType.MISS: 32768,
    FrameType.FILL: 295205,
    FrameType.WAIVE: 8,
}

FIRST = {FrameType.HELLO, FrameType.CLOSE}


def feed(reader: FrameReader, data: bytes) -> list[Frame]:
    return [*fed(reader, data)]


@pytest.mark.parametrize("kind", list(FrameType))
def test_the_longest_frame_of_each_type_fits(kind: FrameType) -> None:
    payload = bytes(LONGEST[kind])
    assert feed(lane_reader(), encode(kind, 5, 6, payload)) == [Frame(kind, 5, 6, payload)]


@pytest.mark.parametrize("kind", list(FrameType))
def test_a_longer_one_is_refused_at_its_header(kind: FrameType) -> None:
    reader = lane_reader()
    with pytest.raises(PeerError, match=f"{kind.name}.*{LONGEST[kind] + 1} bytes.*at most {LONGEST[kind]}"):
        feed(reader, header(kind, LONGEST[kind] + 1, 5, 6))
    with pytest.raises(Misuse, match=kind.name):
        encode(kind, 5, 6, bytes(LONGEST[kind] + 1))


@pytest.mark.parametrize("kind", sorted(set(range(256)) - set(FrameType)))
def test_unknown_types_are_refused(kind: int) -> None:
    with pytest.raises(PeerError, match=f"0x{kind:02x}.*no such type"):
        feed(lane_reader(), header(kind, 0, 0, 0))


@pytest.mark.parametrize("kind", sorted(set(FrameType) - FIRST))
def test_what_may_not_come_first_is_refused_at_its_header_until_it_may(kind: FrameType) -> None:
    """Who has not said who it is gets room for HELLO and CLOSE."""
    reader, head = FrameReader(), header(kind, LONGEST[kind], 5, 6)
    with pytest.raises(PeerError, match=f"{kind.name} 6 of stream 5 .*: comes before HELLO"):
        feed(reader, head)
    reader.go_on()
    payload = bytes(LONGEST[kind])
    assert feed(reader, payload + bytes(1)) == [Frame(kind, 5, 6, payload)]


@pytest.mark.parametrize("kind", sorted(FIRST))
def test_what_may_come_first(kind: FrameType) -> None:
    payload = bytes(LONGEST[kind])
    assert feed(FrameReader(), encode(kind, 0, 0, payload)) == [Frame(kind, 0, 0, payload)]


@pytest.mark.parametrize(
    ("reader", "head"),
    [
        pytest.param(lane_reader(), header(FrameType.DATA, 0xFFFFFF, 5, 6), id="of all ones"),
        pytest.param(FrameReader(), header(FrameType.ACK, PAYLOAD_MAX, 0, 0), id="that may not come first"),
    ],
)
def test_a_length_that_is_refused_takes_no_memory(reader: FrameReader, head: bytes) -> None:
    before = len(reader.get_buffer())
    with pytest.raises(PeerError):
        feed(reader, head)
    assert len(reader.get_buffer()) <= before


def test_the_reader_stays_at_the_frame_that_was_refused() -> None:
    reader = lane_reader()
    for _ in range(2):
        with pytest.raises(PeerError):
            feed(reader, header(0x99, 0, 0, 0) + encode(FrameType.PING, 0, 0, bytes(8)))


def test_frames_before_a_bad_one_are_given() -> None:
    reader = lane_reader()
    data = encode(FrameType.PING, 0, 0, bytes(8)) + header(0x99, 0, 0, 0)
    reader.get_buffer()[: len(data)] = data
    reader.received(len(data))
    first = reader.next_frame()
    assert first is not None
    assert first.type == FrameType.PING
    with pytest.raises(PeerError):
        reader.next_frame()


def test_byte_by_byte() -> None:
    frames = [Frame(FrameType.DATA, 1, n, bytes([n]) * 300) for n in range(5)]
    reader = lane_reader()
    found = []
    for byte in b"".join(encode(*frame) for frame in frames):
        found += feed(reader, bytes([byte]))
    assert found == frames


def test_there_is_always_room_to_read() -> None:
    reader = lane_reader()
    data = encode(FrameType.DATA, 1, 0, bytes(590080)) * 3
    at = 0
    while at < len(data):
        room = reader.get_buffer()
        assert len(room) >= 64 << 10
        size = min(len(room), 60_000, len(data) - at)
        room[:size] = data[at : at + size]
        at += size
        reader.received(size)
        while reader.next_frame() is not None:
            pass


def test_the_buffer_is_small_until_long_frames_come_and_never_more_than_one_of_them() -> None:
    reader = lane_reader()
    assert len(reader.get_buffer()) <= 256 << 10
    feed(reader, encode(FrameType.ACK, 0, 0, bytes(1 << 20)) * 2)
    assert len(reader.get_buffer()) <= 16 + PAYLOAD_MAX + (64 << 10)


def test_payloads_are_views_until_the_next_buffer() -> None:
    reader = lane_reader()
    data = encode(FrameType.PING, 0, 0, b"12345678")
    reader.get_buffer()[: len(data)] = data
    reader.received(len(data))
    frame = reader.next_frame()
    assert frame is not None
    assert isinstance(frame.payload, memoryview)
    assert bytes(frame.payload) == b"12345678"


def test_nobody_can_have_read_more_than_there_is_room() -> None:
    """Behind what has come already."""
    reader = lane_reader()
    feed(reader, bytes(10))
    room = len(reader.get_buffer())
    for n in (-1, room + 1):
        with pytest.raises(Misuse):
            reader.received(n)
    reader.received(room)
