"""What history is made of: steps of time, each with sums of bytes, of every range as many as it has.

A step is a row of numbers (`COLUMNS`). One second's row is added to the open step of every range, so a coarser range
needs no look at a finer one. `Book` has them all, by series (the site, a peer, a forward or export) and range.
"""

from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from proxy.observe.ranges import RANGES

SUMS = (
    "seconds",
    "raw",
    "delivered",
    "after_deduplication",
    "after_compression",
    "wire",
    "wire_retransmitted",
    "wire_received",
    "cold_seconds",
    "cold_raw",
    "cold_wire",
    "warm_seconds",
    "warm_raw",
    "warm_wire",
)
RATED = ("raw", "delivered", "wire", "wire_retransmitted", "wire_received")
"""Columns that charts show as rates."""
COLUMNS = (*SUMS, *(f"peak_{name}" for name in RATED))
"""All are bytes, except those named seconds; peaks are bytes in the busiest second."""
SERIES_MAX = 32
"""Series that are kept: the site, its peers, then forwards and exports in the order of the file."""
_SUMS = len(SUMS)
_AT = {name: at for at, name in enumerate(COLUMNS)}

if TYPE_CHECKING:
    Row = array[float]
else:  # Python 3.11 has no generic arrays
    Row = array
Key = tuple[str, str, int]
"""Range, series, and the step's number: its time / the range's step."""


def begins(key: Key) -> float:
    """The time of day at which that step begins, in seconds since 1970."""
    return float(key[2] * RANGES[key[0]].step)


def at(row: Row, column: str) -> float:
    """One number of a row."""
    return row[_AT[column]]


def second(moved: Mapping[str, float], seconds: float) -> Row:
    """A row from what counters (those of `Traffic`, and of the wire) have risen by in so many seconds."""
    raw, wire = moved.get("raw", 0.0), moved.get("wire", 0.0) + moved.get("wire_retransmitted", 0.0)
    new = moved.get("after_deduplication", 0.0) - moved.get("relieved", 0.0)  # what the peer did not hold
    kind = "cold" if 2 * new > raw else "warm"
    found = {name: moved.get(name, 0.0) for name in SUMS} | {"seconds": seconds}
    if raw:
        found |= {f"{kind}_seconds": seconds, f"{kind}_raw": raw, f"{kind}_wire": wire}
    found |= {f"peak_{name}": moved.get(name, 0.0) / seconds for name in RATED}
    return array("d", [found[name] for name in COLUMNS])


def merge(one: Row, other: Row) -> Row:
    """Two rows as one: sums are added, of peaks the higher one counts."""
    sums = [a + b for a, b in zip(one[:_SUMS], other[:_SUMS], strict=True)]
    return array("d", [*sums, *map(max, one[_SUMS:], other[_SUMS:])])


class Book:
    """All series. Loop thread; `now` is the time of day, seconds since 1970."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, dict[int, Row]]] = {}  # by series, range and the step's number
        self._changed: set[Key] = set()  # only steps that are kept, so it is bounded though perhaps nobody asks

    @property
    def series(self) -> list[str]:
        """Their names."""
        return list(self._rows)

    def add(self, series: str, row: Row, now: float) -> None:
        """What a series did in the second that ends now, if it is kept."""
        if self.begin(series):
            for name, kept in RANGES.items():
                key = name, series, int(now // kept.step)
                self._add(key, row)
                self._changed.add(key)

    def begin(self, series: str) -> bool:
        """Keep such a series from now on; False if it is not kept, because there are SERIES_MAX others."""
        if series not in self._rows and len(self._rows) < SERIES_MAX:
            self._rows[series] = {name: {} for name in RANGES}
        return series in self._rows

    def keep(self, wanted: Mapping[str, object]) -> list[str]:
        """Keep the series of those names from now on, as many as there is room for; returns these. A series that is not
        among them, as of a peer that was removed, makes room for one that is."""
        former = (name for name in self.series if name not in wanted)
        for series in wanted:
            if not self.begin(series) and (gone := next(former, None)) is not None:
                self._forget(gone)
                self.begin(series)
        return [series for series in wanted if series in self._rows]

    def _forget(self, series: str) -> None:
        del self._rows[series]
        self._changed = {key for key in self._changed if key[1] != series}

    def restore(self, key: Key, row: Row) -> None:
        """A step of an earlier run, if its series has begun. They come in order, before any `add` of that time."""
        name, series, _ = key
        if series in self._rows and name in RANGES:
            self._add(key, row)

    def take_changed(self) -> dict[Key, Row]:
        """Steps that have changed since this was last asked, to be written down."""
        keys, self._changed = self._changed, set()
        found = ((key, self._rows[key[1]][key[0]].get(key[2])) for key in keys)
        return {key: row for key, row in found if row is not None}

    def steps(self, series: str, name: str, now: float) -> Iterator[tuple[float, Row | None]]:
        """When each step of a range ends, and its row, None if there is none; oldest first. Raises KeyError if there is
        no such range or series."""
        wanted = RANGES[name]
        rows = self._rows[series][name]
        last = int(now // wanted.step)
        for number in range(last - wanted.steps + 1, last + 1):
            yield float((number + 1) * wanted.step), rows.get(number)

    def _add(self, key: Key, row: Row) -> None:
        """Add the row to that step. If there are too many then, the one that was begun first is dropped: so steps that
        lie in the future, since the clock was set back, go in their turn."""
        name, series, number = key
        rows = self._rows[series][name]
        rows[number] = merge(rows[number], row) if number in rows else row
        if len(rows) > RANGES[name].steps:
            gone = next(iter(rows))
            del rows[gone]
            self._changed.discard((name, series, gone))
