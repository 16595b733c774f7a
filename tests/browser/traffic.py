"""Two real sites with traffic between them that is new at first, and known when it comes again."""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator

from bench.sites import Address, Pair

PIECE = 128 << 10
PIECES = [os.urandom(PIECE) for _ in range(16)]
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
        self._thread.join(60)

    def _run(self) -> None:
        with contextlib.suppress(OSError), socket.create_connection(self._near, timeout=60) as connection:
            while not self._over.is_set():
                for piece in PIECES:
                    connection.sendall(piece)
                    time.sleep(PAUSE)


@contextlib.contextmanager
def far_array() -> Iterator[Address]:
    """The address of one that takes whatever it is given."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_take_all, args=(listener,), daemon=True).start()
    try:
        yield listener.getsockname()
    finally:
        listener.close()


def _take_all(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_take, args=(connection,), daemon=True).start()


def _take(connection: socket.socket) -> None:
    with contextlib.suppress(OSError), connection:
        while connection.recv(1 << 16):
            pass


@contextlib.contextmanager
def busy_pair() -> Iterator[tuple[Pair, Traffic]]:
    """Both sites up, and traffic that has begun. Sites may be killed: at the end nobody asks how they ended."""
    with far_array() as address, contextlib.ExitStack() as stack:
        pair = Pair({"array": address}, store_size="64MiB")
        stack.callback(pair.close)
        pair.prepare()
        pair.start()
        traffic = Traffic(pair.forwards["array"])
        stack.callback(traffic.stop)
        yield pair, traffic
