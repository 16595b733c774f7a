"""The kernel's view of a TCP connection: TCP_INFO (Linux, include/uapi/linux/tcp.h, struct tcp_info)."""

import socket
import struct
from dataclasses import dataclass

_STATE = 0  # tcpi_state, u8
_RTT = 68  # tcpi_rtt, u32, microseconds
_CWND = 80  # tcpi_snd_cwnd, u32, segments
_BYTES_RECEIVED = 128  # tcpi_bytes_received, u64
_NOT_SENT = 144  # tcpi_notsent_bytes, u32
_RECEIVER_LIMITED = 176  # tcpi_rwnd_limited, u64, microseconds
_BYTES_SENT = 200  # tcpi_bytes_sent, u64, with retransmissions
_BYTES_RETRANS = 208  # tcpi_bytes_retrans, u64
_LENGTH = 216
_TCP_CLOSE = 7


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """Bytes are TCP payload: TLS records and what they hold."""

    round_trip_seconds: float = 0.0
    congestion_window_segments: int = 0
    bytes_sent: int = 0
    bytes_retransmitted: int = 0
    bytes_received: int = 0
    unsent_bytes: int = 0
    """Given to the kernel, which has not sent them yet."""
    receiver_limited_seconds: float = 0.0
    """The other end's receive window held back."""


def tcp_info(connection: socket.socket) -> TcpInfo | None:
    """None if the kernel does not tell (an old kernel, or a closed connection)."""
    try:
        data = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:
        return None
    if len(data) < _LENGTH:
        return None
    retransmitted = _u64(data, _BYTES_RETRANS)
    return TcpInfo(
        round_trip_seconds=_u32(data, _RTT) / 1e6,
        congestion_window_segments=_u32(data, _CWND),
        bytes_sent=_u64(data, _BYTES_SENT) - retransmitted,
        bytes_retransmitted=retransmitted,
        bytes_received=_u64(data, _BYTES_RECEIVED),
        unsent_bytes=_u32(data, _NOT_SENT),
        receiver_limited_seconds=_u64(data, _RECEIVER_LIMITED) / 1e6,
    )


def was_reset(connection: socket.socket) -> bool:
    """True if the other end has reset the connection, read or not. To be closed then: asking clears the error.

    A connection that both ends have ended in order is closed for the kernel, too, and may have bytes to be read.
    """
    try:
        closed = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)[_STATE] == _TCP_CLOSE
        return closed and connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except OSError:
        return False


def _u32(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("=I", data, offset)[0])


def _u64(data: bytes, offset: int) -> int:
    return int(struct.unpack_from("=Q", data, offset)[0])
