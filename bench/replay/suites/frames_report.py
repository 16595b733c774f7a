"""The report of frames and losses, what its cells are called, and what was published."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from bench.replay.document import Notes, Plot, Section, Series, Table, caveat, measured, number, percent, span, times
from bench.replay.published_lines import RATES, TITLES
from bench.replay.results import Results
from bench.replay.trial import Outcome

LINES = tuple(RATES)
MTUS = (1500, 9000)
LOSSES = (0, 0.1, 1)
"""Percent."""
WAYS = ("direct", "isthmus")
DELAY = 1
"""Milliseconds one way: the paper names none, but its time at 1 % loss is what one connection needs at about 2 ms."""
GUIDE = {0: 11.6, 0.1: 12.45, 1: 24.82}
"""Minutes for 10 GB over OC3 by loss, as an earlier guide of the same makers has them."""
GIB = 1 << 30
GAINS = {
    ("10g", 0): "nearly half the time saved",
    ("10g", 0.1): "40 % better",
    ("10g", 1): "67 % better",
    ("1g", 0): "10 to 15 % saved",
    ("1g", 1): "60 % better",
    ("oc3", 0): "nothing",
    ("t3", 0): "nothing",
}
"""What jumbo frames brought, as published."""


class Place(NamedTuple):
    """A cell."""

    line: str
    mtu: int
    loss: float
    way: str

    @property
    def cell(self) -> str:
        """Its name."""
        return f"{self.line}/mtu{self.mtu}/loss{self.loss:g}/{self.way}"


def told(place: Place, outcome: Outcome) -> Outcome:
    """The outcome with the guide's figure as the published one, if the guide has one for that place."""
    if place.line != "oc3" or place.mtu != MTUS[0]:
        return outcome
    rate = 10 * GIB * 8 / 1e6 / (GUIDE[place.loss] * 60)
    throughput, *others = outcome.figures
    return replace(outcome, figures=(replace(throughput, published=rate), *others))


def report(results: Results) -> Iterator[Section]:
    """Throughput; what jumbo frames bring; what losses cost."""
    notes = Notes()
    rows = [
        _row(results, line, mtu, loss, notes)
        for line in LINES
        for mtu in MTUS
        for loss in LOSSES
        if any(results.like(Place(line, mtu, loss, "*").cell))
    ]
    headings = ("line", "MTU", "loss", "published", "direct", "Isthmus", "limit", "Isthmus / direct")
    yield Section(
        "Throughput",
        f"Mb/s of three volumes at once, {DELAY} ms one way. Published: 10 GB over OC3 by one array, from an earlier"
        " guide of the same makers.",
        [Table("", headings, rows, notes)],
        list(_plots(results)),
        list(_losses(results)),
    )
    yield _jumbo(results)


def _row(results: Results, line: str, mtu: int, loss: float, notes: Notes) -> tuple[str, ...]:
    places = [Place(line, mtu, loss, way).cell for way in WAYS]
    direct, ours = (results.summary(place, "throughput") for place in places)
    shown = [measured(results.summary(place, "throughput"), notes, results.cell(place)) for place in places]
    ratio = ours.value / direct.value if ours and direct and ours.value and direct.value else None
    published = number(direct.figure.published if direct else None)
    limit = number(direct.figure.limit if direct else None)
    return (TITLES[line], str(mtu), f"{loss:g} %", published, *shown, limit, times(ratio))


def _plots(results: Results) -> Iterator[Plot]:
    for line in LINES:
        series = [
            Series(f"{mtu}, {way}", [f"{loss:g} %" for loss in LOSSES], _values(results, line, mtu, way))
            for mtu in MTUS
            for way in WAYS
        ]
        if any(value is not None for each in series for value in each.y):
            yield Plot(f"frames-{line}", f"{TITLES[line]}, by MTU and loss", "loss", "Mb/s", series, "bars")


def _values(results: Results, line: str, mtu: int, way: str) -> list[float | None]:
    return [results.value(Place(line, mtu, loss, way).cell, "throughput") for loss in LOSSES]


def _losses(results: Results) -> Iterator[str]:
    for line in LINES:
        kept = {}
        for way in WAYS:
            clean, lossy = (_values(results, line, MTUS[0], way)[index] for index in (0, -1))
            if clean and lossy is not None:
                kept[way] = percent(lossy / clean)
        if len(kept) == len(WAYS):
            cells = [Place(line, MTUS[0], loss, way).cell for loss in (LOSSES[0], LOSSES[-1]) for way in WAYS]
            yield (
                f"{TITLES[line]}: at {LOSSES[-1]:g} % loss and MTU {MTUS[0]}, {kept['direct']} of the throughput"
                f" without loss is left directly, {kept['isthmus']} through Isthmus"
                f"{caveat(results, 'throughput', *cells)}."
            )


def _jumbo(results: Results) -> Section:
    """Throughput with MTU 9000, divided by that with MTU 1500."""
    rows = []
    findings = []
    cells: list[str] = []
    for line in LINES:
        for index, loss in enumerate(LOSSES):
            gains = {way: _gain(results, line, index, way) for way in WAYS}
            rows.append((TITLES[line], f"{loss:g} %", GAINS.get((line, loss), "-"), *map(times, gains.values())))
            if gains["direct"] and gains["isthmus"]:
                findings.append((gains["direct"], gains["isthmus"]))
                cells += [Place(line, mtu, loss, way).cell for mtu in MTUS for way in WAYS]
    headings = ("line", "loss", "published", "direct", "Isthmus")
    words = [
        f"{name} {span(column, times)}"
        for name, column in zip(("directly", "through Isthmus"), zip(*findings, strict=True), strict=False)
    ]
    little = caveat(results, "throughput", *cells)
    found = [f"By jumbo frames the throughput changes {', '.join(words)}{little}."] if words else []
    return Section("What jumbo frames bring", "MTU 9000 by MTU 1500.", [Table("", headings, rows)], findings=found)


def _gain(results: Results, line: str, index: int, way: str) -> float | None:
    small, large = (_values(results, line, mtu, way)[index] for mtu in MTUS)
    return large / small if small and large else None
