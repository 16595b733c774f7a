"""Two real sites with traffic between them that is new at first, and known when it comes again."""

import contextlib
import threading
import time
from collections.abc import Iterator

from bench.sites import Address, Pair
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, connect
from tests.integration.bed.verdicts import discard
from tests.patience import PATIENCE

PIECE = 128 << 10
PIECES = 16
PAUSE = 0.05
"""Seconds between two pieces: 20 Mbit/s, so that other tests keep the processor."""


class Traffic:
    """An array that writes through the pair, again and again, until `stop`."""

    def __init__(self, near: Address) -> None:
        self._near = near
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when the connection is closed."""
        self._over.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        content = volume("traffic", PIECES * PIECE)
        with contextlib.suppress(OSError), connect(self._near) as connection:
            while not self._over.is_set():
                for piece in cut(content, PIECE):
                    connection.sendall(piece)
                    time.sleep(PAUSE)


@contextlib.contextmanager
def busy_pair() -> Iterator[tuple[Pair, Traffic]]:
    """Both sites up, and traffic that has begun. Sites may be killed: at the end nobody asks how they ended."""
    with Array(discard) as array, contextlib.ExitStack() as stack:
        pair = Pair({"array": array.address}, store_size="64MiB")
        stack.callback(pair.close)
        pair.prepare()
        pair.start()
        traffic = Traffic(pair.forwards["array"])
        stack.callback(traffic.stop)
        yield pair, traffic
