"""What streams come to on a line and a core of their own, how soon, and how often they change."""

import pytest

from proxy.reduction.effort import LONG, STEPS, Effort
from proxy.reduction.load import Measured
from tests.unit.reduction.core import LAST, QUEUE, Core, at


def busy(core: Core, seconds: float, *streams: Effort) -> float:
    """How much of what the line could have carried it did carry."""
    before = core.sent
    core.run(seconds, *streams)
    return (core.sent - before) / (core.rate * seconds)


@pytest.mark.parametrize(
    ("rate", "lowest", "highest"),
    [(1e6, LAST, LAST), (5.6e6, 3, 4), (19e6, 1, 2), (60e6, 0, 1), (125e6, 0, 0), (1250e6, 0, 0)],
    ids=["8 Mb/s", "45 Mb/s", "155 Mb/s", "480 Mb/s", "1 Gb/s", "10 Gb/s"],
)
def test_the_step_fits_the_line(rate: float, lowest: int, highest: int) -> None:
    """It is found within seconds, keeps the line full, and is kept."""
    core = Core(rate)
    (stream,) = core.streams(1)
    core.run(10, stream)
    assert lowest <= at(stream) <= highest
    changes = stream.changes
    assert changes <= 3
    kept = busy(core, min(600, 1.5e9 / rate), stream)
    assert stream.changes <= changes + 2
    assert kept > 0.98 or at(stream) == 0


@pytest.mark.parametrize("rate", [1e6, 5.6e6, 19e6])
def test_over_a_long_line_it_begins_with_a_context(rate: float) -> None:
    core = Core(rate)
    (stream,) = core.streams(1, round_trip=LONG)
    core.run(0.5, stream)
    assert stream.step.context
    core.run(60, stream)
    assert stream.step.context
    assert stream.changes <= 3


def test_over_a_long_line_it_keeps_the_context_unless_much_more_fits() -> None:
    core = Core(5.6e6)
    (stream,) = core.streams(1, round_trip=LONG)
    core.run(20, stream)
    assert stream.changes == 1
    slow = Core(1e6)
    (stream,) = slow.streams(1, round_trip=LONG)
    slow.run(10, stream)
    assert at(stream) == LAST


def test_a_context_is_kept_where_another_level_brings_too_little() -> None:
    """Each change would cost what the context knows: half a percent of 200 MiB."""
    core = Core(5.6e6, power=2.0, ratios=(0.5, 0.457, 0.451, 0.449, 0.449, 0.448))
    (stream,) = core.streams(1, round_trip=LONG)
    core.run(600, stream)
    assert stream.step.context
    assert stream.changes == 1


def test_a_comparison_that_comes_too_late_changes_nothing() -> None:
    core = Core(1e6)
    (stream,) = core.streams(1)
    core.run(10, stream)
    assert stream.wanted is None
    changes = stream.changes
    stream.compared(0.5, core.now)
    assert stream.changes == changes


@pytest.mark.parametrize("rate", [60e6, 125e6, 1e9])
def test_over_a_long_line_that_is_fast_it_gives_way_within_seconds(rate: float) -> None:
    core, lowest = Core(rate), Core(rate)
    (stream,) = core.streams(1, round_trip=LONG)
    core.run(4, stream)
    lowest.run(4, Lowest(lowest.load, 0.0, lowest.sparing))
    core.plain = lowest.plain = 0.0
    core.run(10, stream)
    lowest.run(10, Lowest(lowest.load, 0.0, lowest.sparing))
    assert core.plain > 0.98 * lowest.plain
    assert stream.changes <= 3


@pytest.mark.parametrize("source", [3e6, 1e3])
def test_a_source_slower_than_a_long_line_is_left_alone(source: float) -> None:
    core = Core(5.6e6, source=source)
    (stream,) = core.streams(1, round_trip=LONG)
    core.run(120, stream)
    assert stream.changes == 0


def test_many_streams_share_the_time() -> None:
    core = Core(5.6e6)
    streams = core.streams(16)
    core.run(20, *streams)
    assert {at(stream) for stream in streams} <= {3, 4}
    assert max(stream.changes for stream in streams) <= 4
    assert core.load.share(core.now) < 0.5
    assert busy(core, 60, *streams) > 0.98


def test_a_line_that_becomes_faster_is_filled_within_seconds() -> None:
    core = Core(5.6e6)
    (stream,) = core.streams(1)
    core.run(60, stream)
    core.rate = 60e6
    core.run(4, stream)
    assert at(stream) <= 1
    assert busy(core, 30, stream) > 0.98


def test_a_line_that_becomes_slower_is_followed_within_seconds() -> None:
    core = Core(125e6)
    (stream,) = core.streams(1)
    core.run(10, stream)
    assert at(stream) == 0
    core.rate = 5.6e6
    core.run(6, stream)
    assert at(stream) >= 3


def test_a_line_that_changes_all_the_time_is_not_followed_all_the_time() -> None:
    core = Core(5.6e6)
    (stream,) = core.streams(1)
    for turn in range(60):
        core.rate = 5.6e6 if turn % 2 else 80e6
        core.run(10, stream)
    assert stream.changes < 24


def test_a_core_that_is_slower_than_thought_is_not_overloaded() -> None:
    core = Core(5.6e6, power=0.2)
    (stream,) = core.streams(1)
    core.run(30, stream)
    changes = stream.changes
    assert busy(core, 300, stream) > 0.98
    assert core.load.share(core.now) < 0.8
    assert stream.changes <= changes + 4


def test_a_machine_that_others_use_is_not_overloaded() -> None:
    core = Core(5.6e6, crowd=4)
    (stream,) = core.streams(1)
    core.run(60, stream)
    changes = stream.changes
    assert busy(core, 300, stream) > 0.95
    assert stream.changes <= changes + 6


def test_a_level_that_is_dearer_than_thought_is_left_for_longer_each_time() -> None:
    """Its cost shows only when it is used; then the line would run dry."""
    costs = (*(step.cost for step in STEPS[:3]), *(20 * step.cost for step in STEPS[3:]))
    core = Core(5.6e6, costs=costs)
    (stream,) = core.streams(1)
    core.run(60, stream)
    soon = stream.changes
    core.run(300, stream)
    assert stream.changes - soon <= 10
    assert soon <= 8
    assert busy(core, 60, stream) > 0.9


def test_what_brings_nothing_is_given_up() -> None:
    """All levels leave the same: the first is kept most of the time."""
    core = Core(5.6e6, ratios=(0.6,) * len(STEPS))
    (stream,) = core.streams(1)
    idle = 0.0
    for _ in range(600):
        core.run(1, stream)
        idle += at(stream) == 0
    assert idle > 400
    assert stream.changes <= 16


def incompressible(rate: float) -> Core:
    """The first step is done with it in no time; to look for what is not there takes the others long."""
    costs = (1 / 8e9, *(step.cost for step in STEPS[1:]))
    return Core(rate, ratios=(1.0,) * len(STEPS), costs=costs, backoffs={})


@pytest.mark.parametrize("rate", [60e6, 125e6, 240e6])
@pytest.mark.parametrize("round_trip", [0.0, LONG])
def test_on_a_fast_line_what_does_not_compress_is_not_tried_hard(rate: float, round_trip: float) -> None:
    """One batch in 33 is tried, so the highest step would seem cheap; but it holds up the loop for 10 ms."""
    core = incompressible(rate)
    (stream,) = core.streams(1, round_trip)
    core.run(30, stream)
    assert core.spent < 0.03 * 30
    assert stream.changes <= 3


def test_many_streams_that_do_not_compress_are_not_tried_hard_either() -> None:
    """Each of them brings little."""
    core = incompressible(240e6)
    streams = core.streams(32)
    core.run(30, *streams)
    assert core.spent < 0.03 * 30
    assert not any(stream.step.context for stream in streams)


def test_what_compresses_does_not_suffer_from_what_does_not() -> None:
    core = Core(5.6e6)
    (stream,) = core.streams(1)
    for _ in range(300):
        core.load.passed(30_000_000, core.now)
        core.run(0.1, stream)
    assert at(stream) >= 3


def test_what_does_not_compress_is_tried_less_hard_when_the_line_becomes_faster() -> None:
    core = incompressible(1e6)
    (stream,) = core.streams(1)
    core.run(30, stream)
    assert at(stream) == LAST
    core.rate = 125e6
    core.spent = 0.0
    core.run(30, stream)
    assert core.spent < 0.03 * 30


def test_a_source_slower_than_the_line_is_left_alone() -> None:
    core = Core(5.6e6, source=3e6)
    (stream,) = core.streams(1)
    core.run(120, stream)
    assert stream.changes == 0


def test_a_source_that_a_better_level_keeps_up_with_does_not_make_it_swing() -> None:
    """At the first step the line is too slow for the source, at a higher one it rests at times."""
    core = Core(5.6e6, source=10.5e6)
    (stream,) = core.streams(1)
    core.run(10, stream)
    assert at(stream) > 0
    changes = stream.changes
    core.run(300, stream)
    assert stream.changes == changes


def test_it_is_never_worse_than_the_first_step() -> None:
    for rate in (1e6, 5.6e6, 19e6, 40e6, 60e6, 90e6, 125e6, 200e6, 1e9):
        assert moved(rate, Effort) > 0.98 * moved(rate, Lowest), rate


def moved(rate: float, kind: type[Effort]) -> float:
    core = Core(rate)
    core.run(15, kind(core.load, 0.0, core.sparing))
    return core.plain


class Lowest(Effort):
    """Never raises."""

    def note(self, batch: Measured, *, pressed: bool, now: float) -> None:
        """Nothing follows from it."""


def test_a_pause_is_no_slow_line() -> None:
    """After an outage everything waits for a line that is as fast as before: that is no reason to try harder."""
    core = Core(1250e6)
    (stream,) = core.streams(1)
    for pause in (0.3, 1.0, 3.0, 30.0, 3600.0):
        core.run(3, stream)
        core.now += pause
        core.queued = QUEUE
        core.run(0.2, stream)
    assert stream.changes == 0


def test_batches_that_are_seconds_apart() -> None:
    core = Core(80e3)
    (stream,) = core.streams(1)
    core.run(60, stream)
    assert at(stream) == LAST
