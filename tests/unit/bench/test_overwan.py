"""What `make bench-wan` computes from what it measures: rates over time, verdicts, tables. Nothing is sent here."""

from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from bench.case_results import Figure, case_table
from bench.cases import Bench
from bench.lines import Setting
from bench.load import Run, summary
from bench.overwan import alone, bursts, iperf, outage, shares, slow_store, urgency, warm
from bench.overwan.fill import AS_SHIPPED, CUBIC, judged, settled
from bench.overwan.fill import Run as Filling
from bench.overwan.urgency import added, overflow
from bench.replicator import Transfer
from bench.sites import SiteFailure, free_port
from bench.wan import WanFailure, Way
from tests.unit.bench.growing import growing

FIELD = Setting(loss=1)


def test_a_line_in_words_and_in_figures() -> None:
    assert FIELD.text == "45 Mb/s, 100 ms, 1 %"
    assert Setting("1Gbit", 20, 0.1).text == "1000 Mb/s, 20 ms, 0.1 %"
    assert Way.of(**FIELD.texts) == Way(45_000_000, 0.05, loss=0.01)
    assert FIELD.goodput == pytest.approx(45e6 * 1448 / 1500 * 0.99)
    assert FIELD.volume(20) == 102 << 20
    assert FIELD.volume(0) == 1 << 20


def interval(count: int, omitted: bool) -> dict[str, dict[str, float]]:
    return {"sum": {"bytes": count, "seconds": 1.0, "omitted": omitted}}


def test_iperf_counts_what_was_received_after_the_start() -> None:
    report = {"intervals": [interval(7, True), interval(1000, False), interval(3000, False)]}
    assert iperf.received(report) == 16_000
    with pytest.raises(WanFailure, match="no route"):
        iperf.received({"error": "no route"})


def test_a_stream_as_shipped_is_judged_by_its_steady_part() -> None:
    course = growing(1e6, 1e6, *[5e6] * 9)
    run = Filling(Transfer(47_000_000, 11.0, True), course, 0.5)
    figure = judged(FIELD, AS_SHIPPED, [run], {"bbr": 41e6, "cubic": 1e6})
    assert figure.values["steady"] == pytest.approx(40, rel=0.02)
    assert figure.values["all"] == pytest.approx(34.18, rel=0.001)
    assert (figure.values["bbr"], figure.values["cubic"]) == (41, 1)
    assert figure.goals[0].measured == pytest.approx(97.6, rel=0.02)
    assert figure.values["CPU %"] == 50
    busy = run._replace(used=1.0)
    assert judged(FIELD, AS_SHIPPED, [busy], {"bbr": 45e6}).met == "NO", "busy cores are no excuse"


def test_of_several_streams_the_median_counts_and_all_must_be_the_same() -> None:
    runs = [
        Filling(Transfer(50_000_000, seconds, True), growing(*[rate] * 20), 0.5)
        for seconds, rate in ((10.0, 5e6), (20.0, 2e6), (8.0, 6e6))
    ]
    figure = judged(FIELD, AS_SHIPPED, runs, {"bbr": 40e6})
    assert (figure.goals[0].measured, figure.values["all"], figure.identical) == (100, 40, True)
    spoilt = runs[1]._replace(transfer=Transfer(50_000_000, 20.0, False))
    assert not judged(FIELD, AS_SHIPPED, [runs[0], spoilt, runs[2]], {"bbr": 40e6}).identical


@pytest.mark.parametrize(("seconds", "settle"), [(20.0, 4), (12.0, 3), (4.0, 1), (2.0, 1), (1.0, 1)])
def test_slow_start_counts_for_neither_the_pair_nor_iperf(seconds: float, settle: int) -> None:
    """However short the run: iperf3 would count its own in full where it is told to leave out half a second."""
    assert settled(seconds) == settle
    run = Filling(Transfer(1, 1.0, True), growing(*[1e6] * 10, *[5e6] * 40, every=0.1), 0.5, settled(1.0))
    assert judged(FIELD, AS_SHIPPED, [run], {}).values["steady"] == pytest.approx(40)


def test_lanes_are_judged_by_the_second_half() -> None:
    run = Filling(Transfer(30_000_000, 10.0, True), growing(*[1e6] * 5, *[5e6] * 5), 0.5)
    [goal] = judged(FIELD, CUBIC, [run], {"bbr": 40e6}).goals
    assert (goal.measured, goal.bound, goal.met) == (100, 85, True)
    unknown = judged(FIELD, CUBIC, [run], {"cubic": 1e6})
    assert (unknown.goals, unknown.met, unknown.values["bbr"]) == ((), "", None)


def test_one_that_goes_on_alone_is_judged_beside_iperf() -> None:
    figure = alone.judged(90e6, 100e6, 900e6, True)
    assert (figure.values["together"], figure.values["one"], figure.met) == (720, 800, "NO")
    assert figure.goals[0].measured == pytest.approx(88.9, rel=0.001)
    assert alone.judged(90e6, 105e6, 900e6, True).met == "yes"
    assert alone.judged(90e6, 105e6, None, True).goals == ()


def test_bursts_but_the_first_are_judged_beside_plain_tcp() -> None:
    """By the time that all of them take."""
    figure = bursts.judged([1e6, 20e6, 30e6], [1e6, 40e6, 20e6], True)
    assert figure.values == pytest.approx(
        {"mean": 24, "slowest": 20, "bbr": 80 / 3, "bbr slowest": 20, "limit": bursts.SETTING.goodput / 1e6}
    )
    assert figure.goals[0].measured == pytest.approx(90)
    assert figure.met == "NO"
    assert bursts.judged([1e6, 30e6], [1e6, 20e6], True).met == "yes"
    assert bursts.judged([1e6, 30e6], [], True).goals == ()


def test_bursts_that_do_not_arrive_are_a_failure() -> None:
    """There was nothing to compute a mean of."""
    sink: Any = SimpleNamespace(received=0)
    wan: Any = SimpleNamespace(inside=lambda end: nullcontext())
    with pytest.raises(SiteFailure, match="of 5 bursts 0 arrived: the connection failed after 0 bytes"):
        bursts.Source(sink, 1 << 20, 1.0).send(wan, ("127.0.0.1", free_port()))


def test_an_outage_is_judged_by_the_first_full_second() -> None:
    course = growing(*[5e6] * 10, *[0] * 30, 1e6, 2e6, *[5e6] * 5)
    arrived = Transfer(1, 1.0, True)
    figure = outage.judged(1, arrived, course, (110.0, 140.0))
    assert (figure.values["before, Mb/s"], figure.values["full again, s"], figure.met) == (40, 2, "yes")
    never = outage.judged(1, arrived, growing(*[5e6] * 10, *[0] * 40), (110.0, 140.0))
    assert (never.values["full again, s"], never.met) == (None, "NO")


def test_an_outage_of_a_line_that_carried_nothing_says_nothing() -> None:
    course = growing(*[5e6] * 5, *[0] * 35, 1e3, 1e3, 1e3)
    idle = outage.judged(1, Transfer(1, 1.0, True), course, (110.0, 140.0))
    assert (idle.values["before, Mb/s"], idle.values["full again, s"], idle.met) == (0, None, "NO")


def test_a_cap_is_judged_by_every_window() -> None:
    even = shares.judged("maximum", growing(*[2.5e6] * 20), 10, True)
    assert (even.met, even.values["least"], even.values["most"]) == ("yes", 20, 20)
    bursting = shares.judged("maximum", growing(*[2.5e6] * 10, 2.8e6, *[2.5e6] * 10), 10, True)
    assert [goal.met for goal in bursting.goals] == [True, False]
    assert shares.judged("maximum", growing(1), 10, True).met == "NO"


def test_warm_allows_one_round_trip_in_the_median() -> None:
    size = 1 << 30

    def rounds(*seconds: tuple[float, float]) -> warm.Rounds:
        return [(Run(size, bare, True), Run(size, over, True)) for bare, over in seconds]

    as_fast = rounds((2.0, 2.0))
    good = warm.judged(FIELD, rounds((2.0, 9.0), (2.0, 2.09), (3.0, 3.05)), as_fast, True)
    assert (good.met, good.values["took"], good.values["no line"]) == ("yes", 3.05, 2.0)
    assert warm.judged(FIELD, rounds((2.0, 2.0), (2.0, 2.2), (1.0, 1.2)), as_fast, True).met == "NO"
    assert warm.judged(FIELD, as_fast, as_fast, False).met == "BYTES DIFFER"
    differing = [(Run(size, 2.0, False), Run(size, 2.0, True))]
    assert warm.judged(FIELD, differing, as_fast, True).met == "BYTES DIFFER"
    assert warm.judged(FIELD, as_fast, differing, True).met == "BYTES DIFFER"


def test_what_the_emulator_costs_is_told_apart_from_the_delay() -> None:
    def rounds(bare: float, over: float) -> warm.Rounds:
        return [(Run(1 << 30, bare, True), Run(1 << 30, over, True))]

    found = warm.judged(FIELD, rounds(2.0, 2.25), rounds(2.0, 2.2), True)
    assert [goal.met for goal in found.goals] == [True, False, True]
    assert found.goals[2].measured == pytest.approx(0.05)
    assert warm.judged(FIELD, rounds(2.0, 2.25), rounds(2.0, 2.1), True).goals[2].met is False


def test_eighty_columns_have_all_of_what_a_warm_pass_took() -> None:
    rounds = [(Run(1 << 30, 12.0, True), Run(1 << 30, 12.25, True))]
    found = warm.judged(Setting("1Gbit"), rounds, rounds, True, emulator=0.25)
    assert cut_short([found]) == 0


def cut_short(figures: list[Figure]) -> int:
    """Cells that end in an ellipsis."""
    console = Console(width=80, file=StringIO(), record=True)
    console.print(case_table("title", figures))
    return console.export_text().count("…")


def test_questions_are_summed_up() -> None:
    found = summary([0.1] * 99 + [0.3])
    assert found["median"] == 0.1
    assert 0.1 < found["percentile_99"] <= 0.3
    found = {"median": 0.125, "percentile_99": 0.25, "overflow": 0.01}
    assert added(found, FIELD) == {"median": 25, "99 %": 150, "overflow, %": 1}


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_bulk_lasts_longer_than_the_questions_beside_it(tmp_path: Path, scale: float) -> None:
    bench = Bench(tmp_path, lambda text: None, scale)
    assert urgency.lasting(bench) > urgency.SETTLE + 1.5 * urgency.questions(bench) * urgency.EVERY


def test_what_found_the_queue_full_is_a_share() -> None:
    before = {"packets": 100, "queue": 10}
    assert overflow(before, {"packets": 300, "queue": 15}) == 0.025
    assert overflow(before, before) == 0


def took(seconds: float, *, verified: bool = True) -> Transfer:
    """Of ten megabytes."""
    return Transfer(10**7, seconds, verified)


def test_what_a_slow_store_holds_must_come_nearly_as_soon_as_what_is_new() -> None:
    """By the second stream of new data, and by the median of the passes but for the first."""
    passes = [took(9.0), took(2.0), took(1.0), took(4.0)]
    figure = slow_store.judged(Setting(), [took(0.1), took(8.0), took(2.5)], passes, 0.25)
    assert figure.values == pytest.approx(
        {"first": 80 / 9, "known": 40.0, "new": 32.0, "literal, %": 25.0, "limit": Setting().goodput / 1e6}
    )
    assert figure.goals[0].measured == pytest.approx(125.0)
    assert figure.met == "yes"
    slower = slow_store.judged(Setting(), [took(1.0)], [took(1.0), took(1.2)], 0.0)
    assert slower.met == "NO"


@pytest.mark.parametrize("which", ["new", "known"])
def test_a_slow_store_that_changes_bytes_is_told(which: str) -> None:
    news, passes = [took(1.0, verified=which != "new")], [took(1.0), took(1.0, verified=which != "known")]
    assert slow_store.judged(Setting(), news, passes, 0.0).met == "BYTES DIFFER"


def test_a_slow_store_to_which_nothing_could_be_sent_is_told() -> None:
    nothing = Transfer(0, 0.1, False, "the connection failed after 0 bytes")
    assert slow_store.judged(Setting(), [nothing], [nothing, nothing], 0.0).met == "BYTES DIFFER"
