"""The report of the field test: the published tables with ours beside, the line's use over time, and what follows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.course import Course, Sample
from bench.replay.document import Notes, Plot, Section, Series, Table, goals, measured, met, number, percent, times
from bench.replay.results import Results, Summary
from bench.replay.suites import field_published as published

COLD_GOAL, WARM_GOAL = 3.5, 10.0
"""How many times as fast as published first passes, and later ones, should be; all others should not be slower."""
VOLUMES = ("f5vol4", "f5vol2", "f5vol3")
"""In the order of the published table."""
STORES = ("memory", "disk")
PASSES = (1, 2, 3)
LINE = 45e6
"""Bits a second."""
BEYOND = 100_000.0
"""MB/min from which on a limit says nothing: no host of today comes near."""
HEADINGS = (
    "volume",
    "store",
    "pass",
    "published",
    "MB/min",
    "Isthmus, MB/min",
    "at real size",
    "ratio",
    "limit, MB/min",
    "of it",
    "goal met",
)


ALONE = (
    "MB/min is the volume's size by the time from its first byte to the far end's receipt for all of it. The limit is"
    " what zstd -12 --long leaves of the volume, at what a perfect line carries; later passes have none."
)
TOGETHER = "The limit shares a perfect line evenly among the volumes that are not done yet."


class Place(NamedTuple):
    """A cell of the published tables, or beside them."""

    how: str
    volume: str
    store: str
    number: int

    @property
    def cell(self) -> str:
        """Its name."""
        volume, store = (self.volume, self.store) if self.how == "singly" else (self.store, self.volume)
        return f"{self.how}/{volume}/{store}/{self.number}"

    @property
    def text(self) -> str:
        """The place in words, for sentences and plots."""
        return f"{self.volume}, {self.store}, pass {self.number}"


def report(results: Results) -> Iterator[Section]:
    """One volume at a time, then all three."""
    singly = [Place("singly", *rest) for rest in _places(VOLUMES)]
    together = [Place("together", *rest) for rest in _places((*VOLUMES, published.TOTAL))]
    if any(results.like("singly/*")):
        yield _section(
            results, "One volume at a time", ALONE, singly, [f"singly/{volume}/disk/1" for volume in VOLUMES]
        )
    if any(results.like("together/*")):
        courses = [f"together/{store}/{published.TOTAL}/1" for store in STORES]
        yield _section(results, "All three volumes at once", TOGETHER, together, courses)


def _places(volumes: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    return ((volume, store, number) for volume in volumes for store in STORES for number in PASSES)


def _section(results: Results, title: str, text: str, places: list[Place], courses: list[str]) -> Section:
    here = [place for place in places if results.cell(place.cell)]
    notes = Notes()
    rows = [_row(results, place, notes) for place in here]
    how = places[0].how
    plots = [*_throughputs(results, here, f"field-{how}"), *_use(results, courses, f"field-{how}-line")]
    found = Results(tuple(record for record in results.records if record.cell.startswith(f"{how}/")))
    return Section(title, text, [Table("", HEADINGS, rows, notes)], plots, list(_findings(found, here)))


def _row(results: Results, place: Place, notes: Notes) -> tuple[str, ...]:
    summary = results.summary(place.cell, "throughput")
    told = published.throughput(place.how, place.volume, place.store, place.number)
    return (
        place.volume,
        place.store,
        str(place.number),
        published.elapsed(place.how, place.volume, place.store, place.number) or "-",
        number(told),
        measured(summary, notes, results.cell(place.cell)),
        _real_time(results, place),
        times(summary.ratio if summary else None),
        *_limit(summary),
        met(summary),
    )


def _limit(summary: Summary | None) -> tuple[str, str]:
    """What is possible, and how much of it is reached. If next to nothing has to cross, the line does not matter."""
    if summary is None or summary.figure.limit is None:
        return number(None), number(None)
    if summary.figure.limit > BEYOND:
        return f"over {number(BEYOND)}", number(None)
    return number(summary.figure.limit), percent(summary.of_limit)


def _real_time(results: Results, place: Place) -> str:
    """How long the pass would take at scale 1, at the same rate."""
    elapsed, cell = results.value(place.cell, "elapsed"), results.cell(place.cell)
    if elapsed is None or cell is None:
        return "-"
    minutes, seconds = divmod(round(elapsed / cell.records[-1].scale), 60)
    return f"{minutes}m{seconds:02}s"


def _throughputs(results: Results, places: list[Place], name: str) -> Iterator[Plot]:
    """A plot of measured and published throughputs, of the places that have both."""
    summaries = {place: results.summary(place.cell, "throughput") for place in places}
    both = {place: found for place, found in summaries.items() if found and found.ratio}
    if not both:
        return
    names = [f"{place.volume}\n{place.store} {place.number}" for place in both]
    told = Series("published", names, [summary.figure.published for summary in both.values()], dashed=True)
    ours = Series("Isthmus", names, [summary.value for summary in both.values()])
    yield Plot(name, "Throughput by volume, store and pass", "", "MB/min", [told, ours], "bars", "y")


def _use(results: Results, cells: list[str], name: str) -> Iterator[Plot]:
    series = []
    for cell in cells:
        if (found := results.cell(cell)) and (samples := found.samples.get("line")):
            seconds, rates = Course([Sample(*each) for each in samples]).spans()
            words = [word for word in cell.split("/") if word not in ("singly", published.TOTAL, "1")]
            series.append(Series(" ".join(words), seconds, [800 * rate / LINE for rate in rates]))
    if series:
        yield Plot(name, "How full the line is: first passes", "seconds", "% of 45 Mb/s", series)


def _findings(results: Results, places: list[Place]) -> Iterator[str]:
    ratios = {
        place: found.ratio for place in places if (found := results.summary(place.cell, "throughput")) and found.ratio
    }
    for first, words in ((True, "First passes are"), (False, "Later passes are")):
        some = {place: ratio for place, ratio in ratios.items() if (place.number == 1) == first}
        if some:
            least, most = (choose(some, key=lambda place: some[place]) for choose in (min, max))
            low, high = (f"{times(some[place])} ({place.text})" for place in (least, most))
            yield f"{words} {low if len(some) == 1 else f'{low} to {high}'} as fast as published."
    slower = [place.text for place, ratio in ratios.items() if ratio < 1]
    if ratios:
        yield f"Slower than published: {'; '.join(slower)}." if slower else "No cell is slower than published."
    yield from _how_near(results, places)
    yield from _out_of_reach(results, places)
    yield from goals(results)
    if places and not any(summary.met is not None for _, summary in results.summaries()):
        yield (
            f"The goals (first passes of f5vol2 and f5vol3 {times(COLD_GOAL)} as fast as published, later passes"
            f" {times(WARM_GOAL)}, none slower) are for scale 1: a small pass is mostly its beginning and its end."
        )


def _how_near(results: Results, places: list[Place]) -> Iterator[str]:
    """How much of the line the first passes use."""
    for place in places:
        use = results.value(place.cell, "line in use")
        if use is not None and place.number == 1 and place.store == "disk":
            found = results.summary(place.cell, "throughput")
            near = _limit(found)[1]
            near = f", and {near} of the limit are reached" if near != number(None) else ""
            yield f"In the first pass over {place.volume} (disk) the line is {number(use)} % in use{near}."


def _out_of_reach(results: Results, places: list[Place]) -> Iterator[str]:
    """Places of which even the limit misses the goal."""
    for place in places:
        found = results.summary(place.cell, "throughput")
        if found and found.figure.goal and found.figure.limit and found.figure.limit < found.figure.goal:
            yield (
                f"The goal for {place.text} ({number(found.figure.goal)} MB/min) is beyond what a perfect line and"
                f" zstd -12 --long allow ({number(found.figure.limit)})."
            )
