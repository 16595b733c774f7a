"""A forward: a local listener whose connections become streams to an export of a peer."""

import asyncio
import logging
import socket

from proxy.config.model import Forward as ForwardConfig
from proxy.net.endings import reset_connection
from proxy.net.listener import name_of
from proxy.net.peer import Peer
from proxy.protocol.codes import ResetCode

log = logging.getLogger(__name__)


class Forward:
    """Loop thread."""

    def __init__(self, config: ForwardConfig, peer: Peer, listener: socket.socket) -> None:
        """`listener` is bound and listening."""
        self.config = config
        self.accepted = 0
        self.refused = 0
        self._peer = peer
        self._listener = listener
        self._closed = False

    async def run(self) -> None:
        """Accept until cancelled or closed."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(self._listener)
            except (OSError, ValueError) as error:
                if self._closed:
                    return
                log.error("forward %s cannot accept: %s", self.config.name, error)
                await asyncio.sleep(1)
                continue
            self.accepted += 1
            reset_connection(connection)  # unless its relay ends it in order
            await self._open(connection, name_of(address))

    def close(self) -> None:
        """Accept no more; live connections go on."""
        self._closed = True
        self._listener.close()

    async def _open(self, connection: socket.socket, origin: str) -> None:
        """Open a stream for an array's connection; if that cannot be, reset it."""
        relay, refusal = self._peer.open(self.config.name, self.config.export, origin, self.config.protocol)
        if relay is None:
            self.refused += 1
            log.warning("forward %s refused %s: %s", self.config.name, origin, refusal)
            connection.close()
            return
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: relay, connection)
        except OSError as error:
            relay.close(ResetCode.ORIGIN_RESET, f"the array's connection failed: {error}")
