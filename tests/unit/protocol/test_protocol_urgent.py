"""Shares and streams that are urgent now and bulk then: what each has, and that nobody stands still for it later."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from proxy.protocol.account import LEAD_MAX, OVERDUE_SECONDS
from proxy.protocol.credit import SendCredit, Trust
from proxy.protocol.guarantees import AHEAD_SECONDS
from proxy.protocol.outgoing import Outgoing, SendLedger
from proxy.protocol.share import Priority, Share
from tests.unit.protocol.line import MBIT, Line
from tests.unit.protocol.playbook import literal

KIB = 1 << 10


@pytest.mark.parametrize("light", ["same", "other"])
def test_what_streams_had_while_they_were_urgent_costs_them_no_turns_later(light: str) -> None:
    line = Line(6 * MBIT)
    busy = [line.open(Share("same"), frame=4 * KIB) for _ in range(8)]
    later = [line.open(Share(light), frame=4 * KIB, frames=0) for _ in range(4)]
    line.run(60, line.asking(later, 0.025))
    assert line.rates(*later) > 3.5 * MBIT, "while they are urgent they have more than their turns"
    for stream in later:
        line.sources[stream].left = float("inf")
    line.run(8 * LEAD_MAX / (6 * MBIT) + 1)
    since = line.now
    line.run(10)
    part = 4 / 12 if light == "same" else 1 / 2
    assert line.rates(*later, since=since) == pytest.approx(part * 6 * MBIT, rel=0.05)
    assert line.rates(*busy, since=since) == pytest.approx((1 - part) * 6 * MBIT, rel=0.05)


def test_what_a_share_had_while_it_was_urgent_uses_up_a_second_of_its_guarantee_at_most() -> None:
    line = Line(6 * MBIT)
    line.open(Share("busy"))
    low = Share("low", Priority.LOW, guarantee=MBIT)
    streams = [line.open(low, frame=4 * KIB, frames=0) for _ in range(6)]
    line.run(30, line.asking(streams, 0.04))
    assert line.rates(*streams) > 4.5 * MBIT
    for stream in streams:
        line.sources[stream].left = float("inf")
    line.run(AHEAD_SECONDS + 0.5)
    since = line.now
    line.run(5)
    assert line.rates(*streams, since=since) > 0.95 * MBIT


def test_what_is_urgent_counts_as_guaranteed() -> None:
    line = Line(6 * MBIT)
    line.open(Share("busy"))
    low = Share("low", Priority.LOW, guarantee=2 * MBIT)
    line.open(low, frame=4 * KIB)
    urgent = [line.open(low, frame=4 * KIB, frames=0) for _ in range(4)]
    line.run(20, line.asking(urgent, 0.1))
    assert line.rates(*urgent) > 1.2 * MBIT
    assert line.rates(*(set(line.sources) - {1})) == pytest.approx(2 * MBIT, rel=0.05)


@pytest.mark.parametrize("guarantee", [None, 0.1, 1])
def test_what_is_urgent_beyond_a_guarantee_counts_with_turns(guarantee: float | None) -> None:
    line = Line(6 * MBIT)
    same, other = (Share(name, guarantee=guarantee and guarantee * MBIT) for name in ("same", "other"))
    bulk, beside = line.open(same), line.open(other)
    urgent = [line.open(same, frame=4 * KIB, frames=0) for _ in range(3)]
    line.run(20, line.asking(urgent, 0.04))
    assert line.rates(*urgent) > 2.5 * MBIT
    assert line.rates(beside) == pytest.approx(3 * MBIT, rel=0.05)
    assert line.rates(bulk, *urgent) == pytest.approx(3 * MBIT, rel=0.05)


@pytest.mark.parametrize("light", ["same", "other"])
def test_on_a_slow_line_a_write_waits_for_frames_as_long_as_they_are_there(light: str) -> None:
    line = Line(2 * MBIT)
    for _ in range(4):
        line.open(Share("same"))
    asking = line.open(Share(light), frame=4 * KIB, frames=0)
    line.run(30, line.asking([asking], 0.04))
    before = len(line.sources[asking].numbers)
    assert line.rates(asking) > 0.8 * MBIT, "more than its turns"
    line.sources[asking].left = 16
    line.run(5)
    assert len(line.sources[asking].numbers) >= before + 16


def test_fills_that_went_while_bulk_of_their_stream_waited_cost_it_no_turns_later() -> None:
    line = Line(20 * MBIT)
    streams = [line.open() for _ in range(3)]
    filled = streams[-1]
    fills = 0

    def fill() -> None:
        nonlocal fills
        if line.now >= fills * 0.14:
            fills += 1
            line.tunnel.streams.send_fill(filled, b"name".ljust(32), bytes(200 * KIB))

    line.run(20, fill)
    line.run(2 * LEAD_MAX / (20 / 3 * MBIT) + 1)
    since = line.now
    line.run(5)
    for stream in streams:
        assert line.rates(stream, since=since) == pytest.approx(20 / 3 * MBIT, rel=0.05)


@pytest.mark.parametrize("ruled", [False, True])
def test_beside_a_share_with_much_that_is_urgent_the_others_are_alike(ruled: bool) -> None:
    line = Line(6 * MBIT)
    others = [line.open(Share(name, maximum=6 * MBIT if ruled else None)) for name in ("first", "second")]
    bulk = line.open(Share("both"))
    urgent = [line.open(Share("both"), frame=4 * KIB, frames=0) for _ in range(6)]
    line.run(30, line.asking(urgent, 0.04))
    assert line.rates(*urgent) > 4.5 * MBIT
    left = 6 * MBIT - line.rates(*urgent)
    for stream in others:
        assert line.rates(stream) == pytest.approx(left / 2, rel=0.1)
    assert line.rates(bulk) < left / 10, "its share has had more than its part"


def answering(line: Line, *streams: int) -> Callable[[], None]:
    """For `run`: each of them has a next frame as soon as one has gone, as an array that waits for answers."""
    for stream in streams:
        line.sources[stream].left = 1
    seen = len(line.log)

    def again() -> None:
        nonlocal seen
        for sent in line.log[seen:]:  # once each, also if time passes in which nothing goes
            if sent.stream in streams:
                line.sources[sent.stream].left = 1
        seen = len(line.log)

    return again


@pytest.mark.parametrize("rate", [0.064, 0.5, 2])
@pytest.mark.parametrize("share", ["same", "other", "guaranteed"])
def test_what_is_urgent_for_good_leaves_bulk_a_frame_a_second(rate: float, share: str) -> None:
    """On a slow line, which some streams that each send little at a time fill alone."""
    line = Line(rate * MBIT)
    bulk = line.open(Share(share, guarantee=0.03 * MBIT if share == "guaranteed" else None), frame=4 * KIB)
    urgent = [line.open(Share("same"), frame=4 * KIB, frames=0) for _ in range(2)]
    line.run(60, answering(line, *urgent))
    frame = 4.5 * KIB / (rate * MBIT)
    assert line.longest_wait(bulk) < OVERDUE_SECONDS + 3 * frame
    assert line.rates(*urgent) > 0.6 * line.rate


def test_of_bulk_that_waits_for_what_is_urgent_who_is_behind_a_guarantee_goes_first() -> None:
    line = Line(2 * MBIT)
    line.open(Share("high", Priority.HIGH), frame=4 * KIB)
    guaranteed = line.open(Share("low", Priority.LOW, guarantee=MBIT), frame=4 * KIB)
    urgent = [line.open(Share("asking"), frame=4 * KIB, frames=0) for _ in range(2)]
    line.run(60, answering(line, *urgent))
    assert line.longest_wait(guaranteed) < OVERDUE_SECONDS + 0.1


@pytest.mark.parametrize("tunnel", [True, False])
def test_nor_does_bulk_stand_still_under_a_cap_which_holds(tunnel: bool) -> None:
    line = Line(100 * MBIT)
    share = Share("capped", maximum=None if tunnel else 2 * MBIT)
    line.tunnel.scheduler.set_rate(2 * MBIT if tunnel else None, 0.0)
    bulk = line.open(share, frame=4 * KIB)
    urgent = [line.open(share, frame=4 * KIB, frames=0) for _ in range(12)]
    line.run(60, answering(line, *urgent))
    assert line.longest_wait(bulk) < OVERDUE_SECONDS + 0.3
    assert max(line.windows(10, *line.sources)) < 1.05 * 10 * 2 * MBIT


@pytest.mark.parametrize("rate", [0.256, 1])
def test_frames_that_take_seconds_of_a_cap_do_not_hold_up_what_is_urgent_as_long(rate: float) -> None:
    """They were made before the rate fell. When one is overdue, what is urgent pays for it, and has half meanwhile."""
    line = Line(100 * MBIT)
    bulk = [line.open(frame=512 * KIB) for _ in range(3)]
    urgent = [line.open(frame=4 * KIB, frames=0) for _ in range(12)]
    line.tunnel.scheduler.set_rate(rate * MBIT, 0.0)
    line.run(200, answering(line, *urgent))
    around = 12 * 4.5 * KIB / (rate * MBIT)
    assert max(line.longest_wait(stream) for stream in urgent) < 2 * around + 0.2
    assert line.rates(*urgent) == pytest.approx(0.5 * rate * MBIT, rel=0.1)
    assert line.rates(*bulk) == pytest.approx(0.5 * rate * MBIT, rel=0.1)
    assert max(line.windows(100, *line.sources)) < 1.05 * 100 * rate * MBIT


def test_nor_under_the_maximum_of_its_share_while_bulk_of_another_one_goes() -> None:
    line = Line(50 * MBIT)
    share = Share("capped", maximum=2 * MBIT)
    bulk = line.open(share, frame=4 * KIB)
    urgent = [line.open(share, frame=4 * KIB, frames=0) for _ in range(12)]
    other = line.open(Share("other"))
    line.run(12, answering(line, *urgent))
    assert line.longest_wait(bulk) < OVERDUE_SECONDS + 0.3
    assert line.rates(bulk, *urgent) == pytest.approx(2 * MBIT, rel=0.05)
    assert line.rates(other) == pytest.approx(48 * MBIT, rel=0.05)


def test_nor_beside_a_guaranteed_share_that_has_more_than_that_as_what_is_urgent() -> None:
    line = Line(2 * MBIT)
    guaranteed = Share("guaranteed", guarantee=0.3 * MBIT)
    line.open(guaranteed, frame=4 * KIB)
    urgent = [line.open(guaranteed, frame=4 * KIB, frames=0) for _ in range(3)]
    bulk = line.open(Share("other"), frame=4 * KIB)
    line.run(30, answering(line, *urgent))
    assert line.longest_wait(bulk) < 2 * OVERDUE_SECONDS + 0.3


MARKED = Share("marked", mark=46)


@pytest.mark.parametrize(
    ("marks", "asking", "waiting"),
    [
        ([0], Share("one"), Share("one")),
        ([0], Share("one", maximum=2 * MBIT), Share("one", maximum=2 * MBIT)),
        ([46], MARKED, Share("one")),
        ([46, 46], MARKED, Share("one")),
        ([46, 46], MARKED, MARKED),
        ([46, 46], Share("one"), MARKED),
    ],
)
def test_nor_where_what_is_urgent_has_a_lane_of_its_own(marks: list[int], asking: Share, waiting: Share) -> None:
    line = Line(100 * MBIT)
    if asking.maximum is None:
        line.tunnel.scheduler.set_rate(2 * MBIT, 0.0)
    bulk = line.open(waiting, frame=4 * KIB)
    urgent = [line.open(asking, frame=4 * KIB, frames=1) for _ in range(12)]
    times = [0.0]
    for at, stream in line.by_lanes(line.lanes(*marks), 10):
        if stream == bulk:
            times.append(at)
        else:
            line.sources[stream].left = 1
    assert set(urgent) <= line.sources.keys()
    assert max(after - before for before, after in pairwise([*times, line.now])) < OVERDUE_SECONDS + 0.1


@pytest.mark.parametrize("later", [2, None])
def test_bulk_goes_on_at_a_rate_that_becomes_higher_although_its_last_frame_took_long_at_the_one_before(
    later: float | None,
) -> None:
    """A frame of 512 KiB takes 68 s of 64 kb/s: it was made before that rate began."""
    line = Line(2 * MBIT)
    bulk = line.open(frame=512 * KIB)
    urgent = [line.open(frame=4 * KIB, frames=0) for _ in range(12)]
    line.fill()
    line.tunnel.scheduler.set_rate(0.064 * MBIT, line.now)
    line.run(2.5)
    assert line.total(bulk) > 512 * KIB, "one has gone"
    again = answering(line, *urgent)
    line.run(5, again)
    assert line.log[-1].stream in urgent
    line.tunnel.scheduler.set_rate(later and later * MBIT, line.now)
    since = line.now
    line.run(20, again)
    frames = 2 if later else 1  # below a cap what is urgent has half of it meanwhile
    assert line.longest_wait(bulk, since) < OVERDUE_SECONDS + frames * 2.8


@pytest.mark.parametrize("marks", [[46], [46, 46, 0]])
@pytest.mark.parametrize("mark", [0, 46])
def test_below_a_common_cap_what_is_urgent_goes_as_it_came_whichever_lane_carries_it(
    mark: int, marks: list[int]
) -> None:
    """Small writes of one mark that fill the cap, and questions of the other."""
    line = Line(100 * MBIT)
    line.tunnel.scheduler.set_rate(2 * MBIT, 0.0)
    for _ in range(12):
        line.open(Share("busy", mark=mark), frame=4 * KIB, frames=1)
    asks = line.open(Share("asks", mark=46 - mark), frame=512, frames=1)
    asked, waited = 0.0, [0.0]
    for at, stream in line.by_lanes(line.lanes(*marks), 10):
        line.sources[stream].left = 1
        if stream == asks:
            waited.append(at - asked)
            asked = at
    assert max([*waited, line.now - asked]) < 0.3


def test_what_is_urgent_does_not_wait_for_bulk_that_nothing_urgent_has_held_up() -> None:
    """Not when it comes after a pause, nor when bulk owes seconds of a cap."""
    line = Line(10 * MBIT)
    line.tunnel.scheduler.set_rate(5 * MBIT, 0.0)
    bulk = line.open(frame=512 * KIB, frames=0)
    small = line.open(frame=512, frames=0)
    for _ in range(5):
        line.run(30)
        line.sources[bulk].left = line.sources[small].left = 1
        asked = line.now
        line.run(1e-6)
        first = next(sent for sent in line.log if sent.at >= asked)
        assert first.stream == small
        line.run(5)


def test_who_has_sent_much_lately_is_bulk_though_little_waits() -> None:
    """Also what it had to send again; otherwise whoever sends frame by frame overtakes all that queue."""
    outgoing = Outgoing(SendLedger(1 << 30), SendCredit(1 << 30, 1 << 30, Trust(0)), lean=False)
    for _ in range(4):
        assert outgoing.light(1.0)
        outgoing.push_data(literal(8 * KIB), 8 * KIB)
        assert outgoing.take_new(1) is not None
    assert not outgoing.light(1.0)
    assert outgoing.light(1.11)
    outgoing.lane_lost(1)
    while outgoing.take_again(2):
        pass
    assert not outgoing.light(1.11)
