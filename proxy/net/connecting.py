"""Outgoing TCP connections: to the arrays behind exports, and to peers."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from proxy.config.addresses import Address
from proxy.net.endings import reset_connection

ADDRESS_SECONDS = 3.0
"""How long an address may take to answer while there are others to be tried."""


async def connect(address: Address, prepare: Callable[[socket.socket], None] = reset_connection) -> socket.socket:
    """A connected, non-blocking socket, prepared before it was connected.

    By default it ends by RST until somebody decides otherwise: so an attempt that is given up, by cancellation, never
    looks to the array like a peer that had nothing to say. Of several addresses of a name each is tried, so that one
    that does not answer hides no other. Raises OSError: that of the last one.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    failure = OSError(f"{address.host} has no address")
    for left, (family, kind, protocol, _, where) in zip(reversed(range(len(found))), found, strict=True):
        try:
            async with asyncio.timeout(ADDRESS_SECONDS if left else None):
                return await _connect(loop, socket.socket(family, kind, protocol), prepare, where)
        except OSError as error:
            failure = error
    raise failure


async def take_over(connection: socket.socket, protocol: Callable[[], asyncio.BaseProtocol], **tls: Any) -> None:
    """Have the loop, which is uvloop's, own a connected socket, whatever comes. `tls`: as of `create_connection`.

    uvloop tells the socket so only once the connection has been made. Of one that ends before, both would close the
    descriptor: the second time it is whoever's the kernel gave it to meanwhile, such as another array's.
    """
    try:
        await asyncio.get_running_loop().create_connection(protocol, sock=connection, **tls)
    finally:
        connection.detach()


async def _connect(
    loop: asyncio.AbstractEventLoop,
    connection: socket.socket,
    prepare: Callable[[socket.socket], None],
    where: tuple[object, ...],
) -> socket.socket:
    try:
        connection.setblocking(False)
        prepare(connection)
        await loop.sock_connect(connection, where)
    except BaseException:
        connection.close()
        raise
    return connection
