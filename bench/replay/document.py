"""What a report is made of, before it becomes Markdown or HTML: sections of tables, plots and findings.

A suite makes its sections from its `Results`:

    def report(results: Results) -> Iterator[Section]:
        notes = Notes()
        rows = [(delay, measured(results.summary(f"line/{delay}", "throughput"), notes)) for delay in DELAYS]
        yield Section("Throughput by delay", tables=[Table("Mb/s", ("delay", "measured"), rows, notes)])
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Literal

from bench.replay.results import Cell, Results, Summary

NOT_MEASURED = "-"
LONGEST_NOTE = 300
"""Characters; the log of a site that has failed is longer."""


@dataclass
class Notes:
    """Footnotes of a table: each text once, numbered as they come."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        """The number in brackets that goes into the cell; nothing for no text."""
        text = shorten(text, LONGEST_NOTE, placeholder=" ...")
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f"({self.texts.index(text) + 1})"


@dataclass(frozen=True)
class Table:
    """Rows of texts; all columns but the first are flush right."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: Notes = field(default_factory=Notes)


@dataclass(frozen=True)
class Series:
    """Points of a plot; if x are texts, bars beside those of the other series."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    """None: no point there."""
    dashed: bool = False
    """Drawn for what was not measured: a limit, a theory, published figures."""


@dataclass(frozen=True)
class Plot:
    """Lines over numbers, or bars over names."""

    name: str
    """The name of its file, unique within the report: "field-singly"."""
    title: str
    x: str
    y: str
    """Labels of the axes, with units."""
    series: Sequence[Series]
    kind: Literal["lines", "bars"] = "lines"
    logarithmic: Literal["", "x", "y", "xy"] = ""


@dataclass(frozen=True)
class Section:
    """A heading, a paragraph, tables and plots, and what they say in plain words."""

    title: str
    text: str = ""
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    findings: Sequence[str] = ()
    """Sentences that are made from the figures; none if there are no figures."""


@dataclass(frozen=True)
class Chapter:
    """A suite: how it was measured, and its sections."""

    title: str
    text: str
    command: str
    """The command that measures the suite again."""
    sections: Sequence[Section]


@dataclass(frozen=True)
class Report:
    """A whole report."""

    title: str
    text: Sequence[str]
    overview: Table
    chapters: Sequence[Chapter]

    @property
    def plots(self) -> Iterator[Plot]:
        """The plots of all sections."""
        return (plot for chapter in self.chapters for section in chapter.sections for plot in section.plots)


# -- texts of figures -------------------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Three digits or more: 0.42, 4.20, 42.0, 4,200."""
    if value is None:
        return NOT_MEASURED
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def times(value: float | None) -> str:
    """A ratio: 4.2x."""
    return NOT_MEASURED if value is None else f"{number(value)}x"


def percent(share: float | None) -> str:
    """A share (0 to 1) in percent."""
    return NOT_MEASURED if share is None else f"{share:.0%}" if abs(share) >= 0.1 or not share else f"{share:.1%}"


def scale_text(scale: float) -> str:
    """A scale as operators read it: 1/16 rather than 0.0625."""
    part = round(1 / scale)
    return f"1/{part}" if part > 1 and abs(part * scale - 1) < 1e-9 else f"{scale!r}"


def span(values: Sequence[float], text: Callable[[float], str]) -> str:
    """The least and the most of the values, or one text if both are the same. Needs one value at least."""
    low, high = text(min(values)), text(max(values))
    return low if low == high else f"{low} to {high}"


def measured(summary: Summary | None, notes: Notes, cell: Cell | None = None) -> str:
    """The mean, the spread over repeats in brackets, and the numbers of footnotes; `cell` says why there is nothing."""
    marks = [notes.mark(cell.reason)] if cell and cell.reason else []
    if summary is None:
        return " ".join(marks) or NOT_MEASURED
    marks += [notes.mark(remark) for remark in summary.remarks]
    texts = [number(summary.value)] if summary.value is not None else [] if marks else [NOT_MEASURED]
    if summary.spread:
        texts.append(f"[{number(summary.spread[0])} to {number(summary.spread[1])}]")
    return " ".join([*texts, *marks])


def met(summary: Summary | None) -> str:
    """The text of the column that says whether a goal was met."""
    if summary is None or summary.met is None:
        return ""
    return "yes" if summary.met else "NO"


def caveat(results: Results, figure: str, *cells: str) -> str:
    """What qualifies a finding that rests on these cells: their first remark, in brackets; or nothing."""
    summaries = (results.summary(cell, figure) for cell in cells)
    remarks = [remark for summary in summaries if summary for remark in summary.remarks]
    return f" ({remarks[0]}: this says little)" if remarks else ""


def goals(results: Results) -> Iterator[str]:
    """A sentence on how many goals were met, and which were not; nothing if there are none."""
    judged = [(name, summary) for name, summary in results.summaries() if summary.met is not None]
    if not judged:
        return
    missed = [
        f"{name} ({number(each.value)} of {number(each.figure.goal)} {each.figure.unit})"
        for name, each in judged
        if not each.met
    ]
    yield f"{len(judged) - len(missed)} of {len(judged)} goals are met." + (
        f" Missed: {'; '.join(missed)}." if missed else ""
    )
