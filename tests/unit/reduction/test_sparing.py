"""When streams leave compression out: only where it is what holds the line up, and only as long."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.reduction.effort import LONG, STEPS, Effort
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.sparing import Sparing
from tests.unit.reduction.core import BATCH, OTHER_COST, TYPICAL, Core, Hub, at

FAST = 1250e6
MIB = 1 << 20
FIRST = STEPS[0].cost
COMPRESSED = 1 / (OTHER_COST + FIRST)
"""Bytes a second that the loop comes to if it compresses, and no line holds it up."""


class Compressing(Effort):
    """Never leaves it out."""

    def spare(self, length: int, now: float) -> bool:
        return False


def left_out(sparing: Sparing) -> bool:
    """Compression is; asked anew each time."""
    return sparing.active


def moved(core: Core, seconds: float, *streams: Effort) -> float:
    """Plain bytes a second."""
    before, since = core.plain, core.now
    core.run(seconds, *streams)
    return (core.plain - before) / (core.now - since)


def gained(rate: float, seconds: float) -> float:
    """What it makes of the rate of a stream that always compresses."""
    core, other = Core(rate), Core(rate)
    return moved(core, seconds, *core.streams(1)) / moved(other, seconds, Compressing(other.load, 0.0, other.sparing))


@pytest.mark.parametrize("count", [1, 32])
@pytest.mark.parametrize("round_trip", [0.0, LONG])
def test_a_line_that_is_faster_than_compression_is_not_held_up(count: int, round_trip: float) -> None:
    core = Core(FAST)
    streams = core.streams(count, round_trip)
    core.run(6, *streams)
    assert left_out(core.sparing)
    assert moved(core, 10, *streams) > 1.4 * COMPRESSED
    assert core.sparing.changes == 1


def test_what_it_does_not_hold_up_is_compressed() -> None:
    """The source is slower than the loop, and so is the line in the other case."""
    for core in (Core(FAST, source=0.7 * COMPRESSED), Core(60e6)):
        streams = core.streams(1)
        core.run(60, *streams)
        assert core.sparing.changes == 0


@pytest.mark.parametrize("rate", [60e6, 90e6, 100e6, 110e6, 125e6, 155e6, 200e6, FAST])
def test_it_is_never_worse_than_to_compress(rate: float) -> None:
    """A trial that goes badly takes a quarter of a second at two thirds of the rate."""
    assert gained(rate, 3) > 0.96
    assert gained(rate, 15) > 0.98


def test_a_line_that_has_no_room_for_so_much_more_is_tried_ever_less_often() -> None:
    core = Core(115e6)  # compressed, it would be a little faster than the loop
    streams = core.streams(1)
    core.run(80, *streams)
    assert core.sparing.changes == 2 * 4  # after 1, 11, 32 and 73 s
    core.run(70, *streams)
    assert core.sparing.changes == 2 * 4


def test_a_line_between_is_used_in_the_faster_way() -> None:
    core = Core(1.2 * COMPRESSED)
    streams = core.streams(1)
    core.run(10, *streams)
    assert moved(core, 60, *streams) > 1.15 * COMPRESSED
    assert core.sparing.changes == 1


def test_a_line_that_becomes_slow_is_noticed_within_seconds() -> None:
    core = Core(FAST)
    (stream,) = core.streams(1)
    core.run(10, stream)
    assert left_out(core.sparing)
    core.rate = 5.6e6
    core.run(6, stream)
    assert not left_out(core.sparing)
    assert at(stream) >= 3


def test_a_line_that_becomes_fast_is_too() -> None:
    core = Core(5.6e6)
    (stream,) = core.streams(1)
    core.run(60, stream)
    core.rate = FAST
    core.run(8, stream)
    assert left_out(core.sparing)


@dataclass
class Beside:
    """A stream of short messages, five in a second, which cost many times as much a byte."""

    core: Core
    stretch: float
    length: int = 100
    cost: float = 4e-6

    def run(self, seconds: float, bulk: Effort, messages: Effort) -> None:
        core = self.core
        end = core.now + seconds
        while core.now < end:
            core.run(0.2, bulk)
            messages.turn(core.worked, core.now)
            if not messages.spare(self.length, core.now):
                messages.note(
                    Measured(self.length, self.length // 2, self.stretch * self.cost, self.cost),
                    pressed=False,
                    now=core.now,
                )


@pytest.mark.parametrize("stretch", [1.0, 3.0])
@pytest.mark.parametrize("rate", [20e6, 60e6])
def test_messages_beside_bulk_do_not_keep_it_from_being_compressed(rate: float, stretch: float) -> None:
    """Each costs much, all of them nothing."""
    core = Core(FAST)
    beside, streams = Beside(core, stretch), core.streams(2)
    beside.run(10, *streams)
    assert left_out(core.sparing)
    core.rate = rate
    beside.run(6, *streams)
    assert not left_out(core.sparing)


def test_messages_beside_bulk_do_not_have_it_compressed() -> None:
    """Others use the machine, and messages are too short to be stretched by that."""
    core = Core(FAST, crowd=1.6)
    beside, streams = Beside(core, 1.0), core.streams(2)
    beside.run(10, *streams)
    assert left_out(core.sparing)


def test_a_source_that_becomes_slow_has_its_bytes_compressed() -> None:
    core = Core(FAST)
    (stream,) = core.streams(1)
    core.run(10, stream)
    core.source = 0.5 * COMPRESSED
    core.run(3, stream)
    assert not left_out(core.sparing)
    assert at(stream) == 0


@pytest.mark.parametrize("anew", [False, True])
def test_what_comes_after_a_pause_is_compressed_first(anew: bool) -> None:
    """From the stream that was spared, and from another one."""
    core = Core(FAST)
    (stream,) = core.streams(1)
    core.run(10, stream)
    core.now += 5.0
    (stream,) = core.streams(1) if anew else (stream,)
    core.run(0.5, stream)
    assert not left_out(core.sparing)
    core.run(3, stream)
    assert left_out(core.sparing)


def test_the_core_that_is_shared_with_others_is_told_from_one_that_has_time() -> None:
    core = Core(FAST, crowd=1.6)
    streams = core.streams(1)
    core.run(10, *streams)
    assert left_out(core.sparing)
    assert moved(core, 10, *streams) > 1.3 * COMPRESSED / core.crowd


@pytest.mark.parametrize(("ratio", "cost"), [(0.1, FIRST / 3), (1.0, FIRST / 18)], ids=["well", "not at all"])
def test_data_whose_compression_costs_little_is_compressed(ratio: float, cost: float) -> None:
    """From the beginning, and after data of which that is not true. Of what does not compress a part is tried."""
    ratios, costs = (ratio,) * len(STEPS), (cost,) * len(STEPS)
    core = Core(FAST, ratios=ratios, costs=costs, backoffs={})
    (stream,) = core.streams(1)
    core.run(5, stream)
    assert core.sparing.changes == 0
    core.ratios, core.costs = TYPICAL, tuple(step.cost for step in STEPS)
    core.run(15, stream)
    assert left_out(core.sparing)
    core.ratios, core.costs = ratios, costs
    core.run(10, stream)
    assert not (left_out(core.sparing) and stream.spares)


def test_what_does_not_compress_does_not_join() -> None:
    """Beside streams that are spared it goes on as ever: tried now and then."""
    core = Core(FAST, backoffs={})
    streams = core.streams(2)
    core.run(10, *streams)
    silent = Effort(core.load, 0.0, core.sparing)
    assert streams[0].spares
    assert not silent.spares
    silent.note(Measured(BATCH, BATCH, 1e-5, 1e-5), pressed=False, now=core.now)
    assert not silent.spares


def test_a_stream_beside_those_that_keep_a_context_comes_to_rest() -> None:
    """They compress for two fifths of the time, and a line that it fills without that leaves the loop a little."""
    core = Core(160e6)
    (stream,) = core.streams(1)
    while core.now < 20:
        core.run(0.006, stream)
        for load in (core.load, core.sparing.load):
            load.note(Measured(MIB // 8, MIB // 16, 0.004, 0.004), core.now)
        core.worked += 0.004
        core.rest(0.004)
    assert left_out(core.sparing)
    assert core.sparing.changes == 1, "each second or two it was begun or ended"


def test_a_stream_that_gives_way_joins_as_soon_as_it_has_compressed_so_fast() -> None:
    """It has forgotten what that cost before."""
    core = Core(5.6e6)
    (first,) = core.streams(1)
    core.run(40, first)
    core.rate = FAST
    (second,) = core.streams(1)
    core.run(20, first, second)
    assert (at(first), first.spares, second.spares) == (1, False, True)
    core.costs = tuple(1.8 * step.cost for step in STEPS)
    core.run(5, first, second)
    assert (at(first), first.spares, second.spares) == (0, True, True)


def test_where_there_is_a_cap_all_is_compressed() -> None:
    capped = True
    core = Core(FAST, sparing=Sparing(lambda: capped))
    streams = core.streams(1)
    core.run(10, *streams)
    assert core.sparing.changes == 0
    capped = False
    core.run(5, *streams)
    assert left_out(core.sparing)
    capped = True
    core.run(0.1, *streams)
    assert not left_out(core.sparing)


def test_two_tunnels_decide_for_themselves() -> None:
    """One loop: what is left out for the fast line leaves time for the other one, which is not to be flooded."""
    load = CompressionLoad()
    fast, slow = Sparing(lambda: False), Sparing(lambda: False)
    for sparing, more in ((fast, 1.6), (slow, 0.7)):
        now, rate = 0.0, 100e6
        while now < 4.0:
            now += 0.001
            if sparing.active:
                sparing.spared(int(more * rate * 0.001), needless=False, now=now)
            else:
                sparing.compressed(int(rate * 0.001), held_up=True, now=now)
    assert (fast.active, slow.active) == (True, False)
    assert slow.changes == 2
    assert not Effort(load, 0.0, slow).spares


@pytest.mark.parametrize("rate", [5.6e6, 20e6, 40e6, 60e6])
def test_a_line_that_becomes_slow_is_noticed_while_another_keeps_the_loop_busy(rate: float) -> None:
    """A hub: it has no time, but would need little of it for this tunnel."""
    hub = Hub(FAST, FAST)
    streams = [line.streams(1)[0] for line in hub.lines]
    hub.run(10, *streams)
    assert [left_out(line.sparing) for line in hub.lines] == [True, True]
    hub.lines[1].rate = rate
    hub.run(6, *streams)
    assert [left_out(line.sparing) for line in hub.lines] == [True, False]


def test_what_is_sent_now_and_then_is_compressed_while_another_keeps_the_loop_busy() -> None:
    """Each pause has its rate counted anew, so that it never seems slower than when it was compressed."""
    hub = Hub(FAST, FAST)
    busy, other = (line.streams(1)[0] for line in hub.lines)
    hub.run(5, busy, other)
    assert [left_out(line.sparing) for line in hub.lines] == [True, True]
    for _ in range(8):
        hub.run(0.3, busy, None)
        hub.run(1e-9, busy, other)
    assert [left_out(line.sparing) for line in hub.lines] == [True, False]


def test_who_sends_little_leaves_nothing_out_while_another_keeps_the_loop_busy() -> None:
    """It is not its own compression that takes the time: what it left out would go no faster."""
    hub = Hub(FAST, FAST)
    busy, other = (line.streams(1)[0] for line in hub.lines)
    for _ in range(100):
        hub.run(0.02, busy, None)
        hub.run(1e-9, busy, other)
    assert [line.sparing.changes for line in hub.lines] == [1, 0]


@pytest.mark.parametrize("rate", [60e6, 80e6])
def test_tunnels_of_one_loop_come_to_rest(rate: float) -> None:
    """What one compresses counts also where it is asked whether the other one could do so."""
    hub = Hub(FAST, rate)
    streams = [line.streams(1)[0] for line in hub.lines]
    hub.run(40, *streams)
    assert [left_out(line.sparing) for line in hub.lines] == [True, False]
    assert [line.sparing.changes for line in hub.lines] == [1, 2]


def test_a_trial_that_a_pause_spoils_is_repeated() -> None:
    sparing = Sparing(lambda: False)
    feed(sparing, 0.0, 1.5, spared=2 * MIB)
    assert left_out(sparing)
    sparing.spared(MIB, needless=False, now=3600.0)
    assert not left_out(sparing)
    feed(sparing, 3600.0, 3605.0)
    assert not left_out(sparing)
    feed(sparing, 3605.0, 3613.0, spared=2 * MIB)
    assert left_out(sparing)


def test_what_becomes_slower_than_it_was_with_compression_is_compressed_again() -> None:
    """Not for a pause, nor while it is still faster."""
    sparing = Sparing(lambda: False)
    feed(sparing, 0.0, 10.0, spared=2 * MIB)
    feed(sparing, 12.0, 20.0, spared=MIB * 11 // 10)
    assert left_out(sparing)
    assert sparing.changes == 1
    feed(sparing, 20.0, 21.8, spared=MIB * 9 // 10)
    assert not left_out(sparing)
    assert sparing.changes == 2


def test_trials_that_pauses_spoil_do_not_put_off_the_next_one_ever_longer() -> None:
    """A source that has data for two seconds a minute, and at last for long."""
    core = Core(FAST)
    (stream,) = core.streams(1)
    for _ in range(12):
        core.run(2, stream)
        core.now += 60.0
    core.run(15, stream)
    assert left_out(core.sparing)


def test_trials_that_do_not_pay_come_ever_less_often_but_come() -> None:
    sparing, now, rests = Sparing(lambda: False), 0.0, list[float]()
    now = until_trial(sparing, now)
    for _ in range(9):
        before, now = now, after_one_in_vain(sparing, now)
        rests.append(now - before)
    assert rests == pytest.approx([10, 20, 40, 80, 160, 320, 640, 640, 640], abs=1.5)


def test_a_trial_that_paid_makes_the_next_ones_as_frequent_as_at_first() -> None:
    sparing = Sparing(lambda: False)
    now = until_trial(sparing, 0.0)
    for _ in range(3):
        now = after_one_in_vain(sparing, now)
    feed(sparing, now, now + 3, spared=2 * MIB)
    assert left_out(sparing)
    now += 3
    feed(sparing, now, now + 1.8, spared=MIB // 2)
    assert not left_out(sparing), "the line has become slow"
    now = until_trial(sparing, now + 1.8)
    assert after_one_in_vain(sparing, now) - now == pytest.approx(10, abs=1.5)


def until_trial(sparing: Sparing, now: float) -> float:
    """Held up all the time; when compression is left out."""
    while not left_out(sparing):
        feed(sparing, now, now + 0.1)
        now += 0.1
    return now


def after_one_in_vain(sparing: Sparing, now: float) -> float:
    """A trial that began then does not pay; when the next one begins."""
    feed(sparing, now, now + 0.5, spared=MIB // 2)
    assert not left_out(sparing)
    return until_trial(sparing, now + 0.5)


def test_a_pause_is_no_time_in_which_anything_was_held_up() -> None:
    sparing = Sparing(lambda: False)
    feed(sparing, 0.0, 0.9)
    sparing.compressed(MIB, held_up=True, now=30.0)
    feed(sparing, 30.0, 30.9)
    assert not left_out(sparing)
    feed(sparing, 30.9, 32.0, spared=MIB // 2)  # the rate to be beaten is that of the last second
    assert not left_out(sparing)
    assert sparing.changes == 2


def feed(sparing: Sparing, begin: float, end: float, compressed: int = MIB, spared: int = MIB) -> None:
    """A batch each hundredth of a second, held up all the time."""
    now = begin
    while now < end:
        if sparing.active:
            sparing.spared(spared, needless=False, now=now)
        else:
            sparing.compressed(compressed, held_up=True, now=now)
        now += 0.01


@given(
    st.lists(st.tuples(st.floats(1e-6, 30.0), st.booleans(), st.booleans(), st.integers(1, 1 << 20)), max_size=300),
    st.floats(0.5, 2.0),
)
def test_whatever_happens_it_changes_no_oftener_than_each_second(
    batches: list[tuple[float, bool, bool, int]], better: float
) -> None:
    """But to give up a trial that goes badly, after a quarter of one."""
    sparing, now, changed = Sparing(lambda: False), 0.0, float("-inf")
    for passed, held_up, needless, length in batches:
        now += passed
        was = sparing.active
        if was:
            sparing.spared(int(length * better), needless=needless, now=now)
        else:
            sparing.compressed(length, held_up=held_up, now=now)
        if sparing.active != was:
            assert now - changed >= (0.25 if was else 0.0)
            changed = now
            assert not was or not sparing.active
    assert sparing.changes <= 2 * now + 1
