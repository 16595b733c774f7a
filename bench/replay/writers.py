"""Writers that wait for the answer to each write before the next, as a guest does whose writes are replicated at once.

Each is an initiator of its own, in a thread. It writes its content from the beginning of its unit on, until it has
written everything or the time is over; so the unit can be compared afterwards.
"""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.array import IQN
from bench.datasets import PAGE, Dataset
from bench.initiator import cdb
from bench.initiator.initiator import Initiator, Protocol
from bench.initiator.login import INITIATOR, Wishes
from bench.initiator.pdu import InitiatorFailure
from bench.replay.arrays import Arrays

PATIENCE_SECONDS = 120.0
FILE_WRITE = 128 << 10
"""Bytes of a file that one write has, at most."""


class WriterFailure(Exception):
    """A writer could not do its work; the message says why."""


@dataclass
class Writer:
    """One writer. After `run` it knows what it has written."""

    unit: int
    content: memoryview
    lengths: Sequence[int]
    """Bytes of its writes, in their order; all of them multiples of 512."""
    latencies: list[float] = field(default_factory=list)
    """Seconds, of each write that was answered."""
    failure: str = ""

    @property
    def written(self) -> int:
        """Bytes whose writes were answered."""
        return sum(self.lengths[: len(self.latencies)])

    def differs(self, unit: Path) -> bool:
        """Whether the unit has other bytes than were written to it."""
        with unit.open("rb") as file:
            return file.read(self.written) != self.content[: self.written]

    def run(self, arrays: Arrays, gate: threading.Barrier, seconds: float) -> None:
        """Log in, wait for the others, write. For a thread of its own; what goes wrong is kept in `failure`."""
        try:
            wishes = Wishes(IQN, initiator=f"{INITIATOR}-{self.unit}", initial_r2t=False)
            with arrays.inside(), Initiator(arrays.via, wishes, PATIENCE_SECONDS) as initiator:
                initiator.ready(self.unit)
                gate.wait(PATIENCE_SECONDS)
                self._write(initiator, time.monotonic() + seconds)
                initiator.logout()
        except (OSError, InitiatorFailure, threading.BrokenBarrierError) as error:
            self.failure = f"writer {self.unit}: {str(error) or type(error).__name__}"
            gate.abort()

    def _write(self, initiator: Initiator, deadline: float) -> None:
        at, now = 0, time.monotonic()
        for length in self.lengths:
            command = cdb.write_long(at // cdb.SECTOR, length // cdb.SECTOR)
            task = initiator.command(self.unit, command, self.content[at : at + length])
            if task.status != cdb.GOOD:
                raise Protocol(f"a write ended with status {task.status}, {task.sense}")
            before, now = now, time.monotonic()
            self.latencies.append(now - before)
            at += length
            if now > deadline:  # but after one write at least: without any there are no figures
                return


def alike(unit: int, content: Dataset, length: int) -> Writer:
    """A writer whose writes all have one length."""
    return Writer(unit, memoryview(b"".join(content)), [length] * (content.size // length))


def creating(unit: int, content: Dataset) -> Writer:
    """A writer that creates files of many sizes: the data of each in pieces, then a page about it, as a file system's
    journal has."""
    lengths: list[int] = []
    for file in content.files():
        lengths += [FILE_WRITE] * (file.size // FILE_WRITE)
        lengths += [rest] if (rest := file.size % FILE_WRITE) else []
        lengths.append(PAGE)
    while sum(lengths) > content.size:
        lengths.pop()
    return Writer(unit, memoryview(b"".join(content)), lengths)


def write(arrays: Arrays, writers: Sequence[Writer], seconds: float) -> float:
    """Run all writers at once; the seconds that it took. Raises WriterFailure."""
    gate = threading.Barrier(len(writers) + 1)
    threads = [
        threading.Thread(target=writer.run, args=[arrays, gate, seconds], name=f"writer {writer.unit}", daemon=True)
        for writer in writers
    ]
    for thread in threads:
        thread.start()
    try:
        gate.wait(PATIENCE_SECONDS)
    except threading.BrokenBarrierError:
        gate.abort()
    began = time.monotonic()
    for thread in threads:
        thread.join()
    failures = [writer.failure for writer in writers if writer.failure]
    if failures:
        raise WriterFailure(sorted(failures, key=len)[-1])
    return time.monotonic() - began
