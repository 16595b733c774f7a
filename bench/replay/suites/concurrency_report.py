"""The report of the volumes in progress: times, what the host had of its array, and the published relations."""

from collections.abc import Iterator

from bench.replay.arrays import LINES, TITLES, WAYS
from bench.replay.document import Notes, Plot, Section, Series, Table, caveat, measured, number, times
from bench.replay.fio import HOST
from bench.replay.results import Results

VOLUME = 10 * 10**9
"""Bytes, at scale 1."""
WHOLE = 1 / 20
"""The scale from which on everything is measured; at smaller ones the figures say little."""
HOST_ALONE = "host-alone"
MANY, FEW = 18, 3
ALL, ONE = 16, 1
PUBLISHED = {
    "time of 18 volumes / of 3": {"10g": "3x", "oc3": "6x"},
    "time of 18, one at a time / 16": {"10g": "3.5x"},
    "host I/O, one at a time / 16": {"10g": "1.5x", "1g": "1.10 to 1.15x", "oc3": "1x"},
}
"""All that is published of this matrix: no times, only their ratios."""


def report(results: Results) -> Iterator[Section]:
    """One section."""
    yield Section(
        "Volumes in progress at once",
        "Volumes move between two iSCSI targets, so many at once as the second figure says, the others waiting; hosts"
        " read and write another volume of the source meanwhile, 8 KiB at random, 70 % reads, 30 under way, but no more"
        f" than {HOST.most:,} a second, as an array of disks has, for this one is as fast as memory. They begin a"
        " second before the replication, which counts as well. Replication in seconds; host I/O in operations a second,"
        " and the mean latency in ms.",
        tables=[*_figures(results), _relations(results)],
        plots=list(_plots(results)),
        findings=[*_too_small(results), *_findings(results)],
    )


def _figures(results: Results) -> Iterator[Table]:
    for line in LINES:
        notes = Notes()
        rows = [
            (
                _words(place),
                *(
                    measured(cell.summaries.get(figure) if cell else None, notes, cell)
                    for way in WAYS
                    for cell in [results.cell(f"{way}/{line}/{place}")]
                    for figure in ("replication", "host I/O", "host latency")
                ),
            )
            for place in _places(results, line)
        ]
        if rows:
            names = [f"{what}, {WAYS[way]}" for way in WAYS for what in ("replication", "host I/O", "latency")]
            yield Table(TITLES[line], ("volumes, at once", *names), rows, notes)


def _places(results: Results, line: str) -> list[str]:
    """Names of a line's cells, without the way and the line."""
    return list(dict.fromkeys(name.split("/", 2)[2] for name in results.cells if name.split("/")[1] == line))


def _words(place: str) -> str:
    return place.replace("/", ", ").replace("-", " ")


def _relations(results: Results) -> Table:
    rows = []
    for what, published in PUBLISHED.items():
        for line, told in published.items():
            ours = (times(_relation(results, f"{way}/{line}", what)) for way in WAYS)
            rows.append((f"{what}, {TITLES[line]}", told, *ours))
    return Table("Published relations", ("relation", "published", *WAYS.values()), rows)


def _relation(results: Results, place: str, what: str) -> float | None:
    if what.startswith("time of 18 volumes"):
        return _ratio(results, f"{place}/{MANY}/{ALL}", f"{place}/{FEW}/{ALL}", "replication")
    figure = "host I/O" if what.startswith("host") else "replication"
    return _ratio(results, f"{place}/{MANY}/{ONE}", f"{place}/{MANY}/{ALL}", figure)


def _ratio(results: Results, above: str, below: str, figure: str) -> float | None:
    one, other = results.value(above, figure), results.value(below, figure)
    return one / other if one and other else None


def _plots(results: Results) -> Iterator[Plot]:
    series = [
        Series(title, [TITLES[line] for line in LINES], values)
        for way, title in WAYS.items()
        if any(values := [results.value(f"{way}/{line}/{MANY}/{ALL}", "replication") for line in LINES])
    ]
    if series:
        yield Plot("concurrency", "18 volumes, 16 at once", "line", "seconds", series, kind="bars")
    yield from _turns(results)


def _turns(results: Results) -> Iterator[Plot]:
    """How volumes took their turns, in the cell in which most of them had to wait."""
    for line in LINES:
        found = cell.samples if (cell := results.cell(f"pair/{line}/{MANY}/{ONE}")) else {}
        if found:
            series = [Series(name, *_course(found[name])) for name in ("in progress", "waiting")]
            title = f"{MANY} volumes, {ONE} at once, {TITLES[line]}, {WAYS['pair']}"
            yield Plot(f"concurrency-turns-{line}", title, "seconds", "volumes", series)
            return


def _course(samples: list[list[float]]) -> tuple[list[float], list[float | None]]:
    """The samples as points of a plot, with a step at each change."""
    seconds: list[float] = []
    counts: list[float | None] = []
    for at, count in samples:
        seconds += [at, at] if counts else [at]
        counts += [counts[-1], count] if counts else [count]
    return seconds, counts


def _too_small(results: Results) -> Iterator[str]:
    scale = min((record.scale for record in results.records), default=WHOLE)
    if scale < WHOLE:
        yield (
            f"Volumes have {number(VOLUME * scale / 1e6)} MB here instead of {number(VOLUME / 1e6)}: the smaller"
            " they are, the more of this is their beginnings and ends, and the second that hosts have before, so it"
            " says little."
        )


def _findings(results: Results) -> Iterator[str]:
    for line in LINES:
        alone, ours = (results.value(f"{way}/{line}/{MANY}/{ALL}", "replication") for way in WAYS)
        if alone and ours:
            change = (
                f"{number(alone / ours)} times as fast" if alone >= ours else f"{number(ours / alone)} times as slow"
            )
            yield (
                f"On {TITLES[line]}, {MANY} volumes, {ALL} at once, go {change} through Isthmus"
                f" ({number(ours)} s, directly {number(alone)} s)"
                f"{caveat(results, 'replication', f'pair/{line}/{MANY}/{ALL}')}."
            )
        gain = _ratio(results, f"pair/{line}/{MANY}/{ONE}", f"pair/{line}/{MANY}/{ALL}", "host I/O")
        cost = _ratio(results, f"pair/{line}/{MANY}/{ONE}", f"pair/{line}/{MANY}/{ALL}", "replication")
        if gain and cost:
            yield (
                f"On {TITLES[line]}, through Isthmus, one volume at a time instead of {ALL} takes {times(cost)} the"
                f" time, and the hosts get {times(gain)} the operations"
                f"{caveat(results, 'replication', f'pair/{line}/{MANY}/{ONE}')}."
            )
