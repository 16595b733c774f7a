"""A report as Markdown, the way GitHub and markdown-it read it."""

import re
from collections.abc import Callable, Iterator

from bench.replay.document import Chapter, Plot, Report, Section, Table

Place = Callable[[Plot], str]
"""Gives the address of a plot's image."""


def markdown(report: Report, place: Place) -> str:
    """The whole report."""
    return "\n\n".join(_report(report, place)) + "\n"


def _report(report: Report, place: Place) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    yield from map(escaped, report.text)
    yield from _table(report.overview)
    for chapter in report.chapters:
        yield from _chapter(chapter, place)


def _chapter(chapter: Chapter, place: Place) -> Iterator[str]:
    yield f"## {escaped(chapter.title)}"
    yield escaped(chapter.text)
    yield f"```sh\n{chapter.command}\n```"
    for section in chapter.sections:
        yield from _section(section, place)


def _section(section: Section, place: Place) -> Iterator[str]:
    yield f"### {escaped(section.title)}"
    if section.text:
        yield escaped(section.text)
    for plot in section.plots:
        yield f"![{escaped(plot.title)}]({place(plot)})"
    for table in section.tables:
        yield from _table(table)
    if section.findings:
        yield "\n".join(["**What this says**", "", *(f"- {escaped(finding)}" for finding in section.findings)])


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{escaped(table.title)}**"
    rule = ["---", *["---:"] * (len(table.headings) - 1)]
    headings, *rows = ([escaped(cell) for cell in line] for line in (table.headings, *table.rows))
    yield "\n".join(f"| {' | '.join(line)} |" for line in (headings, rule, *rows))
    if table.notes.texts:
        yield "\\\n".join(f"({number}) {escaped(text)}" for number, text in enumerate(table.notes.texts, 1))


def escaped(text: str) -> str:
    """The text on one line, with escapes where Markdown would see markup."""
    return re.sub(r"([\\`*_<|]|\](?=[(\[:]))", r"\\\1", " ".join(text.split()))
