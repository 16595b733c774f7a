"""Connections to the arrays behind exports: made for streams that the peer opens, given up with them."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from proxy.config.addresses import Address
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
    """Seconds that the array has had to answer, without those in which this site stood still."""


class Arrays:
    """Connects the streams that one peer opens. Loop thread."""

    def __init__(self, refusals: Refusals, timeout: float) -> None:
        """`timeout`: seconds for an array's answer, after which the stream is reset."""
        self._refusals = refusals
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._connecting: dict[Relay, _Attempt] = {}

    def connect(self, relay: Relay, address: Address) -> None:
        """Have the relay's array reached, or its stream reset with the reason."""
        self._connecting[relay] = _Attempt(self._loop.create_task(self._connect(relay, address)))

    def give_up(self, relay: Relay) -> None:
        """The stream has ended. If the array let it wait for long, note that: the opener may have lost patience."""
        if (attempt := self._connecting.pop(relay, None)) is None:
            return
        attempt.task.cancel()
        if (waited := attempt.waited()) >= ADDRESS_SECONDS:
            self._refuse(
                relay, f"cannot connect to {relay.destination}: no answer in {waited:.0f} s, then it was given up"
            )

    async def _connect(self, relay: Relay, address: Address) -> None:
        try:
            async with Within(self._timeout) as self._connecting[relay].waited:
                connection = await connect(address, prepare, seconds=self._timeout)
            del self._connecting[relay]  # not to be cancelled any more: the connection is about to be its relay's
            await take_over(connection, lambda: relay)
            self._refusals.connected(relay.share, relay.destination)
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: of a name that cannot be looked up
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
