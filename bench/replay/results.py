"""What a directory of records says, by suite, cell and figure: over all repeats."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from bench.replay.records import Record
from bench.replay.trial import Figure


@dataclass(frozen=True)
class Summary:
    """A figure of a cell over its repeats. What is published, limit and goal are the last repeat's."""

    figure: Figure
    values: tuple[float, ...]
    """One of each repeat that had one."""
    remarks: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """The mean."""
        return fmean(self.values) if self.values else None

    @property
    def spread(self) -> tuple[float, float] | None:
        """Least and most; None for fewer than two repeats."""
        return (min(self.values), max(self.values)) if len(self.values) > 1 else None

    @property
    def ratio(self) -> float | None:
        """How many times as good as published."""
        if self.value is None or not self.figure.published or not self.value:
            return None
        better = self.value / self.figure.published
        return better if self.figure.more_is_better else 1 / better

    @property
    def of_limit(self) -> float | None:
        """How near it comes to what is possible: 1 is all of it."""
        if self.value is None or not self.figure.limit or not self.value:
            return None
        share = self.value / self.figure.limit
        return share if self.figure.more_is_better else 1 / share

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None if there is none, or no value."""
        if self.value is None or self.figure.goal is None:
            return None
        return self.value >= self.figure.goal if self.figure.more_is_better else self.value <= self.figure.goal


@dataclass(frozen=True)
class Cell:
    """All repeats of a cell."""

    name: str
    records: tuple[Record, ...]

    @property
    def finished(self) -> list[Record]:
        """Those that count."""
        return [record for record in self.records if record.finished]

    @property
    def summaries(self) -> dict[str, Summary]:
        """By name of the figure, of the repeats that count."""
        found: dict[str, list[Figure]] = {}
        for record in self.finished:
            for figure in record.outcome.figures:
                found.setdefault(figure.name, []).append(figure)
        return {name: _summary(figures) for name, figures in found.items()}

    @property
    def reason(self) -> str:
        """Why there is nothing, or why it cannot be trusted; or nothing."""
        complaints = [record.outcome.complaint or record.reason for record in self.records]
        return next((complaint for complaint in complaints if complaint), "")

    @property
    def samples(self) -> dict[str, Any]:
        """Of the last repeat that counts and has some."""
        return next((dict(each.outcome.samples) for each in reversed(self.finished) if each.outcome.samples), {})

    @property
    def settings(self) -> dict[str, Any]:
        """Of the last repeat: the trial's, and what was found out meanwhile."""
        return {**self.records[-1].settings, **self.records[-1].outcome.settings}


@dataclass(frozen=True)
class Results:
    """Of one suite."""

    records: tuple[Record, ...]

    @property
    def cells(self) -> dict[str, Cell]:
        """By name, as they were measured."""
        found: dict[str, list[Record]] = {}
        for record in sorted(self.records, key=lambda each: (each.repeat, each.machine.get("time", ""), each.seconds)):
            found.setdefault(record.cell, []).append(record)
        return {name: Cell(name, tuple(records)) for name, records in found.items()}

    @property
    def repeats(self) -> int:
        """The most that a cell has."""
        return max((record.repeat for record in self.records), default=0)

    def cell(self, name: str) -> Cell | None:
        """None if it was not measured."""
        return self.cells.get(name)

    def like(self, pattern: str) -> Iterator[Cell]:
        """Cells by a pattern as of a shell."""
        return (cell for name, cell in self.cells.items() if fnmatchcase(name, pattern))

    def summary(self, cell: str, figure: str) -> Summary | None:
        """None if it was not measured."""
        found = self.cell(cell)
        return found.summaries.get(figure) if found else None

    def value(self, cell: str, figure: str) -> float | None:
        """The mean; None if it was not measured, or is not to be had."""
        found = self.summary(cell, figure)
        return found.value if found else None

    def summaries(self) -> Iterator[tuple[str, Summary]]:
        """All figures, with the names of their cells."""
        for name, cell in self.cells.items():
            for summary in cell.summaries.values():
                yield name, summary


def by_suite(records: Iterable[Record]) -> dict[str, Results]:
    """All that is kept, by the suite's name."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.suite, []).append(record)
    return {name: Results(tuple(records)) for name, records in found.items()}


def _summary(figures: list[Figure]) -> Summary:
    values = tuple(figure.value for figure in figures if figure.value is not None)
    remarks = tuple(dict.fromkeys(figure.remark for figure in figures if figure.remark))
    return Summary(figures[-1], values, remarks)
