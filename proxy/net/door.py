"""Accepts connections to the tunnel listener, and lets those in that show a peer's certificate."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Mapping

from proxy.descriptors import scaled
from proxy.hosts import host_of
from proxy.net.environment import Environment
from proxy.net.handshake import Handshake, explain
from proxy.net.lane import HELLO_TIMEOUT, Lane
from proxy.net.listener import connections
from proxy.net.peer import Peer
from proxy.net.tls import Certificates
from proxy.protocol.codes import CloseCode
from proxy.protocol.errors import HelloRefused
from proxy.protocol.hello import Hello

log = logging.getLogger(__name__)

PENDING_MAX = 256
"""Connections that have not shown who they are, at most; fewer where descriptors are few (`scaled`). One more drops the
oldest of the host that has most of them: otherwise a host that opens connections faster than a long line brings a HELLO
would keep all peers out."""


class Door:
    """Owns accepted lanes until their HELLO has come, and hands them to the peer whose certificate they showed."""

    def __init__(
        self,
        listener: socket.socket,
        environment: Environment,
        certificates: Certificates,
        peers: Mapping[str, Peer],
    ) -> None:
        """`listener` is bound, listening and non-blocking."""
        self._environment = environment
        self._listener = listener
        self._certificates = certificates
        self._peers = peers
        self._pending: dict[asyncio.Task[None], str] = {}  # admissions under way, and from which host
        self.refused = 0
        self.last_refusal = ""

    async def run(self) -> None:
        """Accept until cancelled or closed: one connection a round of the loop, in which peers have their turns too. A
        handshake costs this side a millisecond of computing, and a stranger next to nothing."""
        async for connection, remote in connections(self._listener, "the tunnel listener"):
            if len(self._pending) >= (most := scaled(PENDING_MAX)):
                self._make_room(f"more than {most} connections wait before the door")
            task = asyncio.create_task(self._admit(connection, remote))
            self._pending[task] = host_of(remote.rpartition(":")[0].strip("[]"))
            task.add_done_callback(lambda done: self._pending.pop(done, None))

    def close(self) -> None:
        """Stop listening, and drop the connections that are not admitted yet."""
        self._listener.close()
        for task in list(self._pending):
            task.cancel("the site stops")

    def _make_room(self, why: str) -> None:
        ((most, _),) = Counter(self._pending.values()).most_common(1)
        oldest = next(task for task, host in self._pending.items() if host == most)
        del self._pending[oldest]
        oldest.cancel(why)

    async def _admit(self, connection: socket.socket, remote: str) -> None:
        lane = Lane(self, dialler=False)
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(HELLO_TIMEOUT)
        handshake = Handshake(self._certificates.answering, limit)
        try:
            async with limit:
                await loop.connect_accepted_socket(lambda: lane, connection, ssl=handshake)
                await lane.settled.wait()
        except TimeoutError:
            late = f"no TLS handshake and HELLO within {HELLO_TIMEOUT:.0f} s"
            self._give_up(lane, remote, explain(handshake.failure) if handshake.failure else late)
        except OSError as error:
            if handshake.failure is None and isinstance(error, ConnectionError):
                log.info("connection from %s ended before it had shown who it is: %s", remote, explain(error))
            else:
                self._give_up(lane, remote, explain(handshake.failure or error))
        except asyncio.CancelledError as cancelled:
            self._give_up(lane, remote, str(cancelled))
            raise

    def _give_up(self, lane: Lane, remote: str, reason: str) -> None:
        """Refuse a connection that has not become a lane, unless a peer took it in this very moment."""
        if not lane.connected:
            self._refuse(remote, reason)
        elif lane.owner is self:
            lane.close(CloseCode.HANDSHAKE, reason)

    def _refuse(self, remote: str, reason: str) -> None:
        self.refused += 1
        self.last_refusal = f"{remote}, {reason}"
        log.warning("connection from %s refused: %s", remote, reason)

    # -- LaneOwner ---------------------------------------------------------------------------------------------

    def hello(self, lane: Lane, hello: Hello) -> None:
        """Hand the lane to the peer whose certificate it showed. Raises HelloRefused."""
        peer = self._peer_of(lane)
        if peer is None:
            raise HelloRefused(CloseCode.NOT_A_PEER, self._why_nobody(lane))
        lane.owner = peer
        peer.hello(lane, hello)

    def lost(self, lane: Lane, reason: str) -> None:
        """The connection ended before a peer took it."""
        if lane.needless and (name := self._certificates.recognise(*lane.certificate)) is not None:
            log.info("connection from %s, of %s, has ended before it was a lane: %s", lane.remote, name, reason)
        else:
            self._refuse(lane.remote, reason)

    @property
    def congestion_control(self) -> str:
        """As for `Lane.congest`."""
        return self._environment.congestion_control

    def bars(self, lane: Lane) -> bool:
        """Whether the peer whose certificate the lane showed is barred."""
        peer = self._peer_of(lane)
        return peer is not None and peer.bars(lane)

    def flooded(self, lane: Lane, reason: str) -> None:
        """Bar that peer."""
        if (peer := self._peer_of(lane)) is not None:
            peer.flooded(lane, reason)

    def _why_nobody(self, lane: Lane) -> str:
        """Why no peer takes the lane. It may show the certificate of a peer that was added to the site's file, of which
        the last reload could take over nothing but the certificates."""
        if (name := self._certificates.recognise(*lane.certificate)) is not None:
            return f"{name} was added to the site's file, which is not taken over yet: the last reload said why"
        return self._certificates.disown(*lane.certificate)

    def _peer_of(self, lane: Lane) -> Peer | None:
        """The peer whose certificate the lane has shown."""
        name = self._certificates.recognise(*lane.certificate)
        return self._peers.get(name) if name is not None else None
