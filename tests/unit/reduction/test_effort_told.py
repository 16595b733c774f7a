"""What a stream makes of batches that it is told of one by one, where a line of its own would hide it."""

from math import exp

import pytest

from proxy.reduction.effort import LONG, STEPS, Effort
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.sparing import Sparing
from tests.unit.reduction.core import LAST, at

KIB = 1 << 10
GAP = 0.1


def effort(round_trip: float = 0.0) -> Effort:
    return Effort(CompressionLoad(), round_trip, Sparing(lambda: False))


def tell(stream: Effort, now: float, *, length: int = 64 * KIB, left: float = 0.5, crowd: float = 1.0) -> None:
    """A batch that waits for the line; it takes what its step costs on a middling core."""
    cost = length * stream.step.cost
    stream.note(Measured(length, int(left * length), crowd * cost, cost), pressed=True, now=now)


def test_over_a_long_line_who_sends_little_needs_no_context() -> None:
    stream = effort(LONG)
    for batch in range(3):
        tell(stream, batch * GAP)
    assert not stream.step.context
    tell(stream, 3 * GAP)
    assert stream.step.context


def test_over_a_long_line_it_learns_the_rate_before_it_tries_harder() -> None:
    stream = effort(LONG)
    for batch in range(28):
        tell(stream, batch * GAP)
    assert stream.step.context
    assert stream.wanted is None
    for batch in range(28, 60):
        tell(stream, batch * GAP)
    assert stream.wanted == STEPS[LAST]


@pytest.mark.parametrize(("pause", "raised"), [(9.0, True), (11.0, False)])
def test_what_waited_before_a_long_pause_does_not_count(pause: float, raised: bool) -> None:
    stream = effort()
    for batch in range(10):
        tell(stream, batch * GAP)
    assert at(stream) == 0
    tell(stream, 9 * GAP + pause)
    assert bool(at(stream)) is raised


def test_a_raise_is_judged_by_many_batches() -> None:
    """The one by which that is decided leaves more than batches did before; together they leave less."""
    stream, batch = effort(), 0
    while not stream.changes:
        tell(stream, batch * GAP)
        batch += 1
    for pair in range(batch, batch + 400):
        tell(stream, pair * GAP, left=0.2)
        tell(stream, pair * GAP, left=0.6)
    assert at(stream) == LAST
    assert stream.changes == 1


def changed(stream: Effort, now: float, crowd: float = 1.0) -> float:
    """Batches wait for the line until the stream tries harder, or has tried in vain; when that is."""
    before, overdue = stream.changes, now + 1000
    while stream.changes == before:
        assert now < overdue
        tell(stream, now, length=256 * KIB, crowd=crowd)
        now += GAP / 2
    return now


def test_after_a_step_that_was_kept_for_a_minute_the_next_is_tried_as_soon_as_at_first() -> None:
    """Three were in vain before, so it would take eight times as long."""
    stream, now = effort(), 0.0
    for _ in range(6):
        now = changed(stream, now)
    now = changed(stream, now)
    for _ in range(1400):
        tell(stream, now, length=256 * KIB, left=0.3)
        now += GAP / 2
    assert at(stream) == LAST
    while at(stream):  # the line has become fast, and all takes long
        stream.note(Measured(4096 * KIB, 1024 * KIB, 4.0, 4.0), pressed=False, now=now)
        now += GAP / 2
    assert changed(stream, now) - now == pytest.approx(10, abs=2)


@pytest.mark.parametrize(("crowd", "step"), [(1.0, LAST), (3.0, LAST - 2), (30.0, LAST - 2)])
def test_a_machine_that_others_use_affords_less(crowd: float, step: int) -> None:
    """But that of a short call, which may take any number of times as long, is no measure."""
    stream = effort()
    changed(stream, 0.0, crowd)
    assert at(stream) == step


@pytest.mark.parametrize(("length", "own"), [(KIB, False), (2048 * KIB, True)])
def test_who_compresses_little_is_not_held_up_by_that(length: int, own: bool) -> None:
    """Another tunnel keeps the loop busy, by compressing most of all."""
    load, sparing = CompressionLoad(), Sparing(lambda: False)
    stream = Effort(load, 0.0, sparing)
    for tick in range(300):
        now = tick * 0.01
        load.turn(0.95 * now, now)
        load.note(Measured(64 * KIB, 32 * KIB, 0.006, 0.006), now)
        if not tick % 5:
            cost = length * stream.step.cost
            stream.note(Measured(length, length // 2, cost, cost), pressed=False, now=now)
    assert sparing.active is own


def test_a_pause_makes_little_of_the_load_be_forgotten() -> None:
    load = CompressionLoad()
    load.note(Measured(1000, 500, 0.002, 0.001), 1.0)
    before = load.rate(1.0)
    assert load.rate(3601.0) == pytest.approx(before * exp(-0.25 / 0.4))
