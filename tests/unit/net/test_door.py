"""Strangers cost a handshake a round of the loop at most, however many wait before the door."""

import asyncio
import socket
import ssl
from collections import Counter
from contextlib import ExitStack
from typing import cast
from unittest.mock import MagicMock

import uvloop

from bench.sites import free_port
from proxy.config.addresses import Address
from proxy.net.door import Door
from proxy.net.handshake import JudgedConnection
from proxy.net.listener import bind
from proxy.net.tls import Certificates
from tests.patience import eventually

MANY = 100


class Noting:
    """In place of the site's certificates: notes in which round of the loop it is asked for them."""

    def __init__(self) -> None:
        self.round = 0
        self.asked: list[int] = []
        self._loop = asyncio.get_running_loop()
        self._next()

    def _next(self) -> None:
        self.round += 1
        self._loop.call_soon(self._next)

    @property
    def answering(self) -> ssl.SSLContext:
        self.asked.append(self.round)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sslobject_class = JudgedConnection
        return context


def test_each_round_of_the_loop_lets_one_connection_begin_its_handshake() -> None:
    """A handshake takes a millisecond: if those of all that wait began at once, no peer would be served meanwhile."""

    async def scene() -> None:
        certificates = Noting()
        with bind(Address("127.0.0.1", free_port())) as listener, ExitStack() as strangers:
            door = Door(listener, MagicMock(), cast(Certificates, certificates), {})
            for _ in range(MANY):
                strangers.enter_context(socket.create_connection(listener.getsockname()))
            task = asyncio.get_running_loop().create_task(door.run())
            await eventually(lambda: len(certificates.asked) >= MANY, 0.0)
            assert set(Counter(certificates.asked).values()) == {1}
            door.close()
            task.cancel()
            await asyncio.wait([task])

    uvloop.run(scene())
