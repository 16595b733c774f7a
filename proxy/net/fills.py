"""Answers each MISS with FILLs: names of chunks and runs that the peer lacks wait here until their FILL may be sent.

A peer may ask for all that the batches on their way refer to, and take it as slowly as it likes. So a chunk is read
only when its FILL can go at once, and streams take turns: one that asks for much does not keep the others waiting.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from dedupstore.errors import ChunkAway, StoreError
from proxy.net.reading import Reading
from proxy.net.worker import StoreWorker
from proxy.protocol.streams import Streams

AT_ONCE = 64
"""Chunks that one call of `go_on` reads, at most; then the event loop sees to other work."""

_LOADS_MAX = 8
"""How often a chunk is loaded, at most: before it is read, other chunks may have driven it out of the cache again."""
_AWAY_SECONDS = 1.0
"""Seconds until a chunk is tried again that the disk does not give now, and may give soon. Each try counts as a load,
so that a stream whose chunk the disk never gives is reset, and begins anew."""
_LOADS_AHEAD = 4
"""Chunks that are loaded before they can be sent, at most. A cache has room for few containers: if each of hundreds of
streams loaded one, those of the others would always drive it out before the stream's turn came."""


class FillSource(Protocol):
    """What `Fills` needs of a relay."""

    stream: int

    def listed(self, name: bytes) -> bytes | None:
        """The list of chunks of the run of that name, if such a run is on its way to the peer; else None."""

    def fill(self, name: bytes, data: bytes) -> None:
        """Send a FILL with the chunk, or with the run's list. Empty `data`: our store no longer has it."""

    def loading(self, loading: bool) -> None:
        """Whether a chunk that the peer waits for is being read from our disk now."""


@dataclass(slots=True)
class _Missed:
    names: deque[bytes]
    loads: int = 0
    """How often the first of `names` has been loaded."""


class Fills:
    """Answers the MISSes of one tunnel. Loop thread."""

    def __init__(self, streams: Streams, worker: StoreWorker, reading: Reading, pump: Callable[[], None]) -> None:
        """`pump` writes to the lanes what the tunnel wants sent."""
        self._streams = streams
        self._reading = reading
        self._worker = worker
        self._pump = pump
        self._loop = asyncio.get_running_loop()
        self._missed: dict[FillSource, _Missed] = {}
        self._turns: deque[FillSource] = deque()
        """Sources that may have a FILL to send now. The others are in one of the following, or their chunk is loading
        or waits for the disk.
        """
        self._ready: deque[FillSource] = deque()
        """Sources whose next chunk has just been loaded: they go before `_turns`."""
        self._cold: deque[FillSource] = deque()
        """Sources whose next chunk has to be loaded."""
        self._loading = 0  # chunks that are being loaded
        self._held: set[FillSource] = set()
        """Sources that wait until something of theirs is acknowledged."""
        self._later = False  # `_go_on_later` is scheduled

    def add(self, relay: FillSource, names: Sequence[bytes]) -> None:
        """The peer lacks what `names` names; the caller then calls `go_on`."""
        if relay not in self._missed:
            self._missed[relay] = _Missed(deque())
            self._turns.append(relay)
        self._missed[relay].names.extend(names)

    def drop(self, relay: FillSource) -> None:
        """The relay has ended. What it had unacknowledged no longer counts, so others may go on; the caller pumps."""
        if self._missed.pop(relay, None) is not None:
            self._held.discard(relay)
            for waiting in (self._turns, self._ready, self._cold):  # if the peer takes nothing its turn never comes
                if relay in waiting:
                    waiting.remove(relay)
        self.go_on()

    def arrived(self, relay: FillSource) -> None:
        """Some of what the relay has sent was acknowledged; the caller then calls `go_on`."""
        if relay in self._held:
            self._held.discard(relay)
            self._turns.append(relay)

    def go_on(self) -> None:
        """Send what may be sent, beyond `AT_ONCE` in a later turn of the loop; the caller pumps."""
        left = AT_ONCE
        while (turns := self._ready or self._turns) and self._streams.fill_fits:
            if left == 0:
                self._go_on_soon()
                break
            left -= 1
            self._serve(turns.popleft())
        if self._cold:
            self._load()

    def _go_on_soon(self) -> None:
        if not self._later:
            self._later = True
            self._loop.call_soon(self._go_on_later)

    def _go_on_later(self) -> None:
        self._later = False
        self.go_on()
        self._pump()

    def _serve(self, relay: FillSource) -> None:
        missed = self._missed.get(relay)
        if missed is None or not self._streams.remembers(relay.stream):  # the stream is lost: its event follows
            return
        if not self._streams.may_fill(relay.stream):
            self._streams.await_ack(relay.stream)
            self._held.add(relay)
            missed.loads = 0  # the chunk is not read at once: it does not count if the cache drops it before
            return
        name = missed.names[0]
        wait = self._cold.append
        try:
            data = relay.listed(name) or self._read(name)
        except ChunkAway:
            data, wait = None, self._wait_for_disk
        if data is None and missed.loads < _LOADS_MAX:
            missed.loads += 1
            relay.loading(True)
            wait(relay)
            return
        del missed.names[0]
        missed.loads = 0
        if missed.names:
            self._turns.append(relay)
        else:
            del self._missed[relay]
        relay.fill(name, data or b"")

    def _read(self, name: bytes) -> bytes | None:
        """Read a chunk from the store. None: it has to be loaded first; empty: the store no longer has it.

        Raises ChunkAway.
        """
        try:
            data = self._worker.store.read(name)
        except ChunkAway:
            raise
        except StoreError:
            return b""
        self._reading.gave(len(data or b""))
        return data

    def _load(self) -> None:
        while self._cold and self._loading + len(self._ready) < _LOADS_AHEAD:
            relay = self._cold.popleft()
            self._loading += 1
            self._worker.load(self._missed[relay].names[0], partial(self._loaded, relay), self._reading)

    def _wait_for_disk(self, relay: FillSource) -> None:
        self._loop.call_later(_AWAY_SECONDS, self._try_again, relay)

    def _try_again(self, relay: FillSource) -> None:
        if relay in self._missed:
            relay.loading(False)
            self._turns.append(relay)
            self.go_on()
            self._pump()

    def _loaded(self, relay: FillSource) -> None:
        self._loading -= 1
        if (missed := self._missed.get(relay)) is not None:
            relay.loading(False)
            self._ready.append(relay)
            if not self._streams.fill_fits:
                missed.loads = 0  # not read at once, as in `_serve`
        self.go_on()
        self._pump()
