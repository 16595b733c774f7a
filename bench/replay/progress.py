"""Shows a run while it goes on: a bar over all trials with the time left, what is done now, and each result."""

import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from bench.replay.document import number, times
from bench.replay.records import Record
from bench.replay.results import Cell, Summary
from bench.replay.runner import Work
from bench.replay.timing import TimeLeft


class Left(ProgressColumn):
    """The time left, by the guesses of the trials."""

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """Such as "12:05 left"."""
        minutes, seconds = divmod(round(self._left.seconds(time.monotonic())), 60)
        return Text(f"{minutes:,}:{seconds:02} left", style="progress.remaining")


class Screen:
    """A `Watcher` with a bar on a terminal; where there is none it prints the results only. A context manager."""

    def __init__(self, console: Console, works: Sequence[Work]) -> None:
        self._left = TimeLeft([work.trial.seconds for work in works])
        columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), Left(self._left))
        text = TextColumn("{task.description}")
        self._progress = Progress(*columns, text, console=console, disable=not console.is_terminal)
        self._bar = self._progress.add_task("", total=sum(work.trial.seconds for work in works))
        self._console = console
        self._place = ""

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, work: Work) -> None:
        """A trial begins."""
        self._left.begin(time.monotonic())
        self._place = f"{work.suite.name}/{work.trial.cells[0]}" + (f", {work.repeat}" if work.repeat > 1 else "")
        self.tell("")

    def tell(self, text: str) -> None:
        """Show what the trial does now."""
        self._progress.update(self._bar, description=escape(": ".join(filter(None, [self._place, text]))))

    def kept(self, record: Record) -> None:
        """Print a result in a line."""
        self._console.print(result_line(record), markup=False, highlight=False, soft_wrap=True)

    def end(self, work: Work) -> None:
        """A trial has ended."""
        self._left.end(time.monotonic())
        self._progress.advance(self._bar, work.trial.seconds)


def result_line(record: Record) -> str:
    """Such as "field/singly/f5vol3/disk/1: throughput 301 MB/min (published 78.0: 3.86x)"."""
    place = f"{record.suite}/{record.cell}" + (f", {record.repeat}" if record.repeat > 1 else "")
    if record.state != "done":
        return f"{place}: {record.reason}"
    if record.outcome.complaint:
        return f"{place}: {record.outcome.complaint}"
    texts, remarks = [], dict[str, None]()
    for name, summary in Cell(record.cell, (record,)).summaries.items():
        if summary.values:
            texts.append(f"{name} {number(summary.value)} {summary.figure.unit}{_beside(summary)}")
        remarks |= dict.fromkeys(summary.remarks)
    return f"{place}: {'; '.join([*texts, *remarks])}"


def _beside(summary: Summary) -> str:
    if summary.ratio is None:
        return ""
    return f" (published {number(summary.figure.published)}: {times(summary.ratio)})"
