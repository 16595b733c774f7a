"""Two threads that wait for the store's disk so that the loop does not have to: one writes, one reads.

A disk may take no writes for a while and still answer reads (a snapshot of its file system, a full journal): streams
that only need reads go on then.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from dedupstore.store import ChunkStore
from proxy.net.reading import Reading
from proxy.net.threads import started_thread

log = logging.getLogger(__name__)

_WORTH_WRITING = 2
"""A write begins when more than `unwritten_max` divided by this waits; otherwise once a second."""

PATIENCE = 2.0
"""Seconds that sources rest for one stalled write; then traffic passes unlearned. A read that takes longer means that
the disk does not answer."""

_GUESSES_MAX = 16
"""Reads on a guess that may wait; while so many do, no more are taken."""

_AHEAD = 3
"""Reads that the reader's thread is given at once. What they load is still in the cache when the loop comes round:
a disk store keeps memory for one more read than that (dedupstore/disk_cache.py, FOR_READING)."""


class StoreWorker:
    """Runs `write` and `load` of a store in threads of their own, each one at a time. All methods: loop thread.

    Parties take turns at the reader; all streams of a peer are one party. A batch of three hundred bytes may name seven
    containers, and a peer may have a thousand such batches waiting. Reads on a guess, and those of `prepare`, are one
    more party, None.
    """

    def __init__(self, store: ChunkStore) -> None:
        self.store = store
        self._loop = asyncio.get_running_loop()
        self._writer = started_thread("store-writer")
        self._reader = started_thread("store-reader")
        self._writing_since: float | None = None
        self._spent: tuple[float, float | None] = 0.0, None
        """Set by the reader: for how many seconds it has read, and since when it reads. The loop needs both at once."""
        self._broken = False
        """The last write ended by a defect: nobody rests for the next one, which begins with the next second."""
        self._rested: list[Callable[[], None]] = []  # to be called when sources may go on
        self._reads: dict[Reading | None, deque[tuple[Callable[[], None], Callable[[], None]]]] = {}
        """Reads that wait, by party, first the party whose turn it is; each with what is to be called when it ends."""
        self._under_way = 0  # reads that the reader's thread has been given
        self._loading: dict[tuple[Reading | None, bytes, bool], list[Callable[[], None]]] = {}
        """What is to be called when a load has ended, by party, chunk and `whole`."""
        self._impatient: dict[Callable[[], None], None] = {}
        """An ordered set: those of the calls that are also made when the disk does not answer."""
        self._closed = False
        self._more_to_prepare = False
        self.prepared = False
        """The store's memory has been touched: from now on it is as fast as it gets."""

    @property
    def congested(self) -> bool:
        """True while sources should rest because the disk lags."""
        unwritten = self.store.unwritten
        if not unwritten or self._broken or unwritten <= self.store.unwritten_max:
            return False
        return self._writing_since is None or time.monotonic() - self._writing_since < PATIENCE

    def when_relieved(self, call: Callable[[], None]) -> None:
        """Call once when a source may go on: when the write has ended, or in `PATIENCE` seconds at the latest."""
        if not self._rested:
            self._loop.call_later(PATIENCE, self._relieve)
        self._rested.append(call)
        self.kick()

    def kick(self) -> bool:
        """Start a write if enough waits for one and none is under way. Returns `congested`."""
        unwritten = self.store.unwritten
        if not unwritten or self._broken:
            return False
        most = self.store.unwritten_max
        if unwritten <= most // _WORTH_WRITING:
            return False
        self._write()
        return unwritten > most and self.congested

    def is_silent(self) -> bool:
        """True if the disk does not answer: a read has taken longer than PATIENCE."""
        since = self._spent[1]
        return since is not None and time.monotonic() - since >= PATIENCE

    def note(self) -> None:
        """Once a second: write whatever waits, also notes on peers, since no more may ever come that starts a write."""
        if self.store.unwritten or self.store.write_due:
            self._write()
        if self._impatient and self.is_silent():
            impatient, self._impatient = self._impatient, {}
            _call(impatient)

    def _write(self) -> None:
        if self._closed or self._writing_since is not None:
            return
        self._writing_since = time.monotonic()
        self._loop.run_in_executor(self._writer, self.store.write).add_done_callback(self._written)

    def load(
        self,
        name: bytes,
        call: Callable[[], None],
        party: Reading | None = None,
        *,
        patient: bool = True,
        whole: bool = False,
        soon: Sequence[bytes] = (),
    ) -> None:
        """Load a chunk, usually with its container, then call `call`.

        A party's calls for the same chunk, and the same `whole`, share a load. `party`: whose turn it takes. If not
        `patient`, `call` is also called when the disk does not answer, and perhaps once more when it does. `whole`,
        `soon`: as of `ChunkStore.load`.
        """
        key = party, name, whole
        waiting = self._loading.setdefault(key, [])
        waiting.append(call)
        if not patient:
            self._impatient[call] = None
        if len(waiting) == 1:
            self._read(partial(self.store.load, name, whole=whole, soon=soon), partial(self._loaded, key), party)

    def load_behind(self, name: bytes, call: Callable[[], None], party: Reading | None = None) -> None:
        """Load a chunk's container and the one that its writer filled next, then `call`; as `load`, not patient."""
        self._impatient[call] = None
        self.load(name, _nothing, party, whole=True)
        self._read(partial(self.store.prefetch, name), partial(self._answer, [call]), party)

    def guess(self, name: bytes, call: Callable[[], None] | None = None) -> None:
        """Load the container of a chunk that may be wanted, then `call`. Does neither while too many guesses wait."""
        if self._may_guess:
            self.load(name, call or _nothing, whole=True)

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        """As `guess`, for the container that was filled after that chunk's. `spare`: as of `ChunkStore.prefetch`."""
        if self._may_guess:
            self._read(partial(self.store.prefetch, name, spare=spare), _nothing)

    def rate_of(self, party: Reading) -> int | None:
        """As of `Reading.rate`, to be asked once a second."""
        return party.rate(self._disk, time.monotonic())

    @property
    def _disk(self) -> float:
        """Seconds for which the reader has been at the disk so far."""
        seconds, since = self._spent
        return seconds + (0.0 if since is None else time.monotonic() - since)

    @property
    def _may_guess(self) -> bool:
        return len(self._reads.get(None, ())) < _GUESSES_MAX

    def prepare(self) -> None:
        """Have the store make its memory ready ahead of need, a step at a time."""
        self._more_to_prepare = False
        self._read(self._prepare_some, self._go_on_preparing)

    async def close(self) -> None:
        """Wait for what is under way, then close the store on the writer's thread."""
        self._closed = True
        await self._loop.run_in_executor(self._reader, _nothing)
        await self._loop.run_in_executor(self._writer, self.store.close)
        self._reader.shutdown(wait=False)
        self._writer.shutdown(wait=False)

    def _prepare_some(self) -> None:
        """Reader's thread."""
        self._more_to_prepare = self.store.prepare()

    def _go_on_preparing(self) -> None:
        if self._more_to_prepare:
            self.prepare()
        else:
            self.prepared = True

    def _written(self, done: "asyncio.Future[None]") -> None:
        self._broken = not _report(done)
        self._writing_since = None
        self._relieve()
        self.kick()

    def _relieve(self) -> None:
        rested, self._rested = self._rested, []
        _call(rested)

    def _read(self, read: Callable[[], None], then: Callable[[], None], party: Reading | None = None) -> None:
        if party is not None:
            party.begins(self._disk)
        self._reads.setdefault(party, deque()).append((read, then))
        self._read_more()

    def _read_more(self) -> None:
        while self._reads and self._under_way < _AHEAD and not self._closed:
            party = next(iter(self._reads))
            waiting = self._reads.pop(party)
            read, then = waiting.popleft()
            if waiting:
                self._reads[party] = waiting
            self._under_way += 1
            future = self._loop.run_in_executor(self._reader, self._timed, read)
            future.add_done_callback(partial(self._has_read, then, party))

    def _timed(self, read: Callable[[], None]) -> None:
        """Reader's thread."""
        seconds, began = self._spent[0], time.monotonic()
        self._spent = seconds, began
        try:
            read()
        finally:
            self._spent = seconds + time.monotonic() - began, None

    def _has_read(self, then: Callable[[], None], party: Reading | None, done: "asyncio.Future[None]") -> None:
        self._under_way -= 1
        _report(done)
        if party is not None:
            party.ended(self._disk)
        try:
            then()
        finally:
            self._read_more()

    def _loaded(self, key: tuple[Reading | None, bytes, bool]) -> None:
        self._answer(self._loading.pop(key, []))

    def _answer(self, waiting: list[Callable[[], None]]) -> None:
        for call in waiting:
            self._impatient.pop(call, None)
        _call(waiting)


def _nothing() -> None:
    """For reads that nobody waits for."""


def _call(waiting: Iterable[Callable[[], None]]) -> None:
    """Call all of them, even if one raises: nothing else would wake the streams behind the others."""
    for call in waiting:
        try:
            call()
        except Exception:
            log.exception("a defect in what waited for the store")


def _report(done: "asyncio.Future[None]") -> bool:
    """False if the read or write failed, which is logged as a defect: trouble with a disk is told by alarms instead."""
    if done.cancelled() or (error := done.exception()) is None:
        return True
    log.error("a defect in the store: %r", error)
    return False
