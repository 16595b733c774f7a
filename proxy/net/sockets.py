"""What is asked of the kernel for a connection's packets."""

import contextlib
import socket
import struct
from pathlib import Path

CLOSED = (OSError, ValueError)
"""What an option of a connection that has ended may raise: uvloop's sockets have no descriptor any more then, before a
protocol behind TLS hears that its connection is lost."""

_OFFERED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
BBR = "bbr"
"""It does not take loss for congestion: one connection fills a lossy line."""
_RENO = "reno"
"""Every kernel has it."""
_NAME_BYTES = 16
_SO_MAX_PACING_RATE = 47  # asm-generic/socket.h; Python does not name it
_PACE = struct.Struct("@L")
_NO_LIMIT = (1 << 8 * _PACE.size) - 1
_SHORT_SEGMENT = 1220
"""Bytes: 1280 less the headers of IPv6 and TCP."""
_SILENT, _ASKED_EVERY, _ASKED = 60, 10, 6
"""Seconds without a segment after which an array is asked whether it is there, seconds between, times in vain."""
_ECN_BITS = 2
"""Below the DSCP in the IPv4 TOS and the IPv6 traffic class (RFC 2474, section 3)."""


def congestion_control(wanted: str) -> str:
    """What to ask for, if "auto" was wanted: BBR where the kernel offers it, as it takes no loss for congestion."""
    if wanted != "auto":
        return wanted
    try:
        return BBR if BBR in _OFFERED.read_text().split() else ""
    except OSError:
        return ""


def choose_congestion_control(connection: socket.socket, wanted: str) -> str:
    """Ask the kernel for it; what it does then. It refuses what it does not have, or keeps for the administrator."""
    if wanted:
        with contextlib.suppress(*CLOSED):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted.encode())
    try:
        answer = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    except CLOSED:
        return ""
    return answer.split(b"\0")[0].decode(errors="replace")


def begin_bbr_anew(connection: socket.socket) -> str:
    """Have BBR forget what it has seen, on a connection that has it; what the kernel does then.

    Asked for what it does already, the kernel does nothing; so it is asked for another one in between. Where that is
    not allowed nothing changes. The congestion window stays as it is.
    """
    choose_congestion_control(connection, _RENO)
    return choose_congestion_control(connection, BBR)


def limit_pace(connection: socket.socket, rate: int | None) -> None:
    """Have the kernel send no faster than so many bytes a second, payload of TCP; None: as fast as it likes."""
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _PACE.pack(_NO_LIMIT if rate is None else rate))


def shorten_segments(connection: socket.socket) -> None:
    """Have both ends send packets of 1280 bytes at most: every path carries those (RFC 8200, section 5).

    To be asked for before the connection is made, so that it is told to the other end.
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SHORT_SEGMENT)


def notice_absence(connection: socket.socket) -> None:
    """Have the kernel end the connection some two minutes after the other end has gone without a word.

    Between the arrays themselves their own keepalive would find that (RFC 9293, section 3.8.4); here a proxy answers it
    for an array that is no more, and the far array would keep its session, with what that has reserved, for ever.
    """
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _ASKED_EVERY)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _ASKED)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def make_room(connection: socket.socket, size: int) -> None:
    """Have the kernel take in about `size` bytes, less its own bookkeeping, before they are read.

    Many connections take turns; the kernel's own tuning gives each what it needs between two of them, so turns would
    stay as short as they are. A low-water mark makes room for twice itself (Linux, tcp_set_rcvlowat), up to half of
    net.ipv4.tcp_rmem and without an end to the tuning, as SO_RCVBUF would put it. A kernel that refuses goes without.
    """
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size // 2)
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def mark_packets(connection: socket.socket, dscp: int) -> None:
    """Set the DSCP of a connection's packets. A kernel that refuses leaves them unmarked.

    An address such as ::ffff:192.0.2.1 makes a socket of IPv6 send packets of IPv4, which heed IPv4's option alone.
    """
    options = [(socket.IPPROTO_IP, socket.IP_TOS)]
    if connection.family == socket.AF_INET6:
        options.append((socket.IPPROTO_IPV6, socket.IPV6_TCLASS))
    for level, option in options:
        with contextlib.suppress(*CLOSED):
            connection.setsockopt(level, option, dscp << _ECN_BITS)
