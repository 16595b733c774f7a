"""Listening sockets: bound before anything starts, so that an address in use is said at once."""

import socket
from typing import Any

from proxy.config.addresses import Address

BACKLOG = 512


def name_of(address: tuple[Any, ...] | None) -> str:
    """A socket's address as Python has it, in words: "192.0.2.1:4500", "[2001:db8::1]:4500"."""
    return str(Address(address[0], address[1])) if address else "unknown"


def bind(address: Address) -> socket.socket:
    """A non-blocking listening socket. Raises OSError with the address in its message."""
    listener = reserve(address)
    try:
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def reserve(address: Address) -> socket.socket:
    """A non-blocking socket that is bound, and does not listen yet: nobody can connect. Raises OSError."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        host, _, scope = address.host.partition("%")
        where = (host, address.port, 0, socket.if_nametoindex(scope) if scope else 0)
        listener.bind(where if family == socket.AF_INET6 else where[:2])
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
