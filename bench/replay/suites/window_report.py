"""The report of windows and delays, and what its cells are called."""

from collections.abc import Iterator
from typing import NamedTuple

from bench.replay.document import Notes, Plot, Section, Series, Table, measured, number, percent, span
from bench.replay.published_lines import RATES, TITLES
from bench.replay.results import Results

LINES = tuple(RATES)
DELAYS = (0, 1, 10, 20, 50)
"""Milliseconds, one way."""
WINDOWS = {"72KB": 72_000, "1MB": 1_000_000, "automatic": 0}
"""Bytes; 0: as the kernel chooses."""
WAYS = ("direct", "isthmus")
SAVED = {"10g": 15, "1g": 8, "oc3": 12}
"""Percent of the time that 1 MB windows saved, as published."""


class Place(NamedTuple):
    """A cell."""

    line: str
    delay: int
    window: str
    way: str

    @property
    def cell(self) -> str:
        """Its name."""
        return f"{self.line}/{self.delay}ms/{self.window}/{self.way}"


def report(results: Results) -> Iterator[Section]:
    """A table and a plot for each line; then what follows."""
    for line in LINES:
        if any(results.like(f"{line}/*")):
            yield _of_line(results, line)
    yield Section(
        "What windows and delays do",
        "The makers' formula is window / round trip for each of the three connections; their own table has 30 Mb/s for"
        " 72 KB at 20 ms, 11 Mb/s at 50 ms, and 400 and 160 Mb/s for 1 MB.",
        findings=list(_findings(results)),
    )


def _of_line(results: Results, line: str) -> Section:
    notes = Notes()
    rows = []
    for delay in DELAYS:
        if not any(results.like(f"{line}/{delay}ms/*")):
            continue
        cells = [f"{delay} ms"]
        for window, size in WINDOWS.items():
            direct = results.summary(Place(line, delay, window, "direct").cell, "throughput")
            if size:
                cells.append(number(direct.figure.limit if direct else None))
            for way in WAYS:
                cell = Place(line, delay, window, way).cell
                cells.append(measured(results.summary(cell, "throughput"), notes, results.cell(cell)))
        rows.append(tuple(cells))
    columns = {
        window: ("formula", "direct", "Isthmus") if size else ("direct", "Isthmus") for window, size in WINDOWS.items()
    }
    headings = [f"{window} {what}" for window, names in columns.items() for what in names]
    table = Table("Mb/s of three volumes at once", ("one way", *headings), rows, notes)
    return Section(TITLES[line], tables=[table], plots=list(_plot(results, line)))


def _plot(results: Results, line: str) -> Iterator[Plot]:
    def throughput(window: str, way: str) -> list[float | None]:
        return [results.value(Place(line, delay, window, way).cell, "throughput") for delay in DELAYS]

    series = [Series(f"{window}, {way}", DELAYS, throughput(window, way)) for window in WINDOWS for way in WAYS]
    if any(value is not None for each in series for value in each.y):
        yield Plot(f"window-{line}", f"{TITLES[line]}: three volumes at once", "ms, one way", "Mb/s", series)


def _findings(results: Results) -> Iterator[str]:
    yield from _far_away(results)
    for line in LINES:
        yield from _kept(results, line)
        yield from _saved(results, line)


def _far_away(results: Results) -> Iterator[str]:
    """Published: with 72 KB at 50 ms one way, all lines take about the same time."""
    for way, words in (("direct", "Directly"), ("isthmus", "Through Isthmus")):
        found = {line: results.value(Place(line, DELAYS[-1], "72KB", way).cell, "throughput") for line in LINES}
        texts = [f"{number(rate)} Mb/s over {TITLES[line]}" for line, rate in found.items() if rate is not None]
        if texts:
            yield f"{words}, with windows of 72 KB and {DELAYS[-1]} ms one way, the volumes get {', '.join(texts)}."


def _kept(results: Results, line: str) -> Iterator[str]:
    """How much of the throughput without a delay is left at the longest delay."""
    shares = {}
    for way in WAYS:
        near, far = (results.value(Place(line, delay, "72KB", way).cell, "throughput") for delay in (0, DELAYS[-1]))
        if near and far is not None:
            shares[way] = percent(far / near)
    if len(shares) == len(WAYS):
        yield (
            f"{TITLES[line]}: of what 72 KB windows bring without a delay, {shares['direct']} is left at"
            f" {DELAYS[-1]} ms one way directly, {shares['isthmus']} through Isthmus."
        )


def _saved(results: Results, line: str) -> Iterator[str]:
    """How much time larger windows save."""
    savings = []
    for delay in DELAYS:
        small, large = (
            results.value(Place(line, delay, name, "direct").cell, "throughput") for name in ("72KB", "1MB")
        )
        if small and large:
            savings.append(1 - small / large)
    if savings:
        saved = span(savings, percent)
        told = f" (published: {SAVED[line]} %)" if line in SAVED else ""
        yield (
            f"{TITLES[line]}: directly, windows of 1 MB instead of 72 KB save {saved} of the time, depending on the"
            f" delay{told}."
        )
