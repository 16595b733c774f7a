"""Keeps a lane to a peer that has an address: connects, and after a failure waits longer each time, with jitter."""

import asyncio
import logging
import random

from proxy.config.addresses import Address
from proxy.net.handshake import Handshake, explain
from proxy.net.lane import Lane
from proxy.net.peer import Peer
from proxy.net.tls import Certificates, names_of
from proxy.protocol.codes import CloseCode

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.25
_LASTING = 2.0
"""Seconds after which a lane counts as a success: a peer that ends each lane at once is not dialled without a pause."""


class Dialler:
    """Loop thread. `run` is a task that ends by cancellation only."""

    def __init__(
        self,
        peer: Peer,
        address: Address,
        certificates: Certificates,
        *,
        connect_timeout: float,
        pause_max: float,
    ) -> None:
        """`certificates` are asked at each attempt, so that reloaded ones are used. Times in seconds."""
        self._peer = peer
        self._address = address
        self._certificates = certificates
        self._connect_timeout = connect_timeout
        self._pause_max = pause_max
        self._hurry = asyncio.Event()

    async def run(self) -> None:
        """Dial whenever the peer has no lane."""
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        while True:
            await self._peer.lane_wanted.wait()
            began = loop.time()
            if await self._dial():
                await self._peer.lane_wanted.wait()
                if loop.time() - began >= _LASTING:
                    pause = _FIRST_PAUSE
                    continue
            await self._rest(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, self._pause_max)

    def hurry(self) -> None:
        """Do not wait any longer: what kept the peer away may have been put right."""
        self._hurry.set()

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return
        self._hurry.clear()

    async def _dial(self) -> bool:
        """True if a lane came up; otherwise the peer has been told why not."""
        lane = Lane(self._peer, dialler=True)
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(self._connect_timeout)
        handshake = None
        try:
            handshake = Handshake(self._certificates.dialling(self._peer.name), limit)
            async with limit:
                await loop.create_connection(
                    lambda: lane,
                    self._address.host,
                    self._address.port,
                    ssl=handshake,
                    server_hostname=self._peer.name,
                    ssl_handshake_timeout=self._connect_timeout,
                )
        except TimeoutError:
            self._failed(handshake, TimeoutError(f"no answer within {self._connect_timeout:.0f} s"))
        except (OSError, ValueError) as error:
            self._failed(handshake, error)
        else:
            await self._introduce(lane)
        return lane.up

    async def _introduce(self, lane: Lane) -> None:
        """See that it is the peer, say HELLO, and wait until the lane is up or gone; it keeps the time limit itself."""
        if lane.connected and not self._certificates.proves(self._peer.name, *lane.certificate):
            shown = names_of(lane.certificate[1])
            lane.close(CloseCode.NOT_A_PEER, f"the certificate is for {shown}, not for {self._peer.name}")
        if lane.connected:
            self._peer.greet(lane)
        await lane.settled.wait()

    def _failed(self, handshake: Handshake | None, error: Exception) -> None:
        reason = explain((handshake and handshake.failure) or error)
        self._peer.last_error = f"cannot connect to {self._address}: {reason}"
        log.warning("peer %s: %s", self._peer.name, self._peer.last_error)
