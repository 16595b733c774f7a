"""The report of what reduction saves on the generated volumes.

Stated and published values are shown beside the measured ones here, but are not in the figures: nothing was measured
over a line, so the report's overview must not count these cells as faster than published.
"""

from collections.abc import Iterator

from bench.replay.document import Notes, Plot, Section, Series, Table, measured, number
from bench.replay.results import Cell, Results
from bench.replay.suites.field_published import throughput

STATED = {"compressibility": "compressibility", "duplicate files": "duplicates"}
"""Names of figures, and of the settings that say what they should be."""
GENERATED = ("generated", *STATED)
SAVED = ("deduplication saves", "compression saves, fast line", "compression saves, slow line")
CROSSES = ("crosses, new", "crosses, 1 % changed", "crosses, known")
EXPECTED = ("expected, pass 1", "expected, pass 2")
CHUNKS = ("KiB", "repeats", "new", "1 % changed", "known")
NEAR = 1.0
"""Percentage points by which a generated volume may differ from what is stated."""
WORTHWHILE = 2.0
"""Percentage points that a larger store has to find more for it to be worthwhile."""


def report(results: Results) -> Iterator[Section]:
    """One section."""
    yield Section(
        "What reduction saves",
        "The volumes of the field test as they are generated, analysed as `isthmus analyze` does it with any file,"
        " directory or device. Compressibility is what zlib saves, duplicates are the bytes of repeated files; the"
        " expected throughput is computed for the field test's line, not measured.",
        tables=[
            _table(results, "The volumes, as stated and as generated", GENERATED, beside=True),
            _table(results, "Saved, % (compression: of what deduplication leaves)", SAVED),
            _table(results, "Crosses the line, %", CROSSES),
            _table(results, "Expected on the field test's line, MB/min", EXPECTED, beside=True),
            *(_chunks(cell) for cell in results.cells.values() if cell.samples),
        ],
        plots=list(_plots(results)),
        findings=[*_findings(results)],
    )


def _table(results: Results, title: str, figures: tuple[str, ...], beside: bool = False) -> Table:
    """A table of these figures. `beside`: each is followed by a column for what is stated or published."""
    notes = Notes()
    rows = []
    for name, cell in results.cells.items():
        row = [name]
        for figure in figures:
            summary = cell.summaries.get(figure)
            row.append(measured(summary, notes, cell))
            if beside and figure != "generated":
                row.append(number(_told(cell, figure)))
        rows.append(tuple(row))
    headings = ["volume"]
    for figure in figures:
        units = [cell.summaries[figure].figure.unit for cell in results.cells.values() if figure in cell.summaries]
        headings.append(f"{figure}, {units[0]}" if beside and units else figure)
        if beside and figure != "generated":
            headings.append("published" if figure in EXPECTED else "stated")
    return Table(title, tuple(headings), rows, notes)


def _told(cell: Cell, figure: str) -> float | None:
    """What is stated of the generated volume, or was published of the real one with a disk store."""
    if figure in EXPECTED:
        return throughput("singly", cell.name, "disk", EXPECTED.index(figure) + 1)
    stated: float | None = cell.settings.get(STATED[figure])
    return stated


def _chunks(cell: Cell) -> Table:
    best = cell.summaries["best chunk size"].value
    rows = [
        (f"{number(average)}{', best' if average == best else ''}", *map(number, shares))
        for average, *shares in cell.samples["chunks"]
    ]
    return Table(f"{cell.name} by chunk size, % that repeats and that crosses a slow line", CHUNKS, rows)


def _plots(results: Results) -> Iterator[Plot]:
    series = [
        Series(name, [size for size, _ in found["stores"]], [share for _, share in found["stores"]])
        for name, cell in results.cells.items()
        if (found := cell.samples)
    ]
    if series:
        title = "What stores find while a volume is replicated once"
        yield Plot("reduction-stores", title, "store, MiB", "found, %", series, logarithmic="x")


def _findings(results: Results) -> Iterator[str]:
    for name, cell in results.cells.items():
        summaries = cell.summaries
        values = {figure: summaries[figure].value for figure in (*SAVED, *CROSSES) if figure in summaries}
        new, changed, known = (values.get(figure) for figure in CROSSES)
        if new is None or changed is None or known is None:
            continue
        yield (
            f"{name}: of all its bytes {number(new)} % cross the field test's line when they are new,"
            f" {number(changed)} % when one in a hundred has changed, {number(known)} % when nothing has."
        )
        if found := cell.samples.get("stores"):
            enough = next(size for size, share in found if share >= found[-1][1] - WORTHWHILE)
            if found[-1][1] >= WORTHWHILE:
                repeats = number(found[-1][1])
                yield f"{name}: a store of {number(enough)} MiB finds nearly all of the {repeats} % that repeat."
    yield from _off(results)


def _off(results: Results) -> Iterator[str]:
    """Whether the volumes are what they are said to be."""
    judged = [
        (name, figure, abs(summary.value - stated))
        for name, cell in results.cells.items()
        for figure in STATED
        if (summary := cell.summaries.get(figure))
        and summary.value is not None
        and (stated := _told(cell, figure)) is not None
    ]
    if judged:
        off = [f"{name}, {figure} ({number(points)} points)" for name, figure, points in judged if points > NEAR]
        yield "All volumes are as stated within a point." if not off else f"Not as stated: {'; '.join(off)}."
