"""Lines of the log, written by a thread of their own: whoever reads it may stop to, and nothing else may wait for that.

A pipe that nobody empties, a terminal that was told to hold, a log driver whose disk is full: a write then waits.
"""

import os
import queue
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TextIO

WAITING_MAX = 500
"""Lines that wait to be written; most have 200 bytes or so."""
PATIENCE = 1.0
"""Seconds that are waited for what waits, at an end."""


class LineWriter:
    """`put` never waits. Any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._write = _write_of(stream)
        self._waiting: queue.Queue[str | threading.Event | None] = queue.Queue(WAITING_MAX)
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def put(self, line: str) -> bool:
        """False if too many wait: this one will not be written."""
        try:
            self._waiting.put_nowait(line + "\n")
        except queue.Full:
            return False
        return True

    def flush(self) -> None:
        """Wait until all lines so far are written, for twice `PATIENCE` at most."""
        written = threading.Event()
        with suppress(queue.Full):
            self._waiting.put(written, timeout=PATIENCE)
            written.wait(PATIENCE)

    def close(self) -> None:
        """As `flush`, and end the thread, if it does not wait for a reader."""
        self.flush()
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
                continue
            with suppress(OSError, ValueError):  # nobody will read it any more: no reason to stop carrying data
                self._write(item)


def _write_of(stream: TextIO) -> Callable[[str], object]:
    """Past Python's own buffer, if there is a descriptor: at its end the process needs the lock of that buffer."""
    try:
        return partial(_write_all, stream.fileno())
    except OSError:
        return stream.write


def _write_all(descriptor: int, line: str) -> None:
    rest = line.encode(errors="backslashreplace")
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody who shares the terminal or pipe has said that writes do not wait
            _wait_for_room(descriptor)


def _wait_for_room(descriptor: int) -> None:
    """Or until nobody reads any more, which the next write tells."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
