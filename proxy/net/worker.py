"""The worker thread that waits for the disk so that the loop does not have to."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from dedupstore.store import ChunkStore

log = logging.getLogger(__name__)

_WORTH_WRITING = 2
"""When one part in so many of what may wait does so, it is written, and otherwise once a second."""

PATIENCE = 2.0
"""Seconds that sources rest for one stalled write; then traffic passes unlearned."""


class StoreWorker:
    """Runs `load` and `write` of a store in a thread of its own, one at a time. All methods: loop thread."""

    def __init__(self, store: ChunkStore) -> None:
        self.store = store
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._writing_since: float | None = None
        self._rested: list[Callable[[], None]] = []
        self._loading: dict[bytes, list[Callable[[], None]]] = {}
        self._closed = False
        self.prepared = False
        """The store's memory has been touched: from now on it is as fast as it gets."""

    @property
    def congested(self) -> bool:
        """True while sources should rest because the disk lags."""
        if self.store.unwritten <= self.store.unwritten_max:
            return False
        return self._writing_since is None or time.monotonic() - self._writing_since < PATIENCE

    def when_relieved(self, call: Callable[[], None]) -> None:
        """Call once when a source may go on: the write has ended, or patience has."""
        if not self._rested:
            self._loop.call_later(PATIENCE, self._relieve)
        self._rested.append(call)
        self.kick()

    def kick(self) -> None:
        """Start a write if enough waits for one and none is under way."""
        if self.store.unwritten > self.store.unwritten_max // _WORTH_WRITING:
            self._write()

    def note(self) -> None:
        """Each second: write whatever there is, also what is noted about peers; more may never come."""
        if self.store.unwritten or self.store.noted:
            self._write()

    def _write(self) -> None:
        if self._closed or self._writing_since is not None:
            return
        self._writing_since = time.monotonic()
        self._loop.run_in_executor(self._pool, self.store.write).add_done_callback(self._written)

    def load(self, name: bytes, call: Callable[[], None] = lambda: None) -> None:
        """Load a chunk's container, then call. Calls for the same chunk share one load."""
        waiting = self._loading.setdefault(name, [])
        waiting.append(call)
        if len(waiting) == 1 and not self._closed:
            future = self._loop.run_in_executor(self._pool, self.store.load, name)
            future.add_done_callback(lambda done: self._loaded(name, done))

    def load_behind(self, name: bytes, call: Callable[[], None]) -> None:
        """Load a chunk's container, and the one that was filled after it; then call."""
        if not self._closed:
            self.load(name)
            future = self._loop.run_in_executor(self._pool, self.store.prefetch, name)
            future.add_done_callback(lambda done: _loaded_behind(done, call))

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        """Load the container that was filled after that chunk's; `spare`: as the store's."""
        if not self._closed:
            prefetch = partial(self.store.prefetch, name, spare=spare)
            self._loop.run_in_executor(self._pool, prefetch).add_done_callback(_report)

    def prepare(self) -> None:
        """Have the store ready its memory ahead of need."""
        self._loop.run_in_executor(self._pool, self.store.prepare).add_done_callback(self._prepared)

    async def close(self) -> None:
        """Wait for what is under way, then close the store on the worker thread."""
        self._closed = True
        await self._loop.run_in_executor(self._pool, self.store.close)
        self._pool.shutdown(wait=False)

    def _prepared(self, done: "asyncio.Future[None]") -> None:
        _report(done)
        self.prepared = True

    def _written(self, done: "asyncio.Future[None]") -> None:
        _report(done)
        self._writing_since = None
        self._relieve()
        self.kick()

    def _relieve(self) -> None:
        rested, self._rested = self._rested, []
        _call(rested)

    def _loaded(self, name: bytes, done: "asyncio.Future[None]") -> None:
        _report(done)
        _call(self._loading.pop(name, ()))


def _call(waiting: Iterable[Callable[[], None]]) -> None:
    """Whatever becomes of one of them, the streams behind the others wait for nothing else."""
    for call in waiting:
        try:
            call()
        except Exception:
            log.exception("a defect in what waited for the store")


def _loaded_behind(done: "asyncio.Future[None]", call: Callable[[], None]) -> None:
    _report(done)
    _call((call,))


def _report(done: "asyncio.Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.error("the store's worker failed: %s", error)
