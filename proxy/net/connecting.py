"""Outgoing TCP connections: to the arrays behind exports, and to peers."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from proxy.aside import aside
from proxy.config.addresses import Address
from proxy.net.endings import reset_connection
from proxy.net.within import Within

ADDRESS_SECONDS = 3.0
"""How long one of a name's addresses may take to answer while others are left to be tried; at most an equal part of the
caller's time."""

_NO_WAY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EHOSTUNREACH)
"""Errors because this host lacks a route, or an address of that family. The first ones say least about the other side.
"""

_asked: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Address, asyncio.Task[list[Any]]]] = WeakKeyDictionary()
"""Look-ups of names that are under way."""


async def connect(
    address: Address, prepare: Callable[[socket.socket], None] = reset_connection, *, seconds: float = inf
) -> socket.socket:
    """Return a connected, non-blocking socket; `prepare` is called with it before it connects.

    By default `prepare` makes the connection end by RST until somebody decides otherwise, so that an attempt that is
    cancelled never looks to the array like a peer that had nothing to say. `seconds`: after how long the caller gives
    up. A name's addresses are tried one after another; each but the last has at most an equal part of that time, so
    that one that does not answer hides no other. Raises the most `telling` OSError.
    """
    loop = asyncio.get_running_loop()
    found = await _addresses(loop, address)
    each = min(ADDRESS_SECONDS, seconds / max(1, len(found)))
    failures: list[OSError] = []
    for left, (family, kind, protocol, _, where) in zip(reversed(range(len(found))), found, strict=True):
        try:
            async with Within(each) if left else nullcontext():
                return await _connect(loop, socket.socket(family, kind, protocol), prepare, where)
        except OSError as error:
            failures.append(error)
    raise telling(failures) or OSError(f"{address.host} has no address")


def telling(failures: Sequence[OSError]) -> OSError | None:
    """Of the failures of a name's addresses, return the one that says most about the other side; of equals, the last.

    None if there are no failures. To a host without IPv6 a name's IPv6 address is always unreachable, which would hide
    what is wrong with the other addresses.
    """
    return max(reversed(failures), key=lambda error: _says(error.errno), default=None)


def _says(number: int | None) -> int:
    return _NO_WAY.index(number) if number in _NO_WAY else len(_NO_WAY)


def in_words(error: Exception) -> str:
    """Why it failed, in the system's words without Python's around them; empty if there are none."""
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or error)  # socket.gaierror has numbers of its own, below 0


async def _addresses(loop: asyncio.AbstractEventLoop, address: Address) -> list[Any]:
    """What `getaddrinfo` returns for the address; callers that ask for the same one meanwhile share the look-up.

    A look-up cannot be cancelled. While no name server answers, attempts that give up and begin anew would leave more
    and more look-ups behind.
    """
    if address.ip is not None:
        return _look_up(address)  # asks no name server. (uvloop's `getaddrinfo` forgets a link-local address's scope.)
    asked = _asked.setdefault(loop, {})
    task = asked.get(address)
    if task is None:
        task = asked[address] = loop.create_task(_ask(address))
        task.add_done_callback(partial(_answered, asked, address))
    return await asyncio.shield(task)


async def _ask(address: Address) -> list[Any]:
    """Look a name up on a thread that ends with the process.

    uvloop has its own threads for this, and waits for them when it is closed: while no name server answers, a site that
    was told to stop would still be there for half a minute, in the way of its successor.
    """
    return await asyncio.wrap_future(aside(partial(_look_up, address), "looking up"))


def _look_up(address: Address) -> list[Any]:
    return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)


def _answered(asked: dict[Address, asyncio.Task[list[Any]]], address: Address, done: asyncio.Task[list[Any]]) -> None:
    del asked[address]
    if not done.cancelled():
        done.exception()  # retrieved, since asyncio would log it if nobody waits for the look-up any more


async def take_over(connection: socket.socket, protocol: Callable[[], asyncio.BaseProtocol], **tls: Any) -> None:
    """Hand a connected socket to the event loop, which owns it even if this fails. `tls`: for `create_connection`.

    uvloop closes the descriptor itself, but detaches it from the socket object only once the connection has been made.
    If that fails, both would close the descriptor, and at the second time its number may already be that of another
    connection.
    """
    making = asyncio.get_running_loop().create_connection(protocol, sock=connection, **tls)
    try:
        await (_ended_with(connection, making) if tls else making)
    finally:
        connection.detach()


async def _ended_with(connection: socket.socket, making: Coroutine[Any, Any, Any]) -> None:
    """Await `making`, which adds TLS to that connection. On cancellation end the connection, so that `making` fails.

    If `making` itself were cancelled before TLS has begun, nobody would catch the error that follows in uvloop, and it
    would be logged as a defect.
    """
    task = asyncio.ensure_future(making)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        ended = asyncio.gather(task, return_exceptions=True)
        while not ended.done():
            with suppress(asyncio.CancelledError):  # once more: a time limit may be over just when the site stops
                await asyncio.shield(ended)
        raise


async def _connect(
    loop: asyncio.AbstractEventLoop,
    connection: socket.socket,
    prepare: Callable[[socket.socket], None],
    where: tuple[object, ...],
) -> socket.socket:
    try:
        connection.setblocking(False)
        prepare(connection)
        error = connection.connect_ex(where)
        if error == errno.EINPROGRESS:
            await _writable(loop, connection)
            error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            raise OSError(error, os.strerror(error))
    except BaseException:
        connection.close()
        raise
    return connection


async def _writable(loop: asyncio.AbstractEventLoop, connection: socket.socket) -> None:
    """Wait until it has connected or failed. (uvloop's `sock_connect` has a thread look the address up again.)"""
    writable = asyncio.Event()
    loop.add_writer(connection, writable.set)
    try:
        await writable.wait()
    finally:
        loop.remove_writer(connection)
