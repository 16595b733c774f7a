"""Binds listening sockets, and accepts their connections.

They are bound before anything starts, so that an address in use is said at once.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from proxy.config.addresses import Address
from proxy.net.sockets import keep_urgent

log = logging.getLogger(__name__)

BACKLOG = 512
_AGAIN = 1.0
"""Seconds between attempts to accept after a failure, such as a want of descriptors."""
_TOLD_AGAIN = 60.0
"""Seconds after which such a failure is logged again: it may last for days."""


async def connections(listener: socket.socket, what: str) -> AsyncGenerator[tuple[socket.socket, str]]:
    """Accept until the listener is closed; yield each connection with its other end's address. Loop thread.

    `what`: the listener's name in the log.
    """
    loop = asyncio.get_running_loop()
    told = float("-inf")
    while listener.fileno() != -1:
        try:
            connection, address = await loop.sock_accept(listener)
        except ConnectionError:
            continue  # it was reset before it was accepted
        except (OSError, ValueError) as error:
            if listener.fileno() != -1:
                if loop.time() - told >= _TOLD_AGAIN:
                    told = loop.time()
                    log.error("%s cannot accept: %s", what, error)
                await asyncio.sleep(_AGAIN)
        else:
            yield connection, name_of(address)


def waiting(listener: socket.socket, most: int) -> Iterator[tuple[socket.socket, str]]:
    """Accept at most so many of the connections that have come already, without a round of the loop for each."""
    for _ in range(most):
        try:
            connection, address = listener.accept()
        except (OSError, ValueError):
            return  # there is none; or something is wrong, which shows when the next one is awaited
        connection.setblocking(False)
        yield connection, name_of(address)


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
    """A non-blocking socket that is bound but does not listen yet, so that nobody can connect. Raises OSError."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keep_urgent(listener)  # before anybody can connect: an array's connection may come before its forward
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
