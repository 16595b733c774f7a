"""The thread that writes history down, so that no disk ever keeps the event loop waiting.

It writes one batch at a time. While a disk stalls it is given no other; its owner keeps only the newest state of what
has changed. A batch that cannot be written is written with the next one. So the memory for this is bounded by what the
book and the journal hold anyway.
"""

import queue
import sqlite3
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from proxy.history.file import HistoryFault, HistoryFile, Kept, open_history
from proxy.observe.answers import Event
from proxy.observe.journal import bounded
from proxy.observe.ranges import RANGES
from proxy.observe.steps import Key, Row


@dataclass(slots=True)
class Batch:
    """What is to be written."""

    steps: Mapping[Key, Row]
    events: Sequence[Event]
    facts: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0

    def over(self, former: "Batch") -> "Batch":
        """Both as one batch; of what both have, this one's counts. No more steps and events than the book and the
        journal hold."""
        events = {event.number: event for event in (*former.events, *self.events)}
        told = bounded(sorted(events.values(), key=lambda event: event.number))
        return Batch(_newest({**former.steps, **self.steps}), told, {**former.facts, **self.facts}, self.now)


def _newest(steps: Mapping[Key, Row]) -> dict[Key, Row]:
    """Of each range and series, the steps that came last, as many as the range has."""
    count, found = Counter[tuple[str, str]](), dict[Key, Row]()
    for key, row in reversed(list(steps.items())):
        count[key[:2]] += 1
        if count[key[:2]] <= RANGES[key[0]].steps:
            found[key] = row
    return dict(reversed(found.items()))


class Keeper:
    """The thread, as its owner sees it. The methods are for any one other thread; only `rest` and `close` wait for the
    disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        """Why the last batch could not be written, and waits for the next one; empty when it could."""
        self._work: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._opened: Future[Kept] = Future()
        self._thread = threading.Thread(target=self._run, name="history", daemon=True)

    @property
    def idle(self) -> bool:
        """True if the last batch has been dealt with (see `problem`), and another one may be given."""
        return self._idle.is_set()

    def open(self, now: float, site: str) -> "Future[Kept]":
        """Open and read the file on the thread, for that site; to be called once. The future raises HistoryFault.

        A caller that waits no longer may cancel the future: then the thread closes the file and ends as soon as the
        disk answers.
        """
        self._now, self._site = now, site
        self._thread.start()
        return self._opened

    def write(self, batch: Batch) -> None:
        """Have the thread write a batch; only when `idle`."""
        self._idle.clear()
        self._work.put(batch)

    def rest(self, seconds: float) -> bool:
        """Wait until it is idle; False if it is not within so many seconds."""
        return self._thread.ident is None or self._idle.wait(seconds)

    def close(self, seconds: float) -> bool:
        """Write what is left, and end; False if the disk did not answer within so many seconds."""
        if self._thread.ident is None:
            return True
        self._work.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            file, kept = open_history(self.path, self._now)
            kept.owner = file.claim(self._site)
        except Exception as error:  # of any kind: otherwise whoever waits for the future would wait for ever
            fault = error if isinstance(error, HistoryFault) else HistoryFault(f"{self.path}: {error}")
            if self._opened.set_running_or_notify_cancel():
                self._opened.set_exception(fault)
            return
        if self._opened.set_running_or_notify_cancel():
            self._idle.set()  # first, for whoever waits for the result may have a batch for us
            self._opened.set_result(kept)
            self._serve(file)
        file.close()

    def _serve(self, file: HistoryFile) -> None:
        owed = Batch({}, [])
        while (batch := self._work.get()) is not None:
            owed = batch.over(owed)
            if self._write(file, owed):
                owed = Batch({}, [])
            self._idle.set()

    def _write(self, file: HistoryFile, batch: Batch) -> bool:
        """True if it is written."""
        try:
            file.write(batch.steps, batch.events, batch.facts, batch.now)
        except sqlite3.Error as error:
            self.problem = f"{self.path}: {str(error) or type(error).__name__}"
            return False
        self.problem = ""
        return True
