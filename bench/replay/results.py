"""Puts the records of a directory together over all repeats, by suite, cell and figure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from bench.replay.records import Record
from bench.replay.trial import Figure


@dataclass(frozen=True)
class Summary:
    """A figure of a cell over its repeats. `published`, `limit` and `goal` are those of the last repeat."""

    figure: Figure
    values: tuple[float, ...]
    """One for each repeat that has one."""
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
        """How many times as good as the published figure it is."""
        if self.value is None or not self.figure.published or not self.value:
            return None
        better = self.value / self.figure.published
        return better if self.figure.more_is_better else 1 / better

    @property
    def of_limit(self) -> float | None:
        """The share that it reaches of what is possible: 1 is all of it."""
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
        """The repeats that count."""
        return [record for record in self.records if record.finished]

    @property
    def summaries(self) -> dict[str, Summary]:
        """A summary of the repeats that count, by name of the figure."""
        found: dict[str, list[Figure]] = {}
        for record in self.finished:
            for figure in record.outcome.figures:
                found.setdefault(figure.name, []).append(figure)
        return {name: _summary(figures) for name, figures in found.items()}

    @property
    def reason(self) -> str:
        """Why a repeat has no figures, or why they cannot be trusted; empty if all is well."""
        complaints = [record.outcome.complaint or record.reason for record in self.records]
        return next((complaint for complaint in complaints if complaint), "")

    @property
    def samples(self) -> dict[str, Any]:
        """The samples of the last repeat that counts and has some."""
        return next((dict(each.outcome.samples) for each in reversed(self.finished) if each.outcome.samples), {})

    @property
    def settings(self) -> dict[str, Any]:
        """The last repeat's settings: the trial's, and what was found out while it was measured."""
        return {**self.records[-1].settings, **self.records[-1].outcome.settings}


@dataclass(frozen=True)
class Results:
    """All results of one suite."""

    records: tuple[Record, ...]

    @property
    def cells(self) -> dict[str, Cell]:
        """The cells by name, in the order in which they were measured."""
        found: dict[str, list[Record]] = {}
        for record in sorted(self.records, key=lambda each: (each.repeat, each.machine.get("time", ""), each.seconds)):
            found.setdefault(record.cell, []).append(record)
        return {name: Cell(name, tuple(records)) for name, records in found.items()}

    @property
    def repeats(self) -> int:
        """The most repeats that a cell has."""
        return max((record.repeat for record in self.records), default=0)

    def cell(self, name: str) -> Cell | None:
        """The cell of that name; None if it was not measured."""
        return self.cells.get(name)

    def like(self, pattern: str) -> Iterator[Cell]:
        """Cells whose names match a pattern, as a shell's."""
        return (cell for name, cell in self.cells.items() if fnmatchcase(name, pattern))

    def summary(self, cell: str, figure: str) -> Summary | None:
        """The summary of a cell's figure; None if it was not measured."""
        found = self.cell(cell)
        return found.summaries.get(figure) if found else None

    def value(self, cell: str, figure: str) -> float | None:
        """The mean of a cell's figure; None if it was not measured, or has no value."""
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
