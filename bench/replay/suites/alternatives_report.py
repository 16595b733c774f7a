"""The report of the alternatives, and what its cells are called."""

from collections.abc import Iterator
from typing import NamedTuple

from bench.replay.document import Notes, Plot, Section, Series, Table, measured, number, times
from bench.replay.results import Results
from bench.replay.suites import field_published as published

VOLUMES = ("f5vol2", "f5vol3", "f5vol4")
PASSES = (1, 2)
TITLES = {
    "tcp-cubic": "TCP, CUBIC",
    "tcp-bbr": "TCP, BBR",
    "ssh": "ssh -C",
    "stunnel": "stunnel",
    "command": "your command",
    "isthmus": "Isthmus",
}
OURS = "isthmus"
TUNNELS = ("ssh", "stunnel", "command")
"""Ways whose congestion control is not chosen here."""
MIB = 1 << 20


class Place(NamedTuple):
    """A cell."""

    way: str
    volume: str
    number: int

    @property
    def cell(self) -> str:
        """Its name."""
        return f"{self.way}/{self.volume}/{self.number}"


def published_rate(place: Place) -> float | None:
    """Mb/s of the field test with a disk store; only for Isthmus, since that is what it is compared with."""
    told = published.throughput("singly", place.volume, "disk", place.number)
    return told * MIB * 8 / 60 / 1e6 if told and place.way == OURS else None


def report(results: Results) -> Iterator[Section]:
    """A row for each volume and pass, a column for each way."""
    ways = [way for way in TITLES if any(results.like(f"{way}/*"))]
    notes = Notes()
    rows = [_row(results, ways, volume, number_, notes) for volume in VOLUMES for number_ in PASSES]
    headings = ("volume", "pass", "published", *(TITLES[way] for way in ways), "Isthmus / best other")
    controls = [f"{TITLES[way]} {_control(results, way)}" for way in TUNNELS if way in ways and _control(results, way)]
    yield Section(
        "Throughput of one volume, Mb/s of its own bytes",
        "Over 45 Mb/s, 100 ms and 1 % loss. Published: the field test, disk store."
        + (f" Congestion control, as this host has it: {', '.join(controls)}." if controls else ""),
        [Table("", headings, rows, notes)],
        list(_plots(results, ways)),
        list(_findings(results, ways)),
    )


def _row(results: Results, ways: list[str], volume: str, pass_: int, notes: Notes) -> tuple[str, ...]:
    places = [Place(way, volume, pass_).cell for way in ways]
    shown = [measured(results.summary(cell, "throughput"), notes, results.cell(cell)) for cell in places]
    told = published_rate(Place(OURS, volume, pass_))
    best = _best(results, ways, volume, pass_)
    return (volume, str(pass_), number(told), *shown, times(best[1] if best else None))


def _control(results: Results, way: str) -> str:
    found = (str(cell.settings.get("congestion_control", "")) for cell in results.like(f"{way}/*"))
    return next(filter(None, found), "")


def _best(results: Results, ways: list[str], volume: str, pass_: int) -> tuple[str, float] | None:
    """The fastest of the others, and how many times as fast as that Isthmus is; None if either is missing."""
    rates = {way: results.value(Place(way, volume, pass_).cell, "throughput") for way in ways}
    others = {way: rate for way, rate in rates.items() if way != OURS and rate}
    ours = rates.get(OURS)
    if not others or not ours:
        return None
    best = max(others, key=lambda way: others[way])
    return best, ours / others[best]


def _plots(results: Results, ways: list[str]) -> Iterator[Plot]:
    for pass_ in PASSES:
        series = [
            Series(
                TITLES[way], VOLUMES, [results.value(Place(way, each, pass_).cell, "throughput") for each in VOLUMES]
            )
            for way in ways
        ]
        if any(value is not None for each in series for value in each.y):
            yield Plot(f"alternatives-{pass_}", f"Pass {pass_}", "", "Mb/s", series, "bars", "y")


def _findings(results: Results, ways: list[str]) -> Iterator[str]:
    for volume in VOLUMES:
        texts = []
        for pass_, word in zip(PASSES, ("first", "second"), strict=True):
            if best := _best(results, ways, volume, pass_):
                texts.append(f"in the {word} pass {times(best[1])} as fast as the best other ({TITLES[best[0]]})")
        if texts:
            yield f"{volume}: Isthmus is {', '.join(texts)}."
    if any(record.scale < 1 for record in results.records):
        yield "Published is scale 1: a small pass is mostly its beginning and its end, whatever carries it."
