"""Streams through a pair at the ends of a line."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any

from bench.datasets import Dataset
from bench.lines import far_sink
from bench.replicator import Sink, Transfer, replicate
from bench.sites import Address, Pair, SiteFailure
from bench.wan import Wan

ENDLESS = 1 << 44
WRITE_BYTES = 256 << 10
STORE = "128MiB"
"""Size of the stores, for streams in which nothing repeats."""


@contextmanager
def pair_on(
    wan: Wan, *names: str, exports: Mapping[str, Address] | None = None, store_size: str = STORE, **settings: Any
) -> Iterator[tuple[Pair, dict[str, Sink]]]:
    """A pair that is ready, with a sink behind a forward of each name; all else as of `Pair`."""
    with ExitStack() as stack:
        sinks = {name: stack.enter_context(far_sink(wan)) for name in names}
        all_exports = {name: sink.address for name, sink in sinks.items()} | dict(exports or {})
        pair = stack.enter_context(Pair(all_exports, wan=wan, store_size=store_size, **settings))
        pair.wait_prepared()
        yield pair, sinks


class Stream:
    """One stream, sent from east in a thread of its own.

    A context manager: leaving it ends the stream and waits for the rest to arrive. After an error or an interrupt it
    does not wait, since over a line that is out the rest would never arrive; then the stream ends with its pair.
    """

    def __init__(self, wan: Wan, to: Address, volume: Dataset) -> None:
        """`volume`: what it sends; with a size of `ENDLESS` it lasts until it is told to end."""
        self._end = threading.Event()
        self._done: list[Transfer] = []
        self._thread = threading.Thread(target=partial(self._run, wan, to, volume), name="stream", daemon=True)

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end.set()
        if kind is None:
            self._thread.join()

    def wait(self) -> Transfer:
        """Wait until everything is sent, and the sink's answer has come."""
        self._thread.join()
        return self.transfer

    def end(self) -> Transfer:
        """Send no more, and wait until the rest has arrived."""
        self._end.set()
        return self.wait()

    @property
    def transfer(self) -> Transfer:
        """What came of the stream. Raises SiteFailure if it did not come to its end."""
        if not self._done:
            raise SiteFailure("a stream did not come to its end")
        return self._done[0]

    def _run(self, wan: Wan, to: Address, volume: Dataset) -> None:
        with wan.inside("east"):
            self._done.append(replicate(self._buffers(volume), to))

    def _buffers(self, volume: Dataset) -> Iterator[bytes]:
        for buffer in volume.writes(WRITE_BYTES):
            if self._end.is_set():
                return
            yield buffer
