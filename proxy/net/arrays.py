"""Connects streams that a peer opens to the arrays behind exports; gives up when the stream ends first."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from proxy.config.addresses import Address
from proxy.descriptors import is_spared
from proxy.net.connecting import ADDRESS_SECONDS, connect, in_words, take_over
from proxy.net.relay import Relay, prepare
from proxy.net.within import Within
from proxy.observe.refusals import UNREACHABLE, Refusals
from proxy.protocol.codes import ResetCode

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """One attempt to connect."""

    task: asyncio.Task[None]
    waited: Callable[[], float] = lambda: 0.0
    """Seconds that the array has had to answer, less those in which this site stood still."""


class Arrays:
    """Connects the streams that one peer opens. Loop thread."""

    def __init__(self, refusals: Refusals, timeout: Callable[[], float]) -> None:
        """`timeout`: seconds for an array's answer, after which the stream is reset; asked for at each attempt."""
        self._refusals = refusals
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._connecting: dict[Relay, _Attempt] = {}

    def connect(self, relay: Relay, address: Address) -> None:
        """Begin to connect the relay to its array. If that fails the relay's stream is reset with the reason."""
        self._connecting[relay] = _Attempt(self._loop.create_task(self._connect(relay, address)))

    def give_up(self, relay: Relay) -> None:
        """The stream has ended: stop connecting.

        An array that has not answered for ADDRESS_SECONDS is noted as unreachable: the opener may have lost patience.
        """
        if (attempt := self._connecting.pop(relay, None)) is None:
            return
        attempt.task.cancel()
        if (waited := attempt.waited()) >= ADDRESS_SECONDS:
            self._refuse(
                relay, f"cannot connect to {relay.destination}: no answer in {waited:.0f} s, then it was given up"
            )

    async def _connect(self, relay: Relay, address: Address) -> None:
        seconds = self._timeout()
        try:
            async with Within(seconds) as self._connecting[relay].waited:
                connection = await connect(address, _prepare, seconds=seconds)
            del self._connecting[relay]  # `give_up` must not cancel any more: the relay is about to own the connection
            await take_over(connection, lambda: relay)
            self._refusals.connected(relay.share, relay.destination)
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: a name that cannot be looked up
            reason = f"cannot connect to {address}: {in_words(error) or 'no answer in time'}"
            log.warning("stream %d of %s: %s", relay.stream, relay.name, reason)
            self._connecting.pop(relay, None)
            self._refuse(relay, reason)
            relay.close(ResetCode.UNREACHABLE, reason)
        except Exception as error:  # otherwise nothing would ever end the stream
            log.error("stream %d of %s: a defect", relay.stream, relay.name, exc_info=error)
            self._connecting.pop(relay, None)
            relay.close(ResetCode.INTERNAL, f"a defect: {type(error).__name__}")

    def _refuse(self, relay: Relay, reason: str) -> None:
        self._refusals.refused(relay.share, relay.destination, UNREACHABLE, reason)


def _prepare(connection: socket.socket) -> None:
    if is_spared(connection.fileno()):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    prepare(connection)
