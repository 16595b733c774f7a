"""Socket options: what is asked of the kernel for a connection."""

import contextlib
import socket
import struct
from pathlib import Path

CLOSED = (OSError, ValueError)
"""What an option may raise if the connection has ended: uvloop's socket may have lost its descriptor before a protocol
behind TLS hears of the end."""

_SYSCTL = Path("/proc/sys/net/ipv4")
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
"""TCP keepalive: seconds of silence before the first probe, seconds between probes, probes in vain."""
_ECN_BITS = 2
"""Below the DSCP in the IPv4 TOS and the IPv6 traffic class (RFC 2474, section 3)."""


def congestion_control(wanted: str) -> str:
    """The name to ask the kernel for: what is wanted; if that is "auto", BBR where the kernel has it now, else its
    default, or nothing if it does not say."""
    if wanted != "auto":
        return wanted
    try:
        offered = (_SYSCTL / "tcp_available_congestion_control").read_text().split()
        return BBR if BBR in offered else (_SYSCTL / "tcp_congestion_control").read_text().strip()
    except OSError:
        return ""


def choose_congestion_control(connection: socket.socket, wanted: str) -> str:
    """Ask the kernel for a congestion control; returns the one that it uses then. The kernel refuses one that it does
    not have, or that only the administrator may use."""
    if wanted:
        with contextlib.suppress(*CLOSED):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, wanted.encode())
    try:
        answer = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    except CLOSED:
        return ""
    return answer.split(b"\0")[0].decode(errors="replace")


def begin_bbr_anew(connection: socket.socket) -> str:
    """Have BBR forget what it has measured, on a connection that uses it; returns the congestion control used then.

    The kernel does nothing if it is asked for the one that it uses; so it is asked for another one in between. Where
    that is not allowed nothing changes. The congestion window stays as it is.
    """
    choose_congestion_control(connection, _RENO)
    return choose_congestion_control(connection, BBR)


def limit_pace(connection: socket.socket, rate: int | None) -> None:
    """Have the kernel send no faster than so many bytes a second, payload of TCP; None: as fast as it likes."""
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _PACE.pack(_NO_LIMIT if rate is None else rate))


def shorten_segments(connection: socket.socket) -> None:
    """Have both ends send packets of 1280 bytes at most: every path carries those (RFC 8200, section 5).

    To be called before the connection is made, so that the other end is told (MSS).
    """
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SHORT_SEGMENT)


def notice_absence(connection: socket.socket) -> None:
    """Have the kernel end the connection some two minutes after the other end has gone without a word (TCP keepalive).

    Without proxies the arrays' own keepalive would notice that (RFC 9293, section 3.8.4). Here a proxy answers it for
    an array that is gone, and the far array would keep the connection, with all that is reserved for it, for ever.
    """
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _SILENT)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _ASKED_EVERY)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _ASKED)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def spare_questions(connection: socket.socket, *, spared: bool) -> None:
    """Have the kernel no longer ask the other end whether it is still there (`notice_absence`); not `spared`: again."""
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, not spared)


def keep_urgent(connection: socket.socket) -> None:
    """Have bytes that are sent as urgent read in their place (SO_OOBINLINE); of a listener: on all that it accepts.

    By default such a byte is given only to a program that asks for it, and is missing in its place: the far array would
    get all others, and an orderly end. That it was urgent is not carried across (RFC 6093 advises against it anyway).
    """
    with contextlib.suppress(*CLOSED):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)


def make_room(connection: socket.socket, size: int) -> None:
    """Have the kernel's receive buffer hold about `size` bytes, less its own bookkeeping.

    Where many connections take turns, the kernel's auto-tuning gives each what it needs from one turn to the next, so
    that turns which begin short stay short. Setting a low-water mark grows the buffer to twice that (Linux,
    tcp_set_rcvlowat), up to half of net.ipv4.tcp_rmem, and does not end the auto-tuning, as SO_RCVBUF would. If the
    kernel refuses, the connection goes without.
    """
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, size // 2)
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)


def mark_packets(connection: socket.socket, dscp: int) -> None:
    """Set the DSCP of a connection's packets. A kernel that refuses leaves them unmarked.

    A socket of IPv6 that is connected to an address such as ::ffff:192.0.2.1 sends packets of IPv4, for which only
    IPv4's option counts; so both are set.
    """
    options = [(socket.IPPROTO_IP, socket.IP_TOS)]
    if connection.family == socket.AF_INET6:
        options.append((socket.IPPROTO_IPV6, socket.IPV6_TCLASS))
    for level, option in options:
        with contextlib.suppress(*CLOSED):
            connection.setsockopt(level, option, dscp << _ECN_BITS)
