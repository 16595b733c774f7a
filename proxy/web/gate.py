"""The gate of the status listener: accepts a bounded number of connections, and ends those that only hold a place.

Each accepted connection is one `Visit` from the first moment to the last, so none is counted twice or forgotten. A
visit on which nothing is answered for a while ends: this rule alone deals with slow senders, slow readers and idlers.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from proxy.aside import DISK_SECONDS
from proxy.bounded_tls import BARRED_SECONDS, BoundedConnection
from proxy.descriptors import scaled
from proxy.web.parties import THIS_HOST, Budget, party_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, for how many seconds they may hold a place, and how many requests may come."""

    visits: int = 128
    """Fewer where the kernel allows few (`scaled`)."""
    of_a_party: int = 64
    idle: float = 15.0
    """Seconds from one answer to the end of the next request; also those for taking an answer."""
    answer: float = 2 * DISK_SECONDS + 10.0
    """Seconds that answering may take: a reload waits for the disks of the site's files, and then of the listener's."""
    handshake: float = 10.0
    requests: int = 400
    """Of a party at once."""
    requests_per_second: float = 200.0


Accept = Callable[[socket.socket], Awaitable[tuple[socket.socket, Any]]]
_BURST, _RATE = 400, 200.0
_BURST_TLS, _RATE_TLS = 100, 20.0
"""Connections of a party, at once and a second; fewer with TLS, whose handshake costs a millisecond."""
_PAUSE = 1.0
"""Seconds before the next attempt when the kernel gives no connection, for want of descriptors."""
_TOLD_AGAIN = 60.0
"""Seconds after which the log says so again: it may last for days."""


@dataclass(slots=True, eq=False)
class Visit:
    """A connection, from being accepted until it is gone."""

    party: str
    connection: socket.socket
    since: float
    """When it came, or the last answer was ready; while an answer is being made, when that began."""
    handler: asyncio.BaseProtocol | None = None
    task: "asyncio.Task[None] | None" = None
    """Its admission, while that is under way."""
    transport: asyncio.Transport | None = None
    """Once it has been admitted."""
    over: bool = False
    """It has been ended; its admission may still be under way."""
    busy: bool = False
    """A request is being answered."""
    lasting: bool = False
    """It is meant to last (server-sent events), and whoever answers sees to its pace."""
    renewed: bool = False
    """What it was admitted by is no longer valid: the answer under way says that it is the last."""

    @property
    def flooded(self) -> bool:
        """It was ended because its TLS brought too much that is no data."""
        tls = self.transport.get_extra_info("ssl_object") if self.transport is not None else None
        return isinstance(tls, BoundedConnection) and tls.flooded


class Gate:
    """Loop thread."""

    def __init__(
        self,
        listener: socket.socket,
        server: web.Server,
        begin: Callable[[], asyncio.BaseProtocol],
        context: Callable[[], ssl.SSLContext | None],
        limits: Limits,
        accept: Accept | None = None,
    ) -> None:
        """`listener` is bound, listening and non-blocking. For each connection `begin` makes a protocol of the server,
        and `context` says which TLS context to use, if any.

        `accept`: the loop's `sock_accept`, or what stands for it.
        """
        self._listener = listener
        self._server = server
        self._begin = begin
        self._context = context
        self._limits = limits
        self._visits: list[Visit] = []
        self._loop = asyncio.get_running_loop()
        self._accept = accept or self._loop.sock_accept
        secure = context() is not None
        self._budget = Budget(*((_BURST_TLS, _RATE_TLS) if secure else (_BURST, _RATE)))
        self._barred: dict[str, float] = {}
        """Strangers whose TLS brought too much that is no data, and until when they are not let in."""
        self._closed = False

    @property
    def visits(self) -> int:
        """Connections, those in their handshake included."""
        self._forget_gone()
        return len(self._visits)

    def visit_of(self, request: web.BaseRequest) -> Visit | None:
        """The visit that a request belongs to."""
        return next((visit for visit in self._visits if visit.handler is request.protocol), None)

    async def run(self) -> None:
        """Accept until cancelled or closed, whatever becomes of single connections."""
        told = float("-inf")
        while not self._closed:
            try:
                connection, address = await self._accept(self._listener)
            except ConnectionError:
                continue  # it was reset before it was accepted
            except (OSError, ValueError) as error:
                if self._loop.time() - told >= _TOLD_AGAIN:
                    told = self._loop.time()
                    log.warning("the status listener cannot accept: %s", error)
                await asyncio.sleep(_PAUSE)
                continue
            self._receive(connection, party_of(str(address[0]) if address else ""))

    def sweep(self) -> None:
        """Once a second: end what only holds a place."""
        self._forget_gone()
        now = self._loop.time()
        for visit in self._visits:
            allowed = self._limits.answer if visit.busy else self._limits.idle
            if not visit.lasting and now - visit.since > allowed:
                _end(visit)

    def renew(self) -> None:
        """End all visits, as what they were admitted by is no longer valid: at once, or with the answer under way."""
        self._forget_gone()
        for visit in self._visits:
            visit.renewed = True
            if not visit.busy or visit.lasting:
                _end(visit)

    def close(self) -> None:
        """Accept no more, and end all visits that are being admitted."""
        self._closed = True
        self._listener.close()
        for visit in self._visits:
            if visit.task is not None:
                _end(visit)

    def _receive(self, connection: socket.socket, party: str) -> None:
        if not self._has_place(party):
            connection.close()
            return
        visit = Visit(party, connection, self._loop.time())
        self._visits.append(visit)
        visit.task = self._loop.create_task(self._admit(visit))

    def _has_place(self, party: str) -> bool:
        """Whether the party's budget allows one more connection, and there is a place for it.

        If need be an idle visit is ended: one of the same party if that has as many as it may, otherwise anybody's.
        """
        self._forget_gone()
        now = self._loop.time()
        if self._barred.get(party, now) > now or not self._budget.spend(party, now):
            return False
        own = [visit for visit in self._visits if visit.party == party]
        if len(own) >= self._limits.of_a_party:
            return self._make_room(own)
        return len(self._visits) < scaled(self._limits.visits) or self._make_room(self._visits)

    def _make_room(self, among: Sequence[Visit]) -> bool:
        """End the visit that has been idle longest, so that idle ones lock nobody out, not even of their own party.

        False if all are busy.
        """
        idle = min((visit for visit in among if not visit.busy), key=lambda visit: visit.since, default=None)
        if idle is None:
            return False
        _end(idle)
        self._visits.remove(idle)
        return True

    async def _admit(self, visit: Visit) -> None:
        """Give the connection its protocol, with TLS if there is a context.

        Never cancelled, since uvloop would leave the connection half open: `_end` makes it fail instead.
        """

        def begin() -> asyncio.BaseProtocol:
            visit.handler = self._begin()
            return visit.handler

        context = self._context()
        limit = self._limits.handshake if context is not None else None
        try:
            visit.transport, _ = await self._loop.connect_accepted_socket(
                begin, visit.connection, ssl=context, ssl_handshake_timeout=limit
            )
            if visit.over:
                _end(visit)
        except OSError as error:
            log.debug("a connection to the status listener failed: %s", error)
            visit.handler = None
            visit.connection.close()
        finally:
            visit.task = None

    def _forget_gone(self) -> None:
        """Forget visits that are over: admission failed, or the protocol has been told of the connection's end."""
        live = {id(handler) for handler in self._server.connections}
        left, self._visits = self._visits, []
        for visit in left:
            if visit.task is not None or id(visit.handler) in live:
                self._visits.append(visit)
            elif visit.flooded and visit.party != THIS_HOST:
                self._bar(visit.party)

    def _bar(self, party: str) -> None:
        now = self._loop.time()
        self._barred = {known: until for known, until in self._barred.items() if until > now}
        self._barred[party] = now + BARRED_SECONDS
        log.warning("%s is not let in for a minute: its TLS brought too much that is no data", party)


def _end(visit: Visit) -> None:
    """End the visit at once, and drop what waits to be sent. Before it has a transport, its socket is shut down."""
    visit.over = True
    with suppress(OSError):
        if visit.transport is None:
            visit.connection.shutdown(socket.SHUT_RDWR)
        else:
            visit.transport.abort()
