"""Runs of segments are what the kernel would make of them: same bytes at same sequence numbers, checksums that fit.

Packets are built here and read here, by RFC 791, 8200 and 9293 and linux/virtio_net.h.
"""

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from bench.wan.segments import HEADER_BYTES, Packet

NEEDS_CSUM, ALONE, TCP_4, TCP_6 = 1, 0, 1, 4
TCP = 6
FIN, PSH, ACK, CWR = 0x01, 0x08, 0x10, 0x80


@dataclass(frozen=True)
class Sent:
    """What the kernel hands over."""

    version: int
    ip_options: int
    """Words after the IP header: options, or an extension header."""
    tcp_options: int
    step: int
    payload: bytes
    sequence: int
    ip_id: int
    flags: int

    @property
    def read(self) -> bytes:
        """From the device."""
        tcp = bytearray(struct.pack("!HHIIBBHHH", 1, 2, self.sequence, 7, 5 + self.tcp_options << 4, 0, 99, 0, 0))
        tcp[13] = self.flags
        tcp += b"\1\1\x08\x0a" * self.tcp_options
        ip = self.ip(len(tcp) + len(self.payload))
        struct.pack_into("!H", tcp, 16, added(pseudo(ip, len(tcp) + len(self.payload))))
        kind = ALONE if len(self.payload) <= self.step else TCP_4 if self.version == 4 else TCP_6
        step = 0 if kind == ALONE else self.step
        header = struct.pack("=BBHHHH", NEEDS_CSUM, kind, len(ip) + len(tcp), step, len(ip), 16)
        return header + ip + tcp + self.payload

    def ip(self, length: int) -> bytes:
        """Its header, before so many bytes."""
        if self.version == 4:
            words, whole = 5 + self.ip_options, 20 + 4 * self.ip_options + length
            ip = bytearray(struct.pack("!BBHHHBBH", 4 << 4 | words, 0, whole, self.ip_id, 0x4000, 64, TCP, 0))
            ip += bytes(range(8)) + b"\1\1\1\0" * self.ip_options
            struct.pack_into("!H", ip, 10, ~added(ip) & 0xFFFF)
            return bytes(ip)
        extension = bytes([TCP, 0, 1, 4, 0, 0, 0, 0]) if self.ip_options else b""
        first = struct.pack("!IHBB", 6 << 28, len(extension) + length, 0 if extension else TCP, 64)
        return first + bytes(range(32)) + extension


class Segment(NamedTuple):
    """What a packet with its checksums says, or a run of segments."""

    sequence: int
    payload: bytes
    flags: int
    ip_id: int
    step: int
    size: int


def added(data: bytes | bytearray) -> int:
    """Ones' complement sum of 16 bit words."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def pseudo(ip: bytes, length: int) -> bytes:
    """The pseudo-header of TCP over that IP header."""
    return (ip[12:20] if ip[0] >> 4 == 4 else ip[8:40]) + struct.pack("!II", length, TCP)


def heard(packet: bytes) -> Segment:
    """What a packet says that is written to a device; it must be right."""
    flags, kind, headers, step, start, place = struct.unpack_from("=BBHHHH", packet)
    ip, tcp = packet[HEADER_BYTES : HEADER_BYTES + start], packet[HEADER_BYTES + start :]
    size, version = len(ip) + len(tcp), ip[0] >> 4
    words = tcp[12] >> 4
    assert (flags, place, headers) == (NEEDS_CSUM, 16, start + words * 4)
    if version == 4:
        assert struct.unpack_from("!H", ip, 2) == (size,)
        assert added(ip) == 0xFFFF
    else:
        assert struct.unpack_from("!H", ip, 4) == (size - 40,)
    [partial] = struct.unpack_from("!H", tcp, 16)
    assert partial % 0xFFFF == added(pseudo(ip, len(tcp))) % 0xFFFF, "0 and 0xFFFF are the same"
    payload = tcp[words * 4 :]
    assert kind == (ALONE if not step else TCP_4 if version == 4 else TCP_6)
    assert not step or len(payload) > step
    ip_id = struct.unpack_from("!H", ip, 4)[0] if version == 4 else 0
    return Segment(struct.unpack_from("!I", tcp, 4)[0], payload, tcp[13], ip_id, step, size)


def cuts(count: int) -> st.SearchStrategy[list[int]]:
    """Where a packet of so many segments is cut, its ends included."""
    return st.sets(st.integers(0, count)).map(lambda inner: sorted(inner | {0, count}))


packets = st.builds(
    Sent,
    version=st.sampled_from([4, 6]),
    ip_options=st.integers(0, 2),
    tcp_options=st.integers(0, 9),
    step=st.integers(1, 1448),
    payload=st.binary(min_size=1, max_size=300).flatmap(
        lambda some: st.integers(1, 60).map(lambda times: some * times)
    ),
    sequence=st.integers(0, 2**32 - 1),
    ip_id=st.integers(0, 2**16 - 1),
    flags=st.sampled_from([ACK, ACK | PSH, ACK | PSH | FIN, ACK | CWR, ACK | CWR | FIN]),
)


@given(packets, st.data())
def test_runs_carry_the_same_bytes_at_the_same_place(sent: Sent, data: st.DataObject) -> None:
    packet = Packet(sent.read)
    count = len(packet.sizes)
    assert count == -(-len(sent.payload) // sent.step)
    borders = data.draw(cuts(count))
    for first, end in pairwise(borders):
        found = heard(packet.cut(first, end))
        place = first * sent.step
        assert found.payload == sent.payload[place : end * sent.step]
        assert found.sequence == (sent.sequence + place) % 2**32
        assert found.ip_id == ((sent.ip_id + first) % 2**16 if sent.version == 4 else 0)
        only_last = 0 if end == count else PSH | FIN
        only_first = CWR if first else 0
        assert found.flags == sent.flags & ~(only_last | only_first)
        assert found.step == (sent.step if end - first > 1 else 0)
        if end - first == 1:
            assert found.size == packet.sizes[first], "what the line counts"


@given(packets, st.data())
def test_a_run_is_a_packet_like_any_other(sent: Sent, data: st.DataObject) -> None:
    """Cut twice it is the same as cut once."""
    packet = Packet(sent.read)
    count = len(packet.sizes)
    first = data.draw(st.integers(0, count - 1))
    end = data.draw(st.integers(first + 1, count))
    run = Packet(packet.cut(first, end))
    assert run.sizes == packet.sizes[first:end]
    for number in range(len(run.sizes)):
        assert heard(run.cut(number, number + 1)) == heard(packet.cut(first + number, first + number + 1))


@given(st.sampled_from([0, NEEDS_CSUM]), st.binary(min_size=20, max_size=200))
def test_other_packets_pass_as_they_are(flags: int, content: bytes) -> None:
    """UDP, fragments, ICMP: whether somebody still has to compute their checksum is said in their header."""
    read = struct.pack("=BBHHHH", flags, ALONE, 0, 0, 20, 6) + content
    packet = Packet(read)
    assert packet.sizes == [len(content)]
    assert packet.cut(0, 1) == read
