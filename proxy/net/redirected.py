"""Where a connection was meant to go before netfilter redirected it to this host (`redirect` or `dnat` of nftables)."""

import ipaddress
import socket
import struct

from proxy.config.addresses import Address

_SO_ORIGINAL_DST = 80
"""An option of connection tracking, alike for both IPs (linux/netfilter_ipv4.h, linux/netfilter_ipv6/ip6_tables.h)."""
_SOCKADDR_IN = struct.Struct("!2xH4s8x")
_SOCKADDR_IN6 = struct.Struct("!2xH4x16s4x")


def meant_for(connection: socket.socket) -> Address | None:
    """The original destination of an accepted connection; None if it was not redirected."""
    six = connection.family == socket.AF_INET6
    level, layout = (socket.IPPROTO_IPV6, _SOCKADDR_IN6) if six else (socket.IPPROTO_IP, _SOCKADDR_IN)
    try:
        port, packed = layout.unpack(connection.getsockopt(level, _SO_ORIGINAL_DST, layout.size))
    except OSError:  # nothing tracks it, so nothing has redirected it
        return None
    address = Address(str(ipaddress.ip_address(packed)), port)
    reached = connection.getsockname()
    return None if address == Address(reached[0].partition("%")[0], reached[1]) else address
