"""What the model does with packets: against its settings, and against laws that hold for any traffic."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.wan import Way
from bench.wan.model import Fate, Model

MTU = 1500
PACKETS = 20_000

ways = st.builds(
    Way,
    rate=st.integers(8_000, 10**10),
    delay=st.floats(0, 10),
    jitter=st.sampled_from([0.0, 0.001, 0.3]),
    loss=st.sampled_from([0.0, 0.01, 0.5]),
    burst=st.sampled_from([1.0, 1.5, 8.0]),
    reorder=st.sampled_from([0.0, 0.1]),
    duplicate=st.sampled_from([0.0, 0.1]),
    queue=st.sampled_from([0, 1500, 100_000]),
    path_mtu=st.sampled_from([0, 1280]),
)
traffic = st.lists(st.tuples(st.floats(0, 0.01), st.integers(20, MTU)), max_size=200)
"""Pauses before the packets, and their sizes."""


def model(seed: int = 1, **texts: str) -> Model:
    return Model(Way.of(**texts), MTU, Random(seed))


@given(ways, traffic, st.integers(0, 9))
def test_laws(way: Way, packets: list[tuple[float, int]], seed: int) -> None:
    line, now, left = Model(way, MTU, Random(seed)), 0.0, 0.0
    last = {False: 0.0, True: 0.0}
    delivered = 0
    for pause, size in packets:
        now += pause
        fate = line.take(now, size)
        assert line.waiting(now) <= way.queue_bytes(MTU) + 1
        if fate is None:
            continue
        delivered += 1
        least = now + size * 8 / way.rate
        assert fate.due >= least + (0 if fate.ahead else way.delay) - 1e-6, "nothing is faster than rate and delay"
        assert fate.due >= last[fate.ahead], "those that overtake, and those that do not, stay in order"
        last[fate.ahead] = fate.due
        left += size * 8 / way.rate
        if not fate.ahead:
            assert fate.due >= left + way.delay - 1e-6, "the rate holds for all together"
    counts = line.counts
    dropped = counts.queue + counts.loss + counts.outage + counts.path_mtu
    assert (counts.packets, counts.size) == (len(packets), sum(size for _, size in packets))
    assert delivered + dropped == counts.packets, "every packet is accounted for"


def test_rate_and_delay_exactly() -> None:
    line = model(rate="12Mbit", delay="50ms")
    assert line.take(1.0, 1500) == Fate(1.051, False, 1, 1.001)
    second = line.take(1.0, 750)
    assert second is not None
    assert abs(second.due - 1.0515) < 1e-9
    assert line.waiting(1.0) == 2250
    assert line.waiting(2.0) == 0


def test_the_queue_drops_what_it_has_no_room_for() -> None:
    line = model(rate="12Mbit", queue="3kB")
    assert [line.take(0, 1500) is None for _ in range(3)] == [False, False, True]
    assert line.counts.queue == 1
    assert line.take(0.001, 1500) is not None, "a packet has left"


def lost(line: Model, packets: int = PACKETS) -> list[bool]:
    return [line.take(float(number), 100) is None for number in range(packets)]


def test_independent_losses() -> None:
    fates = lost(model(loss="1%"))
    assert 160 <= sum(fates) <= 240  # three standard deviations of 200, with this seed
    assert runs(fates) < 1.1


def test_losses_in_runs() -> None:
    fates = lost(model(loss="2%", burst="8"), 200_000)
    assert 3400 <= sum(fates) <= 4600
    assert 7 <= runs(fates) <= 9


def runs(fates: list[bool]) -> float:
    """Mean length of the runs of losses."""
    begun = sum(late and not early for early, late in zip([False, *fates], fates, strict=False))
    return sum(fates) / begun


def test_all_or_nothing() -> None:
    assert all(lost(model(loss="100%"), 100))
    assert not any(lost(model(), 100))


def test_jitter_spreads_and_keeps_the_order() -> None:
    line = model(delay="10ms", jitter="20ms")
    delays = [fate.due - number for number in range(1000) if (fate := line.take(float(number), 100))]
    assert min(delays) >= 0.01
    assert max(delays) <= 0.03 + 1e-5
    assert 0.019 < sum(delays) / len(delays) < 0.021


def test_overtaking_and_copies() -> None:
    line = model(delay="10ms", reorder="10%", duplicate="20%")
    fates = [fate for number in range(PACKETS) if (fate := line.take(float(number), 100))]
    assert line.counts.reordered == sum(fate.ahead for fate in fates)
    assert line.counts.duplicated == sum(fate.copies == 2 for fate in fates)
    assert 0.09 < line.counts.reordered / PACKETS < 0.11
    assert 0.19 < line.counts.duplicated / PACKETS < 0.21


def test_path_mtu() -> None:
    line = model(path_mtu="1280B")
    assert line.take(0, 1281) is None
    assert line.take(0, 1280) is not None
    assert line.counts.path_mtu == 1


def test_an_outage_and_its_end() -> None:
    line = model(rate="8kbit", delay="1s")
    assert line.take(0, 1000) is not None
    line.out = True
    line.cut()
    assert line.waiting(0) == 0
    assert line.take(0, 1000) is None
    line.out = False
    fate = line.take(1, 1000)
    assert fate is not None
    assert fate.due == 3.0, "the packets that the outage took make nobody wait"
    assert line.counts.outage == 1


def test_shorter_delays_do_not_overtake() -> None:
    line = model(delay="1s")
    early = line.take(0, 100)
    line.set(Way.of(delay="1ms"), 0.1)
    late = line.take(0.1, 100)
    assert early is not None
    assert late is not None
    assert late.due >= early.due


@pytest.mark.parametrize(("before", "after"), [("1Mbit", "100Mbit"), ("100Mbit", "1Mbit")])
@pytest.mark.parametrize("jitter", ["0ms", "1ms"])
def test_what_waits_leaves_at_the_new_rate(before: str, after: str, jitter: str) -> None:
    """Else a line that was full and became faster took nothing for as long as it had been slow."""
    line = model(rate=before, delay="10ms", queue="61KB", jitter=jitter)
    held = [fate for fate in (line.take(0.0, 1500) for _ in range(40)) if fate]
    assert len(held) == 40, "the queue is full"
    way = Way.of(rate=after, delay="10ms", queue="61KB", jitter=jitter)
    held = list(line.set(way, 0.0).of(held))
    assert line.waiting(0.0) == 60_000
    seconds = 1500 * 8 / way.rate
    assert [fate.leaves for fate in held] == pytest.approx([seconds * number for number in range(1, 41)])
    for fate in held:
        assert 0.01 - 1e-9 <= fate.due - fate.leaves <= 0.011 + seconds
    assert line.take(0.0, 1500) is None, "it is as full as before"
    late = line.take(1.01 * seconds, 1500)
    assert late is not None
    assert late.due >= held[-1].due


def test_what_has_left_is_as_it_was() -> None:
    line = model(rate="1Mbit", delay="1s")
    gone = line.take(0.0, 1500)
    assert gone is not None
    assert [*line.set(Way.of(rate="8kbit"), 0.5).of([gone])] == [gone]
