"""The report of the writes that wait: throughput and latency by size, several writers, and the zones."""

from collections.abc import Iterator

from bench.replay.arrays import NO_LINE, TITLES, WAYS
from bench.replay.document import Notes, Plot, Section, Series, Table, caveat, measured, number, times
from bench.replay.results import Results
from proxy.plan.zones import by_rate, by_size, together

KIB = 1 << 10
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""KiB of a write."""
COPYING, CREATING = "copying", "creating"
ONE_WRITER = {"1g": 75.0}
"""MB/s: a single guest reaches about 75 % of the 100 MB/s of 1 Gb."""
PUBLISHED = {COPYING: {"1g": 85.0, "10g": 140.0}, CREATING: {"1g": 95.0, "10g": 441.0}}
"""MB/s."""
GROUPS = {COPYING: "four that copy files", CREATING: "five that create files"}
PLACES = [f"{way}/{line}" for line in ("1g", "10g", NO_LINE) for way in WAYS]
GAIN = 1.25
"""How many times as fast a faster line has to be to count as a gain."""


def report(results: Results) -> Iterator[Section]:
    """One section."""
    yield Section(
        "Writes that wait for the far array",
        "Each writer waits for the far array's answer before its next write, as a guest whose disk is replicated"
        " synchronously. Isthmus never answers for the array, so a write through it takes the way there and back as"
        " well, and the work of both sites.",
        tables=[_by_size(results, "throughput", "MB/s"), _by_size(results, "latency", "ms"), _groups(results)],
        plots=list(_plots(results)),
        findings=list(_findings(results)),
    )


def _title(place: str) -> str:
    way, line = place.split("/")
    return f"{TITLES[line]}, {WAYS[way]}"


def _by_size(results: Results, figure: str, unit: str) -> Table:
    notes = Notes()
    rows = []
    for size in SIZES:
        cells = [results.cell(f"{place}/{size}") for place in PLACES]
        shown = [measured(cell.summaries.get(figure) if cell else None, notes, cell) for cell in cells]
        rows.append((f"{size} KiB", *shown, by_size(size * KIB).value))
    headings = ("one writer", *map(_title, PLACES), "a faster line, by size")
    return Table(f"{figure.capitalize()}, {unit}", headings, rows, notes)


def _groups(results: Results) -> Table:
    notes = Notes()
    rows = []
    for group, words in GROUPS.items():
        for place in PLACES:
            cell = results.cell(f"{place}/{group}")
            summary = cell.summaries.get("throughput") if cell else None
            rate, size = (results.value(f"{place}/{group}", name) for name in ("throughput", "average write"))
            zone = together(by_rate(rate * 1e6), by_size(size * KIB)).value if rate and size else ""
            told = PUBLISHED[group].get(place.split("/")[1])
            shown = (number(told), times(summary.ratio if summary else None)) if told else ("", "")
            row = measured(summary, notes, cell), *shown, number(size)
            rows.append((f"{words}, {_title(place)}", *row, zone))
    headings = ("writers", "MB/s", "published", "ratio", "average write, KiB", "a faster line")
    return Table("Several writers", headings, rows, notes)


def _plots(results: Results) -> Iterator[Plot]:
    series = [
        Series(_title(place), SIZES, values)
        for place in PLACES
        if any(values := [results.value(f"{place}/{size}", "throughput") for size in SIZES])
    ]
    if series:
        yield Plot("blocks", "One writer that waits", "KiB a write", "MB/s", series, logarithmic="xy")


def _findings(results: Results) -> Iterator[str]:
    yield from _zones(results)
    for line in ("1g", "10g", NO_LINE):
        added = {
            size: ours - alone
            for size in (SIZES[2], SIZES[-1])
            if (ours := results.value(f"pair/{line}/{size}", "latency"))
            and (alone := results.value(f"direct/{line}/{size}", "latency"))
        }
        for size, more in added.items():
            word = "longer" if more >= 0 else "less"
            where = "Without a line" if line == NO_LINE else f"On {TITLES[line]}"
            but = caveat(results, "latency", f"pair/{line}/{size}")
            yield f"{where}, a write of {size} KiB takes {number(abs(more))} ms {word} through Isthmus{but}."


def _zones(results: Results) -> Iterator[str]:
    """For which sizes of write a faster line gains, as measured and as published."""
    faster = "10g" if any(results.value(f"direct/10g/{size}", "throughput") for size in SIZES) else NO_LINE
    gains = {
        size: fast / slow
        for size in SIZES
        if (fast := results.value(f"direct/{faster}/{size}", "throughput"))
        and (slow := results.value(f"direct/1g/{size}", "throughput"))
    }
    if not gains:
        return
    worth = [size for size, gain in gains.items() if gain >= GAIN]
    what = "10 Gb/s" if faster != NO_LINE else "no line at all, which stands in for 10 Gb/s here,"
    where = f"from {worth[0]} KiB on" if worth else "at no size"
    yield (
        f"Directly, {what} is {times(GAIN)} as fast as 1 Gb/s or more {where}; published: not below 8 KB, much from"
        " 16 KB on."
    )
