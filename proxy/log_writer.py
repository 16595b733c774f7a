"""Writes the log's lines on a thread of its own, so that nothing else waits if whoever reads the log stops reading.

A write blocks for as long as nobody empties the pipe, the terminal is told to hold, or the log driver's disk is full.
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
"""Lines that may wait to be written; most have 200 bytes or so."""
PATIENCE = 1.0
"""Seconds that `flush` waits for a place in the queue, and again for the lines before it to be written."""


class LineWriter:
    """`put` never waits. Any thread."""

    def __init__(self, stream: TextIO) -> None:
        self._write = _write_of(stream)
        self._waiting: queue.Queue[str | threading.Event | None] = queue.Queue(WAITING_MAX)
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def put(self, line: str) -> bool:
        """Queue a line; False if too many wait: this one will not be written."""
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
        """As `flush`; then the thread ends, or if the queue is full because nobody reads, with the process."""
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
    """What writes a line: past Python's own buffer if the stream has a descriptor, since the process needs that
    buffer's lock to end, and a write that waits would hold it."""
    try:
        return partial(_write_all, stream.fileno())
    except OSError:
        return stream.write


def _write_all(descriptor: int, line: str) -> None:
    rest = line.encode(errors="backslashreplace")
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # another process that shares the terminal or pipe has made it non-blocking
            _wait_for_room(descriptor)


def _wait_for_room(descriptor: int) -> None:
    """Wait until the descriptor takes more, or nobody reads any more, which the next write finds out."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    poll.poll()
