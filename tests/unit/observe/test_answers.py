"""Streams by filter and order, the store's report, trends; and the list of metrics that is documented."""

import pytest

from proxy.observe.metrics_document import PATH, document
from proxy.observe.snapshot import VerdictStatus
from proxy.observe.store_report import store_answer
from proxy.observe.streams import select
from proxy.observe.trend import Trend
from tests.unit.observe.snapshots import changed, store, stream, traffic

STREAMS = [
    stream(id=1, sent_bits_per_second=5.0, age_seconds=9.0, initiator="iqn.a:Host"),
    stream(id=2, delivered_bits_per_second=50.0, forward=None, export="array", direction="inward", target="iqn.b"),
    stream(id=3, peer="north", verdict=VerdictStatus("cpu", 1.0, "busy"), bytes=traffic(raw=90, after_compression=9)),
]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, [2, 1, 3]),
        ({"peer": "north"}, [3]),
        ({"forward": "replication"}, [1, 3]),
        ({"export": "array"}, [2]),
        ({"direction": "inward"}, [2]),
        ({"limited_by": "cpu"}, [3]),
        ({"search": "HOST"}, [1]),
        ({"search": "10.0.0.1", "peer": "west"}, [2, 1]),
        ({"order": "age"}, [1, 2, 3]),
        ({"order": "gain"}, [3, 1, 2]),
        ({"order": "raw"}, [3, 1, 2]),
        ({"limit": 1}, [2]),
        ({"search": "<script>"}, []),
    ],
)
def test_filters(filters: dict[str, object], found: list[int]) -> None:
    answer = select(STREAMS, **filters)  # type: ignore[arg-type]
    assert [each.id for each in answer.streams] == found
    assert answer.total == 3
    assert answer.matching >= len(found)


def test_a_store_that_replaced_nothing() -> None:
    answer = store_answer(changed(), 0)
    assert (answer.fill, answer.hit_rate, answer.larger) == (0.5, None, [])
    assert "would bring nothing" in answer.advice


def test_what_a_larger_store_brings() -> None:
    used = store(
        hits=600,
        misses=400,
        evicted_bytes=1,
        hits_by_age=[3, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        missed_by_size=[(2, 100.0), (4, 300.0), (8, 300.0)],
    )
    answer = store_answer(changed(store=used), 7)
    assert [each.more_hits for each in answer.larger] == [0.1, 0.3, 0.3]
    assert answer.larger[0].size_bytes == 2 << 30
    assert [each.share for each in answer.hits_by_age][:3] == [0.45, 0.15, 0]
    assert (answer.hit_rate, answer.replaced_last_hour_bytes) == (0.6, 7)
    assert answer.advice == "with 2 GiB about 10% more of the look-ups would find their chunk"


def test_what_is_replaced_for_good() -> None:
    answer = store_answer(changed(store=store(hits=999, misses=1, evicted_bytes=1)), 0)
    assert "would bring little" in answer.advice


def test_trends() -> None:
    trend = Trend(600)
    for second in range(100):
        trend.note({"a": 2.0 * second, "b": float(second % 70)} | ({"d": 7.0} if second > 95 else {}), float(second))
    assert (trend.rise("a", 10), trend.rate("a", 10)) == (20, 2)
    assert trend.rise("a", 1000) == 198
    assert trend.rise("b", 60) == 30 + 29, "it fell from 69 to 0 meanwhile, and went on"
    assert trend.rise("d", 10) == 7  # it was not there before
    assert (trend.rise("c", 10), trend.rate("c", 10), Trend(5).last("a")) == (0, 0, 0)


def test_of_a_sum_one_part_goes_and_comes_back() -> None:
    """As the export's traffic when it is no longer for one of its peers: that says nothing of what was moved."""
    trend, parts = Trend(600), [*[900.0] * 20, *[0.0] * 20, *[5.0] * 20]
    for second, part in enumerate(parts):
        trend.note({"sum": part + second}, float(second))
    assert trend.rise("sum", 59) == 59 + 5 - 1, "and the second in which it fell is lost"
    trend.note({}, 60.0)
    trend.note({"sum": 3.0}, 61.0)
    assert trend.last("sum") == 3, "it was not there"


def test_the_list_of_metrics_is_up_to_date() -> None:
    assert PATH.read_text() == document(), "run python -m proxy.observe.metrics_document"
