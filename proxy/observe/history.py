"""History as the API answers it: charts, summaries, the waterfall, cold and warm, gains; from the steps of a book."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from proxy.observe.answers import Chart, Gain, HistoryAnswer, LiveRates, Pass, RateSummary, Summaries, Waterfall
from proxy.observe.ranges import RANGES
from proxy.observe.snapshot import PeerStatus, Snapshot
from proxy.observe.steps import Book, Row, at, second

SITE = "site"
_CHART = {
    "lan_sent": "raw",
    "lan_received": "delivered",
    "wan_sent": "wire",
    "wan_retransmitted": "wire_retransmitted",
    "wan_received": "wire_received",
}
"""Names of the charts' columns, and of the steps' columns behind them."""
_LONGEST = 3600.0
"""Seconds that one row stands for at most: if the process was stopped for longer, the rest is unknown."""


class History:
    """Fed once a second; loop thread. `now` is the time of day, `clock` a monotonic one, both in seconds."""

    def __init__(self, clock: float) -> None:
        self.book = Book()
        self.problem = ""
        """Why it is kept in memory only, if it is; empty as long as it is written down."""
        self.rates = LiveRates(0, 0, 0, 0, 0)
        """Of the last second."""
        self._before: Mapping[str, float] = {}
        self.clock = clock
        """When it was fed last."""

    @property
    def kept(self) -> str:
        """memory or disk."""
        return "memory" if self.problem else "disk"

    def begin(self, snapshot: Snapshot) -> None:
        """Begin the series of the site, its peers, forwards and exports, as many as `Book` keeps."""
        self.book.keep(_series(snapshot))

    def note(self, snapshot: Snapshot, totals: Mapping[str, float], now: float, clock: float) -> None:
        """One more second. `totals`: the snapshot's `counters`."""
        seconds = clock - self.clock
        if seconds <= 0:
            return
        self.clock = clock
        before, self._before = self._before, totals
        moved = {name: max(0.0, count - before.get(name, 0.0)) for name, count in totals.items()}
        kept = self.book.keep(_series(snapshot))
        for series, sums in _by_series(kept, moved, snapshot).items():
            row = second(sums, min(seconds, _LONGEST))
            self.book.add(series, row, now)
            if series == SITE:
                self.rates = LiveRates(**{name: _bits(row, column) for name, column in _CHART.items()})

    def answer(self, name: str, of: str, now: float) -> HistoryAnswer:
        """The range `name` of the series `of`. Raises KeyError if there is no such series or range."""
        wanted = RANGES[name]
        steps = list(self.book.steps(of, name, now))
        rows = [row for _, row in steps if row is not None]
        return HistoryAnswer(
            range=name,
            of=of,
            choices=self.book.series,
            step_seconds=wanted.step,
            begins=steps[0][0] - wanted.step,
            ends=steps[-1][0],
            kept=self.kept,
            time=[time for time, _ in steps],
            chart=Chart(**{key: _column([row for _, row in steps], column) for key, column in _CHART.items()}),
            summary=Summaries(**{key: _summary(rows, column) for key, column in _CHART.items()}),
            waterfall=_waterfall(rows),
            cold=_pass(rows, "cold"),
            warm=_pass(rows, "warm"),
            gains=[
                self._gain(series, name, now) for series in self.book.series if not series.startswith(("site", "peer "))
            ],
        )

    def _gain(self, series: str, name: str, now: float) -> Gain:
        rows = [row for _, row in self.book.steps(series, name, now) if row is not None]
        raw, deduplicated, compressed, wire = (
            _total(rows, column) for column in ("raw", "after_deduplication", "after_compression", "wire")
        )
        return Gain(
            share=series,
            raw=round(raw),
            after_deduplication=round(deduplicated),
            after_compression=round(compressed),
            wire=round(wire),
            gain=_ratio(raw, wire),
            by_deduplication=_saved(raw, deduplicated, raw),
            by_compression=_saved(deduplicated, compressed, raw),
        )


def _series(snapshot: Snapshot) -> Mapping[str, object]:
    """By name, the series that the site could have; of hundreds of shares `Book` keeps few."""
    shares = (share.name for peer in snapshot.peers for share in peer.shares)
    return dict.fromkeys([SITE, *map(_of_peer, snapshot.peers), *shares])


def _of_peer(peer: PeerStatus) -> str:
    return f"peer {peer.name}"


def _by_series(
    wanted: Iterable[str], moved: Mapping[str, float], snapshot: Snapshot
) -> dict[str, defaultdict[str, float]]:
    """What was moved, by series and counter; the site's is the sum of all its peers', wanted or not."""
    peers = set(map(_of_peer, snapshot.peers))
    found = {series: defaultdict[str, float](float) for series in wanted}
    for name, count in moved.items():
        series, _, what = name.rpartition(" ")
        if series in found:
            found[series][what] += count
        if series in peers:
            found[SITE][what] += count
    return found


def _bits(row: Row, column: str) -> float:
    return round(8 * at(row, column) / at(row, "seconds"))


def _column(rows: Sequence[Row | None], column: str) -> list[float | None]:
    return [None if row is None else _bits(row, column) for row in rows]


def _total(rows: Sequence[Row], column: str) -> float:
    return sum(at(row, column) for row in rows)


def _summary(rows: Sequence[Row], column: str) -> RateSummary:
    if not rows:
        return RateSummary(0, 0, 0)
    averages = sorted(_bits(row, column) for row in rows)
    return RateSummary(
        peak=round(8 * max(at(row, f"peak_{column}") for row in rows)),
        p95=averages[-(-95 * len(averages) // 100) - 1],
        average=round(8 * _total(rows, column) / _total(rows, "seconds")),
    )


def _waterfall(rows: Sequence[Row]) -> Waterfall:
    raw, deduplicated, compressed, wire, again = (
        round(_total(rows, column))
        for column in ("raw", "after_deduplication", "after_compression", "wire", "wire_retransmitted")
    )
    return Waterfall(raw, deduplicated, compressed, max(0, wire - compressed), wire, again)


def _pass(rows: Sequence[Row], kind: str) -> Pass:
    seconds, raw, wire = (_total(rows, f"{kind}_{what}") for what in ("seconds", "raw", "wire"))
    return Pass(
        seconds=round(seconds),
        raw=round(raw),
        wire=round(wire),
        lan_bits_per_second=round(8 * raw / seconds) if seconds else 0.0,
        gain=_ratio(raw, wire),
    )


def _ratio(raw: float, wire: float) -> float | None:
    return round(raw / wire, 3) if wire and raw else None


def _saved(before: float, after: float, whole: float) -> float:
    return round(max(0.0, before - after) / whole, 5) if whole else 0.0
