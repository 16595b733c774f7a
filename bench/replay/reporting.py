"""`isthmus bench report`: makes a report of what was measured, and writes it to files."""

import sys
from pathlib import Path

from bench.machine import machine_text
from bench.replay import plots
from bench.replay.document import NOT_MEASURED, Chapter, Report, Table, scale_text, span, times
from bench.replay.markdown import markdown as as_markdown
from bench.replay.page import page
from bench.replay.records import RecordFailure, Records
from bench.replay.results import Results, by_suite
from bench.replay.suite import Suite
from bench.replay.suites import SUITES
from proxy.errors import ExitCode, OperatorError

TITLE = "Isthmus: the field's tests, replayed"
READING = (
    "Each table has the published figure beside the measured one. Where a cell was measured more than once it has the"
    " mean, and least and most in brackets; numbers in parentheses are notes below the table; the ratio says how many"
    " times as good as published ours is; the limit is what a perfect line and the best known compression would do."
)


def report(directory: Path, html: Path | None, markdown: Path | None) -> int:
    """Write the report; Markdown on stdout if no file is named. Raises OperatorError."""
    made = make(directory)
    if html:
        _write(html, page(made).encode())
    if markdown:
        pictures = markdown.with_name(f"{markdown.stem}-plots")
        for plot in made.plots:
            _write(pictures / f"{plot.name}.svg", plots.svg(plot))
        _write(markdown, as_markdown(made, lambda plot: f"{pictures.name}/{plot.name}.svg").encode())
    if not html and not markdown:
        sys.stdout.write(as_markdown(made, lambda plot: f"{plot.name}.svg"))
    return ExitCode.OK


def make(directory: Path) -> Report:
    """A report of all results that are kept in the directory. Raises OperatorError."""
    try:
        found = by_suite(Records(directory).all())
    except RecordFailure as error:
        raise OperatorError(str(error)) from None
    if not found:
        remedy = f"isthmus bench run SUITE --out {directory} makes some"
        raise OperatorError(f"there are no results in {directory}; {remedy}", ExitCode.USAGE)
    if others := sorted(found.keys() - SUITES.keys()):
        remedy = "move them away, or have the release report them that made them"
        raise OperatorError(f"{directory} has results of suites that are not known here: {', '.join(others)}; {remedy}")
    there = {name: suite for name, suite in SUITES.items() if name in found}
    chapters = [_chapter(suite, found[name]) for name, suite in there.items()]
    return Report(TITLE, [READING], _overview({name: found[name] for name in there}), chapters)


def _overview(found: dict[str, Results]) -> Table:
    """A row for each suite."""
    headings = ("suite", "cells", "measured", "beside published ones", "ratio", "goals met")
    return Table("In short", headings, [_row(name, results) for name, results in found.items()])


def _row(name: str, results: Results) -> tuple[str, ...]:
    summaries = [summary for _, summary in results.summaries()]
    ratios = [summary.ratio for summary in summaries if summary.ratio is not None]
    judged = [summary.met for summary in summaries if summary.met is not None]
    measured = sum(any(each.values for each in cell.summaries.values()) for cell in results.cells.values())
    return (
        name,
        f"{len(results.cells):,}",
        f"{measured:,}",
        f"{len(ratios):,}",
        span(ratios, times) if ratios else NOT_MEASURED,
        f"{sum(judged)} of {len(judged)}" if judged else NOT_MEASURED,
    )


def _chapter(suite: Suite, results: Results) -> Chapter:
    return Chapter(suite.title, _circumstances(results), _command(suite, results), list(suite.report(results)))


def _circumstances(results: Results) -> str:
    first = min(results.records, key=lambda record: str(record.machine.get("time", "")))
    repeats = f"{results.repeats} times" if results.repeats > 1 else "once"
    scales = " and ".join(_scales(results))
    return f"Measured {repeats} at scale {scales}, from {first.machine['time']}, on: {_machine(first.machine)}."


def _command(suite: Suite, results: Results) -> str:
    repeats = f" --repeat {results.repeats}" if results.repeats > 1 else ""
    return f"isthmus bench run {suite.name} --scale {_scales(results)[0]}{repeats}"


def _scales(results: Results) -> list[str]:
    return [scale_text(scale) for scale in sorted({record.scale for record in results.records})]


def _machine(facts: dict[str, object]) -> str:
    tools = facts.get("tools")
    versions = ", ".join(f"{name} {version}" for name, version in tools.items()) if isinstance(tools, dict) else ""
    return ", ".join(filter(None, [machine_text(facts), f"Linux {facts['kernel']}", versions]))


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise OperatorError(f"{path} cannot be written: {error.strerror}") from None
