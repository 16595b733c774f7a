"""When what a source has sent goes out although it fills no batch: because the source pauses.

It does if a read has not filled its buffer, or no other follows one that has. Then a flush sends the rest, or waits:
for the store's disk, if a chunk that is expected lies there; or for more to come (a *hold*), where `Pace` finds that
bulk flows one way and nobody waits for an answer.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from proxy.net.coders import Coders
from proxy.net.silence import Silence
from proxy.net.waits import Waits
from proxy.net.worker import StoreWorker
from proxy.observe.waiting import Waiting
from proxy.reduction.pace import HOLD, READ_MIN, Pace

_PATIENCE = 0.02
"""Seconds that a flush waits for the store's disk: what is found there need not go as literal bytes."""

_TICK = 0.001
"""Seconds: the resolution of the loop's timers."""

STALL = 0.1
"""Seconds without a byte after which a source that stopped within a PDU is taken not to go on with it."""

_SURE_STALL = 1.0
"""The same after a login that was understood: it is more likely then that a segment was lost, and is sent again."""


class SendRest(Protocol):
    """Sends what is left; with `patient` all but what need not be sent once the store's disk has been read."""

    def __call__(self, *, patient: bool = False) -> None: ...


class Pauses:
    """Told by a relay what its source does, it flushes: calls `send_rest`. One a relay. Loop thread."""

    def __init__(
        self, coders: Coders, waits: Waits, worker: StoreWorker, send_rest: SendRest, ship: Callable[[], None]
    ) -> None:
        """`ship` sends the batches that can be made of whole chunks."""
        self._coders = coders
        self._waits = waits
        self._worker = worker
        self._send_rest = send_rest
        self._ship = ship
        self._loop = asyncio.get_running_loop()
        self._pace = Pace()
        self.resting = False
        """The source is not read, for want of credit or for the disk."""
        self.awaiting_turn = False
        """The source is not read, but only until others have been."""
        self._full_read = False  # the last read filled the buffer, so there may be more
        self._holding = False  # a flush waits for more to come, and not for the disk
        self._came = False  # more bulk has come since the hold began
        self._newer_than = 0.0  # all that is left has come after this time
        self._read_at = 0.0  # the loop's time of the last read, which changes once a round
        self._read = 0  # bytes that have come in that round
        self._soon: asyncio.Handle | None = None  # `_pause` is scheduled
        self._round: asyncio.Handle | None = None  # `_come_round` is scheduled
        self._waiting: asyncio.TimerHandle | None = None  # a flush waits, for the disk or for more to come
        self._stall = Silence(
            lambda: coders.held,
            lambda: coders.came,
            self._give_up,
            seconds=lambda: _SURE_STALL if coders.understood else STALL,
        )
        self._closed = False

    def received(self, count: int, *, full: bool) -> None:
        """The source has sent so many bytes, which the encoder has not seen yet; `full`: the buffer took no more."""
        bulk = count >= READ_MIN or full or self._full_read  # what follows a full read belongs to it
        self._full_read = full
        self._came = self._came or bulk
        now = self._loop.time()
        if now != self._read_at:
            self._read_at, self._read = now, 0
        self._read += count
        self._pace.received(now, bulk=bulk)

    def consider(self) -> None:
        """The encoder has seen them, and full batches have gone: has the source paused?"""
        if self._holding and not self._pace.holds:
            self._stop_waiting()
        if self._waiting is not None:
            self._waits.outward(Waiting.SOURCE)
        elif self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        elif self._soon is None:
            self._pause()

    def shipped(self) -> None:
        """Full batches have gone: what is left has just come."""
        self._newer_than = self._loop.time()

    def _await_round(self) -> None:
        if self._round is None:
            self._round = self._loop.call_soon(self._come_round)

    def _come_round(self) -> None:
        """The loop has come round. Before, the source could not have been read: only from now on is it late."""
        self._round = None
        self._pace.waits(self._loop.time())

    def _flush(self, *, patient: bool = False) -> None:
        """Everything that may go goes. `patient`: as of `SendRest`."""
        if self._closed:
            return
        self._stop_waiting()
        self._send_rest(patient=patient)
        if not self._closed:
            self._pace.flushed(self._loop.time())
            self._await_round()
            self._watch()

    def _stop_waiting(self) -> None:
        """A flush that waits does so no longer: one begins, or is to be considered anew."""
        self._holding = False
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def answered(self) -> None:
        """The far array has sent something: what is held goes at once."""
        self._pace.answered()
        if self._holding:
            self._stop_waiting()
            self._soon = self._soon or self._loop.call_soon(self._pause)

    def rest(self) -> None:
        """The source is not read for a while; `waits` knows why."""
        self.resting = True
        self._stall.stop()
        if self._holding and self._waits.queued:
            self._came = True  # more may be waiting in the socket, which is not read
        elif self._waiting is not None:
            self._flush()

    def await_turn(self, *, more: bool) -> None:
        """The source is not read while others have their turn. If `more` may be there this is no pause."""
        self.awaiting_turn = True
        self._stall.stop()
        if more and self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def resume(self) -> None:
        """The source is read again. Not having been read it was not silent; but there may have been no more to read."""
        if self.awaiting_turn and self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        self.resting = self.awaiting_turn = False
        self._await_round()
        self._watch()

    def close(self) -> None:
        """The stream is over."""
        self._closed = True
        self._stall.stop()
        for handle in (self._soon, self._round, self._waiting):
            if handle is not None:
                handle.cancel()

    def _pause(self) -> None:
        """Flush, or begin to wait with it. After a full read the loop comes round once more first, to read the rest."""
        self._soon = None
        if self._closed:
            return
        if self._full_read:
            self._full_read = False
            self._soon = self._loop.call_soon(self._pause)
            return
        if self._waiting is not None:
            return
        if self._pace.holds and (self._waits.queued or not self.resting):
            self._hold()
            return
        self._flush(patient=True)
        if (wanted := self._coders.encoder.course.take_wanted()) is not None:
            self._waiting = self._loop.call_later(_PATIENCE, self._flush)
            self._waits.outward(Waiting.STORE)
            self._worker.guess(wanted, self._flush)
            self._worker.prefetch(wanted)

    def _hold(self) -> None:
        self._holding = True
        self._came = self.resting
        self._newer_than = self._loop.time()
        self._waiting = self._loop.call_later(HOLD - _TICK, self._held, 1)
        self._waits.outward(Waiting.SOURCE)

    def _held(self, looks: int) -> None:
        """What is left was held as long as it may be: flush, if it is that old.

        What has come since may be held for as long from then on, once the rest has gone in full batches. `looks`: how
        often to look again, a tick later, if nothing has come.
        """
        self._waiting = None
        if self._waits.queued or self.awaiting_turn:  # it would only wait for a lane, or more may be there to be read
            self._waiting = self._loop.call_later(HOLD, self._held, 0)
            return
        if self._came and self._left <= _TICK and self._coders.encoder.unsent <= self._read:
            self._ship()  # all but the incomplete chunk, which has begun with the last read
            self._newer_than = self._read_at
        if self._closed:
            return
        if self._came and self._left > _TICK and not self.resting:
            self._waiting = self._loop.call_later(self._left, self._held, 0)
        elif looks and not self._came:
            self._waiting = self._loop.call_later(_TICK, self._held, 0)
        else:
            if not self._came:
                self._pace.held_in_vain()
            self._flush()

    @property
    def _left(self) -> float:
        """Seconds for which what is left may still be held."""
        return self._newer_than + HOLD - self._loop.time()

    # -- a source that stops within a PDU ----------------------------------------------------------------------

    def _watch(self) -> None:
        """Watch for a stall; but a source cannot go on while it is not read."""
        if not (self.resting or self.awaiting_turn or self._closed):
            self._stall.watch()

    def _give_up(self) -> None:
        self._coders.give_up()
        self._flush()
