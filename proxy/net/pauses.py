"""Decides when data of a source is sent although it fills no batch: when the source pauses.

A source pauses if a read has not filled its buffer, or if no read follows one that has. Then a flush sends what is
left. The flush may wait: for the store's disk, if a chunk that is expected lies there; or for more data (a *hold*),
where `Pace` finds that bulk flows one way and nobody waits for an answer.
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
"""Seconds that a flush waits for the store's disk: data that is found there need not be sent as literal bytes."""

_TICK = 0.001
"""Seconds: the resolution of the loop's timers."""

STALL = 0.1
"""Seconds without a byte after which a source that stopped within a PDU is not expected to complete it."""

_SURE_STALL = 1.0
"""The same after a login that was understood: it is more likely then that a segment was lost, and is sent again."""


class SendRest(Protocol):
    """Sends what is left; if `patient`, all but what could go as a SLICE once the store's disk has been read."""

    def __call__(self, *, patient: bool = False) -> None: ...


class Pauses:
    """The pauses of one relay's source: the relay tells what it does, and a flush calls `send_rest`. Loop thread."""

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
        self.awaiting_turn = False
        """The source is not read, but only until others have been."""
        self._full_read = False  # the last read filled the buffer, so there may be more
        self._holding = False  # a flush waits for more to come, and not for the disk
        self._came = False  # more bulk has come since the hold began
        self._newer_than = 0.0  # all bytes that are left to be sent have come after this time
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
        """Find out whether the source has paused, once the encoder has seen what was read and full batches are sent."""
        if self._holding and not self._pace.holds:
            self._stop_waiting()
        if self._waiting is not None:
            self._waits.outward(Waiting.SOURCE)
        elif self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        elif self._soon is None:
            self._pause()

    def shipped(self) -> None:
        """Full batches were sent, so the bytes that are left have just come."""
        self._newer_than = self._loop.time()

    def _await_round(self) -> None:
        if self._round is None:
            self._round = self._loop.call_soon(self._come_round)

    def _come_round(self) -> None:
        """The loop has come round. The source could not be read before, so it is late only from now on."""
        self._round = None
        self._pace.waits(self._loop.time())

    def _flush(self, *, patient: bool = False) -> None:
        """Send everything that may be sent. `patient`: as of `SendRest`."""
        if self._closed:
            return
        self._stop_waiting()
        self._send_rest(patient=patient)
        if not self._closed:
            self._pace.flushed(self._loop.time())
            self._await_round()
            self._watch()

    def _stop_waiting(self) -> None:
        """Cancel a flush that waits: another one begins, or it is decided anew whether to flush."""
        self._holding = False
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def answered(self) -> None:
        """The far array has sent something: what is held is sent at once."""
        self._pace.answered()
        if self._holding:
            self._stop_waiting()
            self._soon = self._soon or self._loop.call_soon(self._pause)

    def rest(self) -> None:
        """The source is not read for a while; `waits` knows why."""
        self._stall.stop()
        if self._holding and self._waits.queued:
            self._came = True  # more may be waiting in the socket, which is not read
        elif self._waiting is not None:
            self._flush()

    def await_turn(self, *, more: bool) -> None:
        """The source is not read while others have their turn. If there may be `more` to read, this is no pause."""
        self.awaiting_turn = True
        self._stall.stop()
        if more and self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def resume(self) -> None:
        """The source is read again. While it was not read it cannot count as silent, but it may have paused since its
        last full read."""
        if self.awaiting_turn and self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        self.awaiting_turn = False
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
        """Flush, or let the flush wait. After a full read the loop comes round once more first, to read the rest."""
        self._soon = None
        if self._closed:
            return
        if self._full_read:
            self._full_read = False
            self._soon = self._loop.call_soon(self._pause)
            return
        if self._waiting is not None:
            return
        if self._pace.holds and (self._waits.queued or not self._waits.resting):
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
        self._came = self._waits.resting
        self._newer_than = self._loop.time()
        self._waiting = self._loop.call_later(HOLD - _TICK, self._held, 1)
        self._waits.outward(Waiting.SOURCE)

    def _held(self, looks: int) -> None:
        """`HOLD` has passed since the hold began: flush, if the bytes that are left have been held for so long.

        Bytes that came later may be held for `HOLD` from when they came, once all older ones have gone in batches.
        `looks`: how often to look again, a tick later, if nothing has come.
        """
        self._waiting = None
        if self._waits.queued or self.awaiting_turn:  # a flush would only wait for a lane, or there may be more to read
            self._waiting = self._loop.call_later(HOLD, self._held, 0)
            return
        if self._came and self._left <= _TICK and self._coders.encoder.unsent <= self._read:
            self._ship()  # all but the incomplete chunk, which has begun with the last read
            self._newer_than = self._read_at
        if self._closed:
            return
        if self._came and self._left > _TICK and not self._waits.resting:
            self._waiting = self._loop.call_later(self._left, self._held, 0)
        elif looks and not self._came:
            self._waiting = self._loop.call_later(_TICK, self._held, 0)
        else:
            if not self._came:
                self._pace.held_in_vain()
            self._flush()

    @property
    def _left(self) -> float:
        """Seconds for which the bytes that are left may still be held."""
        return self._newer_than + HOLD - self._loop.time()

    # -- a source that stops within a PDU ----------------------------------------------------------------------

    def _watch(self) -> None:
        """Watch for a stall; but a source cannot go on while it is not read."""
        if not (self._waits.resting or self.awaiting_turn or self._closed):
            self._stall.watch()

    def _give_up(self) -> None:
        self._coders.give_up()
        self._flush()
