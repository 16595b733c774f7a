"""When what a source has sent goes out although no batch is full: it pauses, or has been waited for long enough."""

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
"""Seconds that a pause waits for the store's disk: what is found there need not go as literal bytes."""

_TICK = 0.001
"""The loop's timers know whole milliseconds."""

STALL = 0.1
"""Seconds without a byte after which a source that stopped within a PDU is taken not to go on with it."""

_SURE_STALL = 1.0
"""The same after a login that was understood: then rather a segment was lost on the way, and is sent again."""


class Flush(Protocol):
    """Sends what is left; `patient`: but for what need not be sent once the store's disk has been read."""

    def __call__(self, *, patient: bool = False) -> None: ...


class Pauses:
    """Loop thread. One a relay, whose source it is told of; it calls `flush`."""

    def __init__(
        self, coders: Coders, waits: Waits, worker: StoreWorker, flush: Flush, ship: Callable[[], None]
    ) -> None:
        """`ship` sends the chunks that are whole."""
        self._coders = coders
        self._waits = waits
        self._worker = worker
        self._flush = flush
        self._ship = ship
        self._loop = asyncio.get_running_loop()
        self._pace = Pace()
        self._resting = self._awaiting_turn = False
        self._full_read = False
        self._holding = False  # the flush that waits does so for more to come
        self._came = False  # more of the bulk, since then
        self._newer_than = 0.0  # what is left came after this
        self._read_at = 0.0
        self._read = 0  # bytes that came then, while the loop went round once
        self._soon: asyncio.Handle | None = None
        self._round: asyncio.Handle | None = None
        self._patience: asyncio.TimerHandle | None = None  # a flush waits, for the store's disk or for more to come
        self._stall = Silence(
            lambda: coders.held,
            lambda: coders.came,
            self._give_up,
            seconds=lambda: _SURE_STALL if coders.understood else STALL,
        )
        self._closed = False

    def received(self, count: int, *, full: bool) -> None:
        """The source has sent so many bytes, which the encoder has not seen yet; `full`: no more were asked for."""
        bulk = count >= READ_MIN or full or self._full_read  # what follows a full read is the end of the same
        self._full_read = full
        self._came = self._came or bulk
        now = self._loop.time()
        if now != self._read_at:
            self._read_at, self._read = now, 0
        self._read += count
        self._pace.received(now, bulk=bulk)

    def consider(self) -> None:
        """The encoder has seen them, and full batches are out: has the source paused?"""
        if self._holding and not self._pace.holds:
            self.due()
        if self._patience is not None:
            self._waits.outward(Waiting.SOURCE)
        elif self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        elif self._soon is None:
            self._pause()

    def shipped(self) -> None:
        """Full batches have gone: what is left has just come."""
        self._newer_than = self._loop.time()

    def flushed(self) -> None:
        """Everything that may go has gone."""
        self._pace.flushed(self._loop.time())
        self._await_round()
        self._watch()

    def _await_round(self) -> None:
        if self._round is None:
            self._round = self._loop.call_soon(self._come_round)

    def _come_round(self) -> None:
        """The source could not be read while the loop was busy with others: only from now on is it late."""
        self._round = None
        self._pace.waits(self._loop.time())

    def due(self) -> None:
        """A flush begins, or is considered anew: none is waiting any more."""
        self._holding = False
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def answered(self) -> None:
        """The far array has sent something: what was held goes at once."""
        self._pace.answered()
        if self._holding:
            self.due()
            self._soon = self._soon or self._loop.call_soon(self._pause)

    def rest(self) -> None:
        """The source is not read for a while; `waits` knows why."""
        self._resting = True
        self._stall.stop()
        if self._holding and self._waits.queued:
            self._came = True  # for all we know
        elif self._patience is not None:
            self._flush()

    def wait(self, *, more: bool) -> None:
        """The source is not read for a moment, while others have their turn; if `more` may be there, it is no pause."""
        self._awaiting_turn = True
        self._stall.stop()
        if more and self._soon is not None:
            self._soon.cancel()
            self._soon = None

    def resume(self) -> None:
        """It is read again, and has not been silent meanwhile; but it may have had no more."""
        if self._awaiting_turn and self._full_read and self._soon is None:
            self._soon = self._loop.call_soon(self._pause)
        self._resting = self._awaiting_turn = False
        self._await_round()
        self._watch()

    def close(self) -> None:
        """The stream is over."""
        self._closed = True
        self._stall.stop()
        for waiting in (self._soon, self._round, self._patience):
            if waiting is not None:
                waiting.cancel()

    def _pause(self) -> None:
        """If the source has nothing more, what is left goes out; after a full read it is given time to bring it."""
        self._soon = None
        if self._closed:
            return
        if self._full_read:
            self._full_read = False
            self._soon = self._loop.call_soon(self._pause)
            return
        if self._patience is not None:
            return
        if self._pace.holds and (self._waits.queued or not self._resting):
            self._hold()
            return
        self._flush(patient=True)
        encoder = self._coders.encoder
        if (wanted := encoder.wanted) is not None:
            encoder.wanted = None
            self._patience = self._loop.call_later(_PATIENCE, self._flush)
            self._waits.outward(Waiting.STORE)
            self._worker.guess(wanted, self._flush)
            self._worker.prefetch(wanted)

    def _hold(self) -> None:
        self._holding = True
        self._came = self._resting
        self._newer_than = self._loop.time()
        self._patience = self._loop.call_later(HOLD - _TICK, self._held, 1)
        self._waits.outward(Waiting.SOURCE)

    def _held(self, looks: int) -> None:
        """The source has had its time. If what waited then is out by now, what came after it has its own."""
        self._patience = None
        if self._waits.queued or self._awaiting_turn:  # it would only wait elsewhere, or more may be there
            self._patience = self._loop.call_later(HOLD, self._held, 0)
            return
        if self._came and self._left <= _TICK and self._coders.encoder.unsent <= self._read:
            self._ship()  # the incomplete chunk has just begun
            self._newer_than = self._read_at
        if self._closed:
            return
        if self._came and self._left > _TICK and not self._resting:
            self._patience = self._loop.call_later(self._left, self._held, 0)
        elif looks and not self._came:
            self._patience = self._loop.call_later(_TICK, self._held, 0)
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
        """It cannot go on while it is not read."""
        if not (self._resting or self._awaiting_turn or self._closed):
            self._stall.watch()

    def _give_up(self) -> None:
        self._coders.give_up()
        self._flush()
