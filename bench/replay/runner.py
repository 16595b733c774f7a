"""One trial after another: what is finished is kept and skipped, what fails ends only itself."""

import errno
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bench.load import LoadFailure
from bench.replay import machine
from bench.replay.records import Record, RecordFailure, Records, State
from bench.replay.suite import Lacking, Stage, Suite, Trial
from bench.sites import SiteFailure
from bench.wan import WanFailure

FAILURES: tuple[type[Exception], ...] = (SiteFailure, LoadFailure, WanFailure, OSError, subprocess.SubprocessError)
"""What may go wrong with any trial."""
FULL = {errno.ENOSPC, errno.EDQUOT}


class Watcher(Protocol):
    """Whoever shows what is being done."""

    def begin(self, work: "Work") -> None:
        """A trial begins."""

    def tell(self, text: str) -> None:
        """What it does now."""

    def kept(self, record: Record) -> None:
        """A result of it was kept."""

    def end(self, work: "Work") -> None:
        """It has ended."""


@dataclass(frozen=True)
class Work:
    """A trial that is to be measured once."""

    suite: Suite
    trial: Trial
    repeat: int
    scale: float


@dataclass
class Tally:
    """What came of a run."""

    kept: int = 0
    failed: int = 0
    """Cells that failed, or whose bytes differ."""
    lacking: list[str] = field(default_factory=list)
    """Why some were not measured, each reason once."""


def outstanding(records: Records, works: Iterable[Work]) -> tuple[list[Work], list[str]]:
    """What is still to be measured, and which finished results were made under other circumstances, and which.

    Raises RecordFailure.
    """
    facts = machine.facts()
    rest, others = [], []
    for work in works:
        complete = True
        for cell in work.trial.cells:
            found = records.find(work.suite.name, cell, work.repeat)
            complete = complete and found is not None and found.state == "done"
            if found and found.state == "done" and (difference := found.differs(blank(work, cell, facts))):
                others.append(f"{records.path(work.suite.name, cell, work.repeat)} was made with {difference}")
        if not complete:
            rest.append(work)
    return rest, others


def perform(records: Records, works: Sequence[Work], watcher: Watcher) -> Tally:
    """Measure all. Raises RecordFailure if a result cannot be kept; those before it are."""
    tally = Tally()
    for work in works:
        watcher.begin(work)
        _measure(records, work, watcher, tally)
        watcher.end(work)
    return tally


def blank(work: Work, cell: str, facts: dict[str, Any], **more: Any) -> Record:
    """A record with the circumstances alone."""
    state: State = more.pop("state", "done")
    settings = dict(work.trial.settings)
    seconds = more.pop("seconds", 0.0)
    return Record(work.suite.name, cell, work.repeat, work.scale, settings, facts, state, seconds, **more)


def _measure(records: Records, work: Work, watcher: Watcher, tally: Tally) -> None:
    facts, began = machine.facts(), time.monotonic()
    waiting = list(work.trial.cells)

    def keep(cell: str, **more: Any) -> None:
        record = blank(work, cell, facts, seconds=time.monotonic() - began, **more)
        records.keep(record)
        _count(record, tally)
        watcher.kept(record)

    try:
        with tempfile.TemporaryDirectory(prefix="isthmus-", ignore_cleanup_errors=True) as directory:
            for cell, outcome in work.trial.measure(Stage(Path(directory), work.scale, watcher.tell)):
                waiting.remove(cell)
                keep(cell, outcome=outcome)
    except Lacking as error:
        for cell in _unfinished(records, work, waiting):
            keep(cell, state="lacking", reason=str(error))
    except FAILURES + work.suite.failures as error:
        if isinstance(error, OSError) and error.errno in FULL:
            raise RecordFailure(f"the disk of {tempfile.gettempdir()} is full (see TMPDIR)") from None
        for cell in _unfinished(records, work, waiting):
            keep(cell, state="failed", reason=str(error) or type(error).__name__)


def _unfinished(records: Records, work: Work, cells: Iterable[str]) -> list[str]:
    """Those without a finished result of an earlier run, which stays."""
    found = {cell: records.find(work.suite.name, cell, work.repeat) for cell in cells}
    return [cell for cell, record in found.items() if record is None or record.state != "done"]


def _count(record: Record, tally: Tally) -> None:
    match record.state:
        case "done":
            tally.kept += 1
            if record.outcome.complaint:
                tally.failed += 1
        case "lacking" if record.reason not in tally.lacking:
            tally.lacking.append(record.reason)
        case "failed":
            tally.failed += 1
