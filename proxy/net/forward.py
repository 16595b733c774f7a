"""A forward: a local listener whose connections become streams to an export of a peer."""

import asyncio
import logging
import socket
from collections.abc import Callable

from proxy.config.addresses import Address
from proxy.config.model import Forward as ForwardConfig
from proxy.descriptors import is_spared
from proxy.iscsi.portals import NearPortals
from proxy.net.asking import asked
from proxy.net.coders import Carries
from proxy.net.endings import reset_connection
from proxy.net.listener import connections, waiting
from proxy.net.peer import Peer
from proxy.net.redirected import meant_for
from proxy.net.relay import Relay, prepare
from proxy.net.tasks import Run
from proxy.protocol.codes import Capability

log = logging.getLogger(__name__)

LONG = 0.1
"""Seconds. Joining a connection to its stream takes some rounds of the loop; if they take longer, the loop is busy."""
FEW = 2
"""With at most so many live connections a forward is not itself what keeps the loop busy."""
AT_ONCE = 32
"""Connections that are joined to their streams together, at most."""


class Misdirected(Exception):
    """A redirected connection was meant for an address that this forward does not lead to; the message says which."""


class Forward:
    """Accepts the connections of one forward, and opens a stream for each. Loop thread."""

    def __init__(
        self,
        config: ForwardConfig,
        peer: Peer,
        listener: socket.socket,
        portals: Callable[[str], NearPortals | None],
        *,
        portal: Address | None = None,
        listen: Address | None = None,
    ) -> None:
        """`listener` is bound and listening; `portals`: for initiators that have reached that address of this site.

        `portal` and `listen` are given for a forward that was opened on demand: the portal in the export's range that
        it leads to, and the address that it listens on.
        """
        self.config = config
        self.listen = listen or config.listen
        self.accepted = 0
        self._peer = peer
        self._listener = listener
        reset_connection(listener)  # inherited by what it accepts: a connection that nobody takes ends by RST as well
        self._portals = portals
        self._portal = portal
        self._live: set[Relay] = set()
        self._noticed = 0
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        self._opening: asyncio.Future[list[None]] | None = None

    def begin(self, run: Run) -> None:
        """Accept from now on."""
        self._task = run(self.run())

    async def run(self) -> None:
        """Accept until cancelled or closed.

        Connections are joined to their streams one after the other, because streams that begin together have small
        windows for long. But where streams of other forwards, perhaps of other peers, keep the loop busy, connections
        that have come meanwhile are joined at the same time.
        """
        most, clock = 1, asyncio.get_running_loop().time
        async for first in connections(self._listener, f"forward {self.config.name}"):
            began, few = clock(), self.streams <= FEW
            arrived = [first, *waiting(self._listener, most - 1)]
            self.accepted += len(arrived)
            for connection, _ in arrived:
                prepare(connection)
            self._opening = asyncio.gather(*(self._open(*each) for each in arrived))
            await asyncio.shield(self._opening)  # the end of accepting must not tear a connection from its relay
            most = AT_ONCE if few and clock() - began > LONG else 1

    def lead(self, config: ForwardConfig, peer: Peer, portals: Callable[[str], NearPortals | None]) -> None:
        """Connections that come from now on go by that configuration, which has the same address to listen on."""
        self.config, self._peer, self._portals = config, peer, portals

    @property
    def streams(self) -> int:
        """How many of the forward's connections live."""
        return len(self._live)

    def stirred(self) -> bool:
        """True if a connection has come since the last call."""
        former, self._noticed = self._noticed, self.accepted
        return former != self.accepted

    def close(self) -> None:
        """Accept no more; live connections go on. It has to have begun."""
        assert self._task is not None
        self._closed = True
        # First the task: a loop that still watches a closed socket would watch whatever gets its number next.
        self._task.add_done_callback(lambda _: self._listener.close())
        self._task.cancel()

    async def _open(self, connection: socket.socket, origin: str) -> None:
        """Open a stream for an array's connection, or reset it."""
        relay, refusal = self._relay(connection, origin)
        if relay is None:
            log.warning("forward %s refused %s: %s", self.config.name, origin, refusal)
            connection.close()
            return
        self._live.add(relay)
        relay.when_closed = self._live.discard
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: relay, connection)
        except OSError as error:
            relay.array_lost(error)

    def _relay(self, connection: socket.socket, origin: str) -> tuple[Relay | None, str]:
        """A relay with an open stream for an array's connection, or None and why not."""
        if self._closed:
            return None, "it accepts no connections any more"
        if is_spared(connection.fileno()):
            return None, "few file descriptors are left, which lanes may need; `isthmus doctor` says how many it takes"
        portals = self._portals(connection.getsockname()[0])
        try:
            wanted = self._wanted(connection)
        except Misdirected as error:
            return None, str(error)
        return self._peer.relays.open(self.config.name, wanted, origin, carried(self.config), portals)

    def _wanted(self, connection: socket.socket) -> str:
        """The text of the OPEN for a connection. Raises Misdirected."""
        redirected = self._portal is None and self.config.transparent
        meant = meant_for(connection) if redirected else self._portal
        if meant is None:
            return self.config.export
        if self.config.range is None or not self.config.range.covers(meant):
            raise Misdirected(f"it was meant for {meant}, which is not in its range {self.config.range}")
        if self._peer.tunnel.agreement is not None and not self._peer.tunnel.agreed(Capability.PORTALS):
            raise Misdirected(f"it was meant for {meant}, and the peer's version knows no ranges; update it")
        return asked(self.config.export, meant)


def carried(config: ForwardConfig) -> Carries:
    """What the forward's connections are taken for. Those to portals are iSCSI even where the configuration says
    "auto", so that a fall-back to plain bytes, in which addresses are not replaced, is counted and logged."""
    portals = config.portal is not None or config.ports is not None
    return "iscsi" if portals and config.protocol == "auto" else config.protocol
