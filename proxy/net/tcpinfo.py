"""Reads the kernel's view of a TCP connection: TCP_INFO (Linux, include/uapi/linux/tcp.h, struct tcp_info)."""

import socket
import struct
from dataclasses import dataclass
from typing import NamedTuple

from proxy.net.sockets import CLOSED

_STATE = 0  # tcpi_state, u8
_MSS = 16  # tcpi_snd_mss, u32, bytes
_RTT = 68  # tcpi_rtt, u32, microseconds
_CWND = 80  # tcpi_snd_cwnd, u32, segments
_PACKETS_REPEATED = 100  # tcpi_total_retrans, u32
_BYTES_RECEIVED = 128  # tcpi_bytes_received, u64
_PACKETS = 136  # tcpi_segs_out, u32
_MIN_RTT = 148  # tcpi_min_rtt, u32, microseconds
_DATA_PACKETS = 156  # tcpi_data_segs_out, u32
_DELIVERY_RATE = 160  # tcpi_delivery_rate, u64, bytes a second
_RECEIVER_LIMITED = 176  # tcpi_rwnd_limited, u64, microseconds
_BYTES_SENT = 200  # tcpi_bytes_sent, u64, with retransmissions
_BYTES_RETRANS = 208  # tcpi_bytes_retrans, u64
_NEEDLESS = 216  # tcpi_dsack_dups, u32
_LENGTH = 220
_TCP_CLOSE = 7
_TCP_CLOSE_WAIT = 8

_TCP_CC_INFO = 26
_BBR_INFO = struct.Struct("=IIIII")  # rate, low and high half; least round trip; gains of pace and window
_BBR_UNIT = 256


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """Figures of one connection, since it was made unless said otherwise. Bytes are TCP payload, TLS included."""

    round_trip_seconds: float = 0.0
    least_round_trip_seconds: float = 0.0
    congestion_window_segments: int = 0
    segment_bytes: int = 0
    bytes_sent: int = 0
    bytes_retransmitted: int = 0
    bytes_received: int = 0
    packets: int = 0
    """Packets sent with payload, those sent again included; modulo 2^32."""
    packets_lost: int = 0
    """Of these, those sent again for others that had not arrived, as far as is known. Where a host is busy TCP often
    takes for lost what was not: the other end then says that it has got it twice (DSACK, RFC 2883)."""
    empty_packets: int = 0
    """Packets sent without payload, mostly acknowledgements; modulo 2^32."""
    delivery_rate: int = 0
    """Bytes a second that arrive at the other end, lately; 0 before anything was measured."""
    receiver_limited_seconds: float = 0.0
    """For how long the other end's receive window held back what there was to send."""


def tcp_info(connection: socket.socket) -> TcpInfo | None:
    """The connection's figures; None if the kernel does not tell them (an old kernel, or a closed connection)."""
    data = _raw(connection)
    if data is None:
        return None
    retransmitted = _u64(data, _BYTES_RETRANS)
    return TcpInfo(
        round_trip_seconds=_u32(data, _RTT) / 1e6,
        least_round_trip_seconds=_u32(data, _MIN_RTT) / 1e6,
        congestion_window_segments=_u32(data, _CWND),
        segment_bytes=_u32(data, _MSS),
        bytes_sent=_u64(data, _BYTES_SENT) - retransmitted,
        bytes_retransmitted=retransmitted,
        bytes_received=_u64(data, _BYTES_RECEIVED),
        packets=_u32(data, _DATA_PACKETS),
        packets_lost=max(0, _u32(data, _PACKETS_REPEATED) - _u32(data, _NEEDLESS)),
        empty_packets=(_u32(data, _PACKETS) - _u32(data, _DATA_PACKETS)) & 0xFFFFFFFF,
        delivery_rate=_u64(data, _DELIVERY_RATE),
        receiver_limited_seconds=_u64(data, _RECEIVER_LIMITED) / 1e6,
    )


PAUSED = 4
"""Segments that BBR has under way in a pause."""


class Bbr(NamedTuple):
    """BBR's model of the line (TCP_CC_INFO; Linux, include/uapi/linux/inet_diag.h, struct tcp_bbr_info)."""

    rate: int
    """Bytes a second that it believes the line to take."""
    gain: float
    """It sends at so many times that rate."""


def bbr_info(connection: socket.socket) -> Bbr | None:
    """BBR's model, of a connection that uses BBR; None if the kernel does not tell."""
    try:
        data = connection.getsockopt(socket.IPPROTO_TCP, _TCP_CC_INFO, _BBR_INFO.size)
    except CLOSED:
        return None
    if len(data) != _BBR_INFO.size:
        return None
    low, high, _, pacing_gain, _ = _BBR_INFO.unpack(data)
    return Bbr(low | high << 32, pacing_gain / _BBR_UNIT)


class Sending(NamedTuple):
    """How a connection sends at the moment; in the order in which TCP_INFO tells it."""

    round_trip: int = 0
    """Microseconds, lately."""
    window: int = 0
    """Congestion window: segments that may be under way."""
    repeated: int = 0
    """Packets sent again, since the connection was made."""
    pace: int = 0
    """Bytes a second at which the kernel sends, if it has something to send."""
    unsent: int = 0
    """Bytes that the kernel has been given and has not sent yet."""
    least_round_trip: int = 0
    """Microseconds: the lowest of some minutes."""
    packets: int = 0
    """Packets sent with payload, those sent again included, since the connection was made."""
    rate: int = 0
    """Bytes a second that arrive at the other end."""


_SENDING = struct.Struct("=68xI8xI16xIQ32xII4xIQ")
"""In one go, since it is asked before a write: from `_RTT` to `_DELIVERY_RATE`; at 104 tcpi_pacing_rate, u64, and at
144 tcpi_notsent_bytes, u32."""


def sending(connection: socket.socket) -> Sending:
    """How it sends; zeros if the kernel does not tell."""
    data = _raw(connection)
    return Sending() if data is None else Sending(*_SENDING.unpack_from(data))


def reset_error(connection: socket.socket) -> int:
    """The error by which the other end has reset the connection, whether its socket is read or not; 0: it has not.

    EPIPE if it had ended its side before, and ours was open (Linux, tcp_reset): all that it had sent can still be read.
    The error is returned once, since reading SO_ERROR clears it. TCP's state alone does not tell of a reset: it is the
    same when both ends have ended in order, and then there may still be bytes to be read.
    """
    try:
        closed = _state(connection) == _TCP_CLOSE
        return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if closed else 0
    except CLOSED:
        return 0


def has_ended(connection: socket.socket) -> bool:
    """True if the other end has ended its side, read or not, and ours is open."""
    try:
        return _state(connection) == _TCP_CLOSE_WAIT
    except CLOSED:
        return False


def _state(connection: socket.socket) -> int:
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)[_STATE]


def _raw(connection: socket.socket) -> bytes | None:
    try:
        data = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
    except CLOSED:
        return None
    return data if len(data) == _LENGTH else None


def _u32(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("=I", data, offset)[0])


def _u64(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("=Q", data, offset)[0])
