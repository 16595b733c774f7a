"""Measures one trial after another: finished cells are kept and skipped; a trial that fails does not end the run."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from bench.ending import said, scratch
from bench.machine import all_facts
from bench.programs import FAILURES
from bench.replay.records import Record, RecordFailure, Records, State
from bench.replay.suite import Suite
from bench.replay.trial import Lacking, Stage, Trial
from proxy.errors import NO_ROOM


class Watcher(Protocol):
    """Shows what is being done."""

    def begin(self, work: "Work") -> None:
        """A trial begins."""

    def tell(self, text: str) -> None:
        """Say what the trial does now."""

    def kept(self, record: Record) -> None:
        """A result of the trial was kept."""

    def end(self, work: "Work") -> None:
        """The trial has ended."""


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

    failed: int = 0
    """Cells that failed, or whose bytes differ."""
    lacking: list[str] = field(default_factory=list)
    """Why cells could not be measured, each reason once."""


def outstanding(records: Records, works: Sequence[Work], again: bool = False) -> tuple[list[Work], list[str]]:
    """What is still to be measured, and which finished results of these suites were made under other circumstances.

    `again`: finished results of these works do not count. Raises RecordFailure.
    """
    facts = all_facts()
    wanted = {_key(work, cell): blank(work, cell, facts) for work in works for cell in work.trial.cells}
    suites = {work.suite.name: blank(work, "", facts) for work in works}
    finished = (each for name in suites for each in records.all(name) if each.finished)
    kept = {(each.suite, each.cell, each.repeat): each for each in finished}
    if again:
        kept = {key: record for key, record in kept.items() if key not in wanted}
    others = []
    for key, record in kept.items():
        meant = wanted.get(key) or replace(suites[record.suite], settings=record.settings)  # settings differ by trial
        if difference := record.differs(meant):
            others.append(f"{records.path(*key)} was made with {difference}")
    rest = [work for work in works if any(_key(work, cell) not in kept for cell in work.trial.cells)]
    return rest, others


def set_aside(records: Records, works: Iterable[Work]) -> None:
    """Set aside what is kept of these, so that a run that is interrupted goes on with the new results.

    Raises RecordFailure.
    """
    for work in works:
        for cell in work.trial.cells:
            records.set_aside(*_key(work, cell))


def perform(records: Records, works: Sequence[Work], watcher: Watcher) -> Tally:
    """Measure all. Raises RecordFailure if a result cannot be kept; earlier results are kept."""
    tally = Tally()
    for work in works:
        watcher.begin(work)
        _measure(records, work, watcher, tally)
        watcher.end(work)
    return tally


def blank(
    work: Work, cell: str, facts: dict[str, Any], state: State = "done", seconds: float = 0.0, **more: Any
) -> Record:
    """A record with the circumstances, and no more than is given."""
    settings = dict(work.trial.settings)
    return Record(work.suite.name, cell, work.repeat, work.scale, settings, facts, state, seconds, **more)


def _measure(records: Records, work: Work, watcher: Watcher, tally: Tally) -> None:
    facts, began = all_facts(), time.monotonic()
    waiting = list(work.trial.cells)

    def keep(cell: str, **more: Any) -> None:
        record = blank(work, cell, facts, seconds=time.monotonic() - began, **more)
        records.keep(record)
        _count(record, tally)
        watcher.kept(record)

    try:
        with scratch() as directory:
            for cell, outcome in work.trial.measure(Stage(directory, work.scale, watcher.tell)):
                waiting.remove(cell)
                keep(cell, outcome=outcome)
    except Lacking as error:
        for cell in waiting:
            keep(cell, state="lacking", reason=str(error))
    except FAILURES + work.suite.failures as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise RecordFailure(said(error)) from None
        for cell in waiting:
            keep(cell, state="failed", reason=said(error))


def _key(work: Work, cell: str) -> tuple[str, str, int]:
    return work.suite.name, cell, work.repeat


def _count(record: Record, tally: Tally) -> None:
    match record.state:
        case "lacking" if record.reason not in tally.lacking:
            tally.lacking.append(record.reason)
        case "done" if record.outcome.complaint:
            tally.failed += 1
        case "failed":
            tally.failed += 1
