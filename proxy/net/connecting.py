"""Outgoing TCP connections: to the arrays behind exports, and to peers."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

from proxy.aside import aside
from proxy.config.addresses import Address
from proxy.net.endings import reset_connection
from proxy.net.within import within

ADDRESS_SECONDS = 3.0
"""How long an address may take to answer while there are others to be tried: less where all have to share less."""

_NO_WAY = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EHOSTUNREACH)
"""This host has no address of that kind, or no way there; those that say least of the other side first."""

_asked: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Address, asyncio.Task[list[Any]]]] = WeakKeyDictionary()
"""Questions for names under way."""


async def connect(
    address: Address, prepare: Callable[[socket.socket], None] = reset_connection, *, seconds: float = inf
) -> socket.socket:
    """A connected, non-blocking socket, prepared before it was connected. `seconds`: after which it is given up.

    By default it ends by RST until somebody decides otherwise: so an attempt that is given up, by cancellation, never
    looks to the array like a peer that had nothing to say. Of several addresses of a name each is tried, so that one
    that does not answer hides no other. Raises OSError: the most `telling` one.
    """
    loop = asyncio.get_running_loop()
    found = await _addresses(loop, address)
    each = min(ADDRESS_SECONDS, seconds / max(1, len(found)))
    failures: list[OSError] = []
    for left, (family, kind, protocol, _, where) in zip(reversed(range(len(found))), found, strict=True):
        try:
            async with within(each if left else None):
                return await _connect(loop, socket.socket(family, kind, protocol), prepare, where)
        except OSError as error:
            failures.append(error)
    raise telling(failures) or OSError(f"{address.host} has no address")


def telling(failures: Sequence[OSError]) -> OSError | None:
    """Of those of a name's addresses the one that says most of the other side, and of such the last. None of none.

    To a host that has no IPv6 a name of both kinds is unreachable by its last address, always, and whatever is wrong.
    """
    return max(reversed(failures), key=lambda error: _says(error.errno), default=None)


def _says(number: int | None) -> int:
    return _NO_WAY.index(number) if number in _NO_WAY else len(_NO_WAY)


def plain(error: Exception) -> str:
    """Why it failed, in the system's words, without Python's around them; empty if nobody says."""
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or error)  # of a name that cannot be looked up


async def _addresses(loop: asyncio.AbstractEventLoop, address: Address) -> list[Any]:
    """As of `getaddrinfo`; those who ask at once share one question.

    A question cannot be taken back. While no name server answers, attempts that give up and begin anew would leave more
    of them behind than are ever answered.
    """
    asked = _asked.setdefault(loop, {})
    task = asked.get(address)
    if task is None:
        task = asked[address] = loop.create_task(_ask(loop, address))
        task.add_done_callback(partial(_answered, asked, address))
    return await asyncio.shield(task)


async def _ask(loop: asyncio.AbstractEventLoop, address: Address) -> list[Any]:
    """Names on a thread that ends with the process.

    uvloop has its own threads for this, and waits for them when it is closed: while no name server answers, a site that
    has stopped was there for half a minute more, in the way of its successor.
    """
    if address.ip is not None:
        return await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    return await asyncio.wrap_future(aside(partial(_look_up, address), "looking up"))


def _look_up(address: Address) -> list[Any]:
    return socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)


def _answered(asked: dict[Address, asyncio.Task[list[Any]]], address: Address, done: asyncio.Task[list[Any]]) -> None:
    del asked[address]
    if not done.cancelled():
        done.exception()  # perhaps nobody waits for it any more


async def take_over(connection: socket.socket, protocol: Callable[[], asyncio.BaseProtocol], **tls: Any) -> None:
    """Have the loop, which is uvloop's, own a connected socket, whatever comes. `tls`: as of `create_connection`.

    uvloop tells the socket so only once the connection has been made. Of one that ends before, both would close the
    descriptor: the second time it is whoever's the kernel gave it to meanwhile, such as another array's.
    """
    making = asyncio.get_running_loop().create_connection(protocol, sock=connection, **tls)
    try:
        await (_ended_with(connection, making) if tls else making)
    finally:
        connection.detach()


async def _ended_with(connection: socket.socket, making: Coroutine[Any, Any, Any]) -> None:
    """`making` adds TLS to that connection; who gives it up ends that.

    Cancelled before TLS has begun, uvloop would have nobody hear of an error of that: it was logged as a defect.
    """
    task = asyncio.ensure_future(making)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        await asyncio.gather(task, return_exceptions=True)
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
        await loop.sock_connect(connection, where)
    except BaseException:
        connection.close()
        raise
    return connection
