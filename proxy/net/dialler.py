"""Keeps a lane to a peer that has an address: connects, and after a failure waits longer each time, with jitter."""

import asyncio
import logging
import random
import ssl
from collections.abc import Callable

from proxy.config.addresses import Address
from proxy.net.lane import HELLO_TIMEOUT, Lane
from proxy.net.peer import Peer

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.25


class Dialler:
    """Loop thread. `run` is a task that ends by cancellation only."""

    def __init__(
        self,
        peer: Peer,
        address: Address,
        context: Callable[[], ssl.SSLContext],
        *,
        connect_timeout: float,
        pause_max: float,
    ) -> None:
        """`context` is asked before each attempt, so that a reloaded certificate is used. Times in seconds."""
        self._peer = peer
        self._address = address
        self._context = context
        self._connect_timeout = connect_timeout
        self._pause_max = pause_max

    async def run(self) -> None:
        """Dial whenever the peer has no lane."""
        pause = _FIRST_PAUSE
        while True:
            await self._peer.lane_wanted.wait()
            if await self._dial():
                pause = _FIRST_PAUSE
                continue
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, self._pause_max)

    async def _dial(self) -> bool:
        """True if a lane came up; otherwise the peer has been told why not."""
        lane = Lane(self._peer, dialler=True)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_timeout):
                await loop.create_connection(
                    lambda: lane,
                    self._address.host,
                    self._address.port,
                    ssl=self._context(),
                    server_hostname=self._peer.name,
                    ssl_handshake_timeout=self._connect_timeout,
                )
        except (OSError, TimeoutError) as error:
            self._failed(_explain(error))
            return False
        self._peer.greet(lane)
        await self._settled(lane)
        return lane.up

    async def _settled(self, lane: Lane) -> None:
        """Wait until the lane is up or gone; it sees to the time limit itself."""
        async with asyncio.timeout(HELLO_TIMEOUT + 5):
            await lane.settled.wait()

    def _failed(self, reason: str) -> None:
        self._peer.last_error = f"cannot connect to {self._address}: {reason}"
        log.warning("peer %s: %s", self._peer.name, self._peer.last_error)


def _explain(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {error.verify_message}"
    return str(error) or "no answer in time"
