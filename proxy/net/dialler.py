"""Brings up the lanes to a peer while it has an address: connects, and pauses longer after each attempt, with jitter.

An attempt that is under way does not keep the next one from starting: while the line is out each attempt sends a few
SYNs and waits, and the first that gets through wins. So a line that returns is noticed within about a second.
"""

import asyncio
import logging
import random
import socket
from collections.abc import Callable
from functools import partial

from proxy.config.addresses import Address
from proxy.net.connecting import connect, take_over
from proxy.net.handshake import Handshake, explain, is_refusal
from proxy.net.lane import Lane
from proxy.net.long_packets import LongPackets
from proxy.net.peer import Peer
from proxy.net.sockets import shorten_segments
from proxy.net.tasks import Run
from proxy.net.tls import Certificates
from proxy.protocol.codes import CloseCode

log = logging.getLogger(__name__)

_FIRST_PAUSE = 0.25
_PAUSE_AT_REST = 1.0
"""Seconds: the longest pause while arrays' connections rest for want of a lane."""
_LASTING = 2.0
"""Seconds that a lane must last to count as a success: a peer that ends each lane at once is not dialled without pause.
"""
_AT_ONCE = 16
"""Attempts under way, at most."""


class Dialler:
    """Dials one peer from `begin` to `close`. Loop thread."""

    def __init__(
        self,
        peer: Peer,
        certificates: Certificates,
        *,
        connect_timeout: Callable[[], float],
        pause_max: Callable[[], float],
    ) -> None:
        """These times, in seconds, the peer's address and `certificates` are asked for at each attempt, since a reload
        may change them."""
        self._peer = peer
        self._certificates = certificates
        self._connect_timeout = connect_timeout
        self._pause_max = pause_max
        self._hurry = asyncio.Event()
        self._long_packets = LongPackets(peer, partial(self._attempt, trial=True))
        self._lasted = False  # a lane has lasted since `run` last went back to the first pause
        self._attempts: dict[asyncio.Task[None], tuple[Address, int]] = {}
        """Attempts under way, each with where it leads, and the DSCP mark that its lane is to carry."""
        self._begun: dict[int, float] = {}
        """When the latest attempt for each mark began; it may be over."""
        self._task: asyncio.Task[None] | None = None
        self._ending = "the site stops"
        """What the peer is told when `run` is cancelled."""

    def begin(self, run: Run) -> None:
        """Dial from now on."""
        self._task = run(self.run())

    def close(self, reason: str) -> None:
        """Dial no more, and give up attempts that are under way. It has to have begun."""
        assert self._task is not None
        self._ending = reason
        self._task.cancel()

    async def run(self) -> None:
        """Dial whenever the peer lacks lanes, until cancelled."""
        pause = _FIRST_PAUSE
        try:
            while True:
                await self._peer.lanes.wanted.wait()
                if self._peer.address is None:  # it dials, until a reload says otherwise
                    await self._hurry.wait()
                    self._hurry.clear()
                    continue
                if self._lasted:
                    self._lasted, pause = False, _FIRST_PAUSE
                self._start()
                await self._rest(pause * random.uniform(0.5, 1.0))
                longest = self._pause_max()
                pause = min(pause * 2, longest, _PAUSE_AT_REST if self._peer.relays else longest)
        finally:
            for task in tuple(self._attempts):
                task.cancel()

    def hurry(self) -> None:
        """Dial now, and with long packets: what kept the peer away, or lost long packets, may have been put right."""
        self._long_packets.look_again()
        self._hurry.set()

    def _see_lasting(self, lane: Lane) -> None:
        """The lane came up `_LASTING` ago. If it is still up, `run` begins with the first pause again, even if all
        lanes have ended by then."""
        self._lasted = self._lasted or lane.up

    def _start(self) -> None:
        """Begin one more attempt while no lane works; once one does, as many as still are missing. Attempts that lead
        where the peer was before a reload do not count: they may hang for long."""
        missing = self._peer.lanes.missing()
        begun = [mark for address, mark in self._attempts.values() if address == self._peer.address]
        if missing and not self._peer.lanes.up:
            missing = [min(missing, key=self._tried)]  # marks take turns: the path may lose all packets of one
        else:
            for mark in begun:
                if mark in missing:
                    missing.remove(mark)
        for mark in missing[: max(0, _AT_ONCE - len(begun))]:  # with trials there may be more than _AT_ONCE
            self._attempt(mark)

    def _attempt(self, mark: int, *, trial: bool = False) -> None:
        if self._peer.address is None:
            return
        loop = asyncio.get_running_loop()
        self._begun[mark] = loop.time()
        task = loop.create_task(self._dial(self._peer.address, mark, trial=trial))
        self._attempts[task] = self._peer.address, mark
        task.add_done_callback(lambda done: self._attempts.pop(done, None))

    def _tried(self, mark: int) -> float:
        return self._begun.get(mark, float("-inf"))

    async def _rest(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        except TimeoutError:
            return
        self._hurry.clear()

    async def _dial(self, address: Address, mark: int, *, trial: bool) -> None:
        """Bring up a lane, or note why that failed. `trial`: the lane is a trial of `LongPackets`."""
        lane = Lane(self._peer, dialler=True)
        seconds = self._connect_timeout()
        limit = asyncio.timeout(seconds)
        handshake = connection = None
        lane.short = self._long_packets.seem_lost and not trial
        short_passed = self._long_packets.short_ones_pass
        try:
            handshake = Handshake(self._certificates.dialling(self._peer.name), limit)
            async with limit:
                prepare = shorten_segments if lane.short else _leave_as_it_is
                connection = await connect(address, prepare, seconds=seconds)
                await take_over(
                    connection,
                    lambda: lane,
                    ssl=handshake,
                    server_hostname=self._peer.name,
                    ssl_handshake_timeout=seconds,
                )
        except TimeoutError as error:
            if handshake is not None and handshake.failure is not None:  # we refused the peer, and it has not hung up
                self._failed(address, handshake, error)
                self._long_packets.failed(trial=trial)
                return
            connected = connection is not None
            what = "connected, but no TLS handshake" if connected else "no answer"
            self._failed(address, None, TimeoutError(f"{what} within {seconds:.0f} s"))
            self._long_packets.unanswered(lane, connected=connected, trial=trial, short_passed=short_passed)
        except (OSError, ValueError) as error:
            self._failed(address, handshake, error)
            self._long_packets.failed(trial=trial)
        else:
            lane.carry(mark)
            await self._introduce(lane, trial=trial)
            if lane.up:
                asyncio.get_running_loop().call_later(_LASTING, self._see_lasting, lane)
                self._long_packets.answered(lane, trial=trial)
            elif lane.late:
                self._long_packets.unanswered(lane, connected=True, trial=trial, short_passed=short_passed)
            else:
                self._long_packets.failed(trial=trial)

    async def _introduce(self, lane: Lane, *, trial: bool) -> None:
        """Check the peer's certificate, say HELLO, and wait until the lane is up or gone. The lane limits the wait."""
        if lane.connected and not (trial or self._peer.lanes.missing()):
            lane.close(CloseCode.SURPLUS, "another attempt was quicker", needless=True)
        if lane.connected and not self._certificates.proves(self._peer.name, *lane.certificate):
            lane.close(CloseCode.NOT_A_PEER, self._certificates.disown(*lane.certificate, self._peer.name))
        if lane.connected:
            self._peer.greet(lane)
        try:
            await lane.settled.wait()
        except asyncio.CancelledError:  # the other side may count it as up: without CLOSE its streams would wait
            lane.close(CloseCode.SHUTDOWN, self._ending, needless=True)
            raise

    def _failed(self, address: Address, handshake: Handshake | None, error: Exception) -> None:
        if address != self._peer.address:  # a reload came between: that says nothing of why the peer is away now
            return
        error = (handshake and handshake.failure) or error
        removed = self._certificates.removed(self._peer.name)
        reason = removed or f"cannot connect to {address}: {explain(error)}"
        news = self._peer.failed(reason, refused=is_refusal(error))
        level = logging.WARNING if news else logging.DEBUG  # a warning once for each reason
        log.log(level, "peer %s: %s", self._peer.name, reason)


def _leave_as_it_is(connection: socket.socket) -> None:
    """For connections that need no preparation."""
