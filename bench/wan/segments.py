"""Packets of many TCP segments, as the kernel hands them over because the TUN device says that it cuts them itself.

Before each packet is a header of ten bytes, `struct virtio_net_hdr` of linux/virtio_net.h. A packet that it calls TCP
of many segments has the headers of one segment, and a longer payload. Its checksum field holds only the sum of the
pseudo-header; a kernel that is given such a packet takes it for right. `Packet` knows its segments, and makes a packet
of any run of them, just as the kernel would. No I/O.
"""

import struct

_HEADER = struct.Struct("=BBHHHH")
"""Flags, kind, bytes of headers, payload of a segment, where the summed part begins, and where in it the sum is."""
HEADER_BYTES = _HEADER.size
LONGEST = HEADER_BYTES + 40 + 65_535
"""Bytes of the longest packet: 40, of IPv6's own header, do not count in its length."""
_ALONE = 0
"""The kind of a packet that is one segment, or not TCP."""
_NUMBER = struct.Struct("!H")
_SEQUENCE = struct.Struct("!I")
_LENGTH, _ID, _SUM = 2, 4, 10
"""Offsets in an IPv4 header."""
_LENGTH_6 = 4
_HEADER_6 = 40
_SEQUENCE_AT, _DATA_AT, _FLAGS_AT = 4, 12, 13
"""Offsets in a TCP header."""
_ONLY_FIRST, _ONLY_LAST = 0x80, 0x09
"""Flags of TCP that only the first segment has (CWR), and those that only the last one has (FIN and PSH)."""


class Packet:
    """A packet that was read from a TUN device: one segment, or many."""

    __slots__ = ("_bytes", "_headers", "_step", "sizes")

    def __init__(self, read: bytes) -> None:
        """`read`: the packet with the virtio header before it."""
        self._bytes = read
        self._headers = self._step = 0
        self.sizes = [len(read) - HEADER_BYTES]
        """Bytes of each segment, IP header included."""
        if read[1] != _ALONE:
            self._divide()

    def _divide(self) -> None:
        _, _, _, self._step, start, _ = _HEADER.unpack_from(self._bytes)
        self._headers = start + (self._bytes[HEADER_BYTES + start + _DATA_AT] >> 4) * 4
        whole, rest = divmod(self.sizes[0] - self._headers, self._step)
        self.sizes = [self._headers + self._step] * whole
        if rest:
            self.sizes.append(self._headers + rest)

    def cut(self, first: int, end: int) -> bytes:
        """Segments `first` to before `end` as one packet, to be written to a TUN device."""
        if end - first == len(self.sizes):
            return self._bytes
        begin = HEADER_BYTES + self._headers
        payload = memoryview(self._bytes)[begin + first * self._step : begin + end * self._step]
        run = bytearray(self._bytes[:begin])
        flags, kind, _, step, start, place = _HEADER.unpack_from(run)
        if end - first == 1:
            kind = step = _ALONE
        _HEADER.pack_into(run, 0, flags, kind, self._headers, step, start, place)
        _change_ip(run, self._headers + len(payload), first)
        self._change_tcp(run, HEADER_BYTES + start, first, end)
        left_out = len(self._bytes) - begin - len(payload)
        _add_to(run, HEADER_BYTES + start + place, ~left_out & 0xFFFF)  # TCP's length is in its pseudo-header
        return b"".join((run, payload))

    def _change_tcp(self, run: bytearray, tcp: int, first: int, end: int) -> None:
        """Give the run its own sequence number and flags."""
        (sequence,) = _SEQUENCE.unpack_from(run, tcp + _SEQUENCE_AT)
        _SEQUENCE.pack_into(run, tcp + _SEQUENCE_AT, (sequence + first * self._step) & 0xFFFFFFFF)
        if first:
            run[tcp + _FLAGS_AT] &= ~_ONLY_FIRST
        if end < len(self.sizes):
            run[tcp + _FLAGS_AT] &= ~_ONLY_LAST


def _change_ip(run: bytearray, size: int, first: int) -> None:
    """Give the run its own length, and with IPv4 its own packet number: each segment has one."""
    if run[HEADER_BYTES] >> 4 == 6:
        _NUMBER.pack_into(run, HEADER_BYTES + _LENGTH_6, size - _HEADER_6)
        return
    (number,) = _NUMBER.unpack_from(run, HEADER_BYTES + _ID)
    for at, value in ((_LENGTH, size), (_ID, (number + first) & 0xFFFF)):
        (old,) = _NUMBER.unpack_from(run, HEADER_BYTES + at)
        _NUMBER.pack_into(run, HEADER_BYTES + at, value)
        _add_to(run, HEADER_BYTES + _SUM, _add(old, ~value & 0xFFFF))  # a complement: RFC 1624


def _add_to(run: bytearray, at: int, number: int) -> None:
    """Add to the number at that place, as `_add` does."""
    (old,) = _NUMBER.unpack_from(run, at)
    _NUMBER.pack_into(run, at, _add(old, number))


def _add(one: int, other: int) -> int:
    """Sum of two numbers of 16 bits in ones' complement."""
    both = one + other
    return (both & 0xFFFF) + (both >> 16)
