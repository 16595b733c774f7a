"""History from seconds: rates, ranges, summaries, the waterfall, cold and warm, gains; bounded whatever happens."""

from itertools import pairwise
from typing import Any

import pytest

from proxy.observe.history import History
from proxy.observe.ranges import RANGES
from proxy.observe.readings import counters
from proxy.observe.snapshot import Snapshot
from proxy.observe.steps import COLUMNS, SERIES_MAX, Book, at, merge, second
from tests.memory import tracing
from tests.unit.observe.snapshots import NOW, changed, of_peer, peer, share, traffic, with_peer

MB = 1_000_000


def after(raw: int, **changes: int) -> Snapshot:
    """A site whose forward has read so many bytes in all; other counts as given."""
    counts = {"raw": raw, "after_deduplication": raw, "after_compression": raw // 2} | changes
    of_share = {name: count for name, count in counts.items() if not name.startswith("wire")}
    wire = counts.get("wire", 0)
    return with_peer(bytes=of_peer(**counts), shares=[share(bytes=traffic(**of_share), wire_bytes=wire)])


def note(history: History, snapshot: Snapshot, now: float, clock: float) -> None:
    history.note(snapshot, counters(snapshot), now, clock)


def run(snapshots: list[Snapshot]) -> tuple[History, float]:
    """One a second; when the last one was."""
    history, now = History(0.0), NOW
    for number, snapshot in enumerate(snapshots, 1):
        now = NOW + number
        note(history, snapshot, now, float(number))
    return history, now


def answered(history: History, name: str, now: float, of: str = "site") -> Any:
    return history.answer(name, of, now)


def test_rates_are_those_of_each_second() -> None:
    history, now = run([after(raw * MB, wire=raw * MB // 2) for raw in (0, 1, 3, 3)])
    answer = answered(history, "5m", now)
    assert answer.chart.lan_sent[-4:] == [0, 8 * MB, 16 * MB, 0]
    assert answer.chart.wan_sent[-3:] == [4 * MB, 8 * MB, 0]
    assert answer.chart.lan_sent[:296] == [None] * 296
    assert (len(answer.time), answer.ends - answer.begins, answer.ends) == (300, 300, now + 1)
    assert answer.summary.lan_sent.peak == 16 * MB
    assert answer.summary.lan_sent.average == 6 * MB
    assert history.rates.lan_sent == 0


@pytest.mark.parametrize("name", RANGES)
def test_every_range_has_all_bytes(name: str) -> None:
    history, now = run([after(raw * MB, wire=raw * MB // 4, delivered=raw * MB // 5) for raw in range(200)])
    answer = answered(history, name, now)
    rates = [rate for rate in answer.chart.lan_sent if rate]
    assert answer.waterfall.raw == 199 * MB
    assert answer.waterfall.wire == 199 * MB // 4
    assert rates
    assert all(7 * MB < rate <= 8 * MB for rate in rates)
    assert answer.summary.lan_sent.peak == 8 * MB
    assert answer.summary.lan_sent.average == pytest.approx(8 * MB * 199 / 200)
    assert answer.summary.lan_received.peak == pytest.approx(8 * MB / 5)
    assert answer.step_seconds == RANGES[name].step


def test_the_95th_percentile() -> None:
    """Of 100 seconds six are busy: the percentile is one of these; with five, 95 are no busier than the others."""
    for busy, expected in ((6, 80 * MB), (5, 8 * MB)):
        totals, total = [], 0
        for number in range(100):
            total += 10 * MB if number >= 100 - busy else MB
            totals.append(after(total))
        history, now = run(totals)
        assert answered(history, "5m", now).summary.lan_sent.p95 == expected


def test_the_waterfall_and_gain_add_up() -> None:
    counts = {"after_deduplication": 60 * MB, "after_compression": 20 * MB, "wire": 21 * MB, "wire_retransmitted": MB}
    history, now = run([after(0), after(100 * MB, **counts)])
    answer = answered(history, "1h", now)
    fall = answer.waterfall
    assert (fall.raw, fall.after_deduplication, fall.after_compression) == (100 * MB, 60 * MB, 20 * MB)
    assert (fall.framing, fall.wire, fall.retransmitted) == (MB, 21 * MB, MB)
    (gain,) = answer.gains
    assert (gain.share, gain.by_deduplication, gain.by_compression) == ("forward replication", 0.4, 0.4)
    assert gain.gain == pytest.approx(100 / 21, abs=0.001)


def test_cold_and_warm_are_apart() -> None:
    cold = after(10 * MB, after_deduplication=10 * MB, wire=9 * MB)
    warm = after(60 * MB, after_deduplication=11 * MB, wire=10 * MB)
    history, now = run([after(0), cold, warm, warm])
    answer = answered(history, "5m", now)
    assert (answer.cold.seconds, answer.cold.raw, answer.cold.wire) == (1, 10 * MB, 9 * MB)
    assert (answer.warm.seconds, answer.warm.raw, answer.warm.wire) == (1, 50 * MB, MB)
    assert (answer.warm.gain, answer.warm.lan_bits_per_second) == (50, 400 * MB)


def test_what_goes_literally_for_a_slow_store_is_warm_all_the_same() -> None:
    relieved = after(10 * MB, after_deduplication=9 * MB, relieved=8 * MB, wire=9 * MB)
    history, now = run([after(0), relieved])
    answer = answered(history, "5m", now)
    assert (answer.cold.seconds, answer.warm.raw, answer.warm.wire) == (0, 10 * MB, 9 * MB)


def test_series_of_peers_and_forwards() -> None:
    history, now = run([after(0), after(MB, wire=MB)])
    assert answered(history, "5m", now).choices == ["site", "peer west", "forward replication"]
    for of in ("peer west", "forward replication"):
        assert answered(history, "5m", now, of).chart.lan_sent[-1] == 8 * MB
    with pytest.raises(KeyError):
        answered(history, "5m", now, "peer nobody")


def test_a_site_without_traffic() -> None:
    history, now = run([after(0)] * 3)
    answer = answered(history, "30d", now)
    assert (answer.warm.gain, answer.gains[0].gain, answer.summary.lan_sent.p95) == (None, None, 0)


def test_a_stall_of_a_minute_is_an_average() -> None:
    history = History(0.0)
    note(history, after(0), NOW, 1.0)
    note(history, after(61 * MB), NOW + 61, 62.0)
    assert answered(history, "5m", NOW + 61).chart.lan_sent[-1] == 8 * MB


def test_counters_that_begin_anew_are_no_negative_rate() -> None:
    history, now = run([after(5 * MB), after(0), after(MB)])
    assert answered(history, "5m", now).chart.lan_sent[-2:] == [0, 8 * MB]


def test_a_clock_that_is_set_back_loses_nothing_but_order() -> None:
    history = History(0.0)
    for second_, now in enumerate([0, 1, 2, -5000, -4999, -4998]):
        note(history, after(second_ * MB), NOW + now, float(second_ + 1))
    assert answered(history, "5m", NOW - 4998).chart.lan_sent[-3:] == [8 * MB] * 3


def test_memory_is_bounded() -> None:
    book, row = Book(), second({"raw": 1.0}, 1.0)
    for number in range(1000):
        book.add("site", row, NOW + number)
    for number in range(100):
        book.add(f"forward {number}", row, NOW)
    assert len(book.series) == SERIES_MAX
    book.take_changed()
    assert book.take_changed() == {}
    rows = [kept for _, kept in book.steps("site", "5m", NOW + 999) if kept is not None]
    assert len(rows) == 300


def test_a_peer_that_has_gone_makes_room_for_one_that_has_come() -> None:
    """By reloads, of which there may be many in a run: each new peer had no charts once 30 had been there."""
    history = History(0.0)
    for number in range(2 * SERIES_MAX):
        there = [peer(name=f"peer{each}", shares=[]) for each in range(number, number + 4)]
        note(history, changed(peers=there), NOW + number, 1.0 + number)
        assert {"site", *(f"peer {each.name}" for each in there)} <= {*history.book.series}
    assert len(history.book.series) == SERIES_MAX
    assert {series for _, series, _ in history.book.take_changed()} == {*history.book.series}


def test_what_nobody_writes_down_is_bounded_too() -> None:
    """Where history is in memory only, or its disk hangs, nobody asks what has changed: that was kept for each second.

    It came to some 26 MB a day of the smallest site, and to ten times that of one with all series that there may be.
    """
    book, row = Book(), second({"raw": 1.0}, 1.0)

    def pass_(seconds: range) -> None:
        for number in seconds:
            book.add("site", row, NOW + number)

    with tracing() as taken:
        pass_(range(4000))
        taken.look()
        before = taken.kept
        pass_(range(4000, 8000))
    assert taken.kept - before < 100 << 10, "steps of a minute and longer ones, of which there are not enough yet"
    kept = {(name, number) for name, _, number in book.take_changed()}
    assert len([number for name, number in kept if name == "5m"]) == RANGES["5m"].steps, "the disk may take them yet"


def test_merged_steps_add_up_and_keep_their_peak() -> None:
    both = merge(second({"raw": 10.0, "after_deduplication": 9.0}, 1.0), second({"raw": 30.0}, 1.0))
    assert len(both) == len(COLUMNS)
    assert (at(both, "raw"), at(both, "peak_raw"), at(both, "seconds")) == (40, 30, 2)
    assert (at(both, "cold_raw"), at(both, "warm_raw")) == (10, 30)


def test_ranges_nest() -> None:
    steps = [each.step for each in RANGES.values()]
    assert all(coarse % fine == 0 for fine, coarse in pairwise(steps))
    assert all(each.steps <= 360 for each in RANGES.values())
