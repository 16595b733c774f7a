"""Caps, priorities, turns: what goes when, on a line of fixed rate and with a clock that jumps."""

from collections import Counter

import pytest

from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import Misuse
from proxy.protocol.frames import OVER
from proxy.protocol.meter import URGENT_SECONDS, Cap, Meter, Stopwatch
from proxy.protocol.share import WIRE, WRITE_OVERHEAD, Priority, Share
from tests.unit.protocol.line import MBIT, Line, on_wire

KIB = 1 << 10


def test_priorities_divide_what_no_guarantee_claims() -> None:
    line = Line(40 * MBIT)
    low = line.open(Share("low", Priority.LOW, guarantee=5 * MBIT))
    normal = line.open(Share("normal"))
    high = line.open(Share("high", Priority.HIGH, maximum=15 * MBIT))
    line.run(10)
    assert line.rates(high) == pytest.approx(15 * MBIT, rel=0.03)
    assert line.rates(normal) == pytest.approx(20 * MBIT, rel=0.03)
    assert line.rates(low) == pytest.approx(5 * MBIT, rel=0.03)


def test_low_gets_what_the_others_leave() -> None:
    line = Line(40 * MBIT)
    low = line.open(Share("low", Priority.LOW))
    normal = line.open(Share("normal"), frames=400)
    line.run(0.5)
    assert line.total(low) <= on_wire(16 * KIB + 16), "but its first frame, before anyone could know that it is bulk"
    line.run(4.5)
    assert line.rates() == pytest.approx(40 * MBIT, rel=0.01)
    assert line.total(low) == line.total() - line.total(normal) > 0


@pytest.mark.parametrize("frame", [4 * KIB, 64 * KIB])
def test_the_tunnels_rate_holds_over_any_ten_seconds(frame: int) -> None:
    line = Line(1000 * MBIT)
    line.tunnel.scheduler.set_rate(20 * MBIT, 0.0)
    for _ in range(3):
        line.open(frame=frame)
    line.run(13)
    windows = list(line.windows(10))
    assert min(windows) >= 0.95 * 200 * MBIT
    assert max(windows) <= 1.05 * 200 * MBIT
    assert max(line.windows(0.5)) <= (0.5 + 0.05) * 20 * MBIT * 1.01 + on_wire(frame), "no burst either"


def test_a_maximum_holds_for_a_share_of_tiny_frames() -> None:
    line = Line(20 * MBIT)
    tiny = line.open(Share("tiny", maximum=2 * MBIT), frame=512)
    line.open()
    line.run(13)
    assert min(line.windows(10, tiny)) >= 0.95 * 20 * MBIT
    assert max(line.windows(10, tiny)) <= 1.05 * 20 * MBIT
    assert line.rates() == pytest.approx(20 * MBIT, rel=0.05)


def test_a_burst_after_a_rest_is_what_was_configured() -> None:
    line = Line(1000 * MBIT)
    stream = line.open(Share("bursts", maximum=8 * MBIT, burst=2e6), frames=0)
    line.run(5)
    line.sources[stream].left = float("inf")
    line.run(1)
    assert line.total() == pytest.approx(2e6 + 8 * MBIT, rel=0.02)


def test_a_burst_is_there_for_what_is_urgent_too_which_does_not_wait_behind_bulk_that_uses_it() -> None:
    line = Line(1000 * MBIT)
    share = Share("bursts", maximum=MBIT, burst=2e6)
    urgent = [line.open(share, frame=20 * KIB, frames=0) for _ in range(10)]
    bulk = line.open(share, frames=0)
    line.run(30)
    for stream in urgent:
        line.sources[stream].left = 1
    line.sources[bulk].left = 300
    since = line.now
    line.run(1)
    answered = [sent.at for sent in line.log if sent.stream in urgent and sent.at >= since]
    assert len(answered) == len(urgent)
    assert max(answered) < since + 0.01
    assert line.total(since=since) == pytest.approx(2e6 + MBIT, rel=0.02)
    for stream in urgent[:2]:
        line.sources[stream].left = 1
    since = line.now
    line.run(0.3)
    assert line.total(*urgent, since=since) > 0, "nor for what bulk owes afterwards"


def test_shares_of_one_priority_are_alike_whatever_their_frames_and_streams() -> None:
    line = Line(50 * MBIT)
    large = line.open(Share("large"), frame=256 * KIB)
    small = [line.open(Share("small"), frame=2 * KIB) for _ in range(6)]
    line.run(5)
    assert line.rates(large) == pytest.approx(25 * MBIT, rel=0.05)
    for stream in small:
        assert line.rates(stream) == pytest.approx(25 / 6 * MBIT, rel=0.05)


def test_streams_of_a_share_are_alike_and_rest_gains_nothing() -> None:
    line = Line(50 * MBIT)
    busy = line.open(frame=64 * KIB)
    late = line.open(frame=8 * KIB, frames=0)
    line.run(3)
    line.sources[late].left = float("inf")
    line.run(4)
    assert line.rates(busy, since=3) == pytest.approx(25 * MBIT, rel=0.05)
    assert line.rates(late, since=3) == pytest.approx(25 * MBIT, rel=0.05)


def test_a_share_that_rested_begins_where_the_others_are() -> None:
    line = Line(50 * MBIT)
    busy = line.open(Share("busy"))
    late = line.open(Share("late"), frames=0)
    line.run(3)
    line.sources[late].left = float("inf")
    line.run(2)
    assert line.rates(late, since=3) == pytest.approx(25 * MBIT, rel=0.05)
    assert line.rates(busy, since=3) == pytest.approx(25 * MBIT, rel=0.05)


def test_who_begins_beside_a_share_that_its_maximum_holds_back_takes_no_others_turns() -> None:
    line = Line(50 * MBIT)
    line.open(Share("held", maximum=MBIT))
    busy = line.open(Share("busy"))
    line.run(20)
    late = line.open(Share("late"))
    line.run(2)
    for stream in (busy, late):
        assert line.rates(stream, since=20) == pytest.approx(24.5 * MBIT, rel=0.15)


def test_small_frames_do_not_wait_for_what_bulk_owes() -> None:
    """Bulk of 512 KiB a frame owes two seconds of the cap each time; requests go at once, and are paid for by bulk."""
    line = Line(1000 * MBIT)
    line.tunnel.scheduler.set_rate(2 * MBIT, 0.0)
    bulk = line.open(frame=512 * KIB)
    small = line.open(frame=512, frames=0)
    asked: list[float] = []

    def ask() -> None:
        if line.now >= len(asked) * 0.2:
            asked.append(line.now)
            line.sources[small].left = 1

    line.run(20, ask)
    answered = [sent.at for sent in line.log if sent.stream == small]
    assert len(answered) == len(asked) > 5
    assert max(after - before for before, after in zip(asked, answered, strict=True)) < 0.005
    assert line.total(bulk) > 0


def test_urgent_frames_are_capped_all_the_same() -> None:
    """Many streams that each send little: none is bulk, and together they keep to the cap."""
    line = Line(1000 * MBIT)
    line.tunnel.scheduler.set_rate(MBIT, 0.0)
    for _ in range(20):
        line.open(frame=1024)
    line.run(12)
    assert max(line.windows(10)) <= 10 * MBIT * 1.05
    assert min(line.windows(10)) >= 10 * MBIT * 0.95


def test_frames_of_the_tunnel_are_never_held_but_charged() -> None:
    line = Line(1000 * MBIT)
    line.tunnel.scheduler.set_rate(0.1 * MBIT, 0.0)
    line.open(frame=64 * KIB)
    line.run(0.1)
    line.script.open(2)
    assert line.script.flush() == ["ACK 2:1"]


def test_a_tunnel_that_is_held_does_not_want_to_send_until_it_said() -> None:
    line = Line(1000 * MBIT)
    line.tunnel.scheduler.set_rate(MBIT, 0.0)
    line.open(frame=64 * KIB)
    line.fill()
    assert 1 in line.tunnel.wanting
    while line.tunnel.take({1: 1}, line.now):
        pass
    assert 1 not in line.tunnel.wanting, "a lane need not be asked for room"
    deadline = line.tunnel.next_deadline()
    assert deadline is not None
    assert deadline > line.now
    line.script.at(deadline)
    assert 1 in line.tunnel.wanting
    assert line.script.take(limit=1) == ["DATA 1#2 65536"]


def test_what_the_kernel_repeats_is_charged() -> None:
    line = Line(1000 * MBIT)
    scheduler = line.tunnel.scheduler
    scheduler.set_rate(10 * MBIT, 0.0)
    line.open()
    line.run(1)
    scheduler.charge(5 * MBIT, line.now)
    line.run(4)
    assert line.total() == pytest.approx(45 * MBIT, rel=0.02)


def test_what_waits_for_nothing_may_exceed_the_rate_for_long_and_bulk_waits_a_second_for_it() -> None:
    line = Line(100 * MBIT)
    line.tunnel.scheduler.set_rate(5 * MBIT, 0.0)
    stream = line.open()
    for _ in range(60):
        line.tunnel.scheduler.charge(9 * MBIT, line.now)
        line.run(1)
    line.run(1)
    since = line.now
    line.run(5)
    assert line.rates(stream, since=since) == pytest.approx(5 * MBIT, rel=0.05)


@pytest.mark.parametrize("period", [0.01, 1.0, 1.003])
def test_no_frame_of_bulk_waits_longer_than_a_second_while_that_exceeds_the_rate(period: float) -> None:
    line = Line(100 * MBIT)
    line.tunnel.scheduler.set_rate(5 * MBIT, 0.0)
    stream = line.open(frame=4 * KIB)
    while line.now < 20:
        line.tunnel.scheduler.charge(9 * MBIT * period, line.now)
        line.run(period)
    assert line.longest_wait(stream) < 1.1
    assert line.rates(stream, since=1.0) < 0.02 * 5 * MBIT, "but it gets no more than that"


@pytest.mark.parametrize("seconds", [0.1, 1.5, 5.0])
def test_what_waits_for_nothing_counts_whatever_the_burst_of_a_maximum(seconds: float) -> None:
    """Once the burst has gone. What the kernel repeats is less than the maximum, so that bulk has the rest."""
    line = Line(100 * MBIT)
    stream = line.open(Share("bursts", maximum=2 * MBIT, burst=seconds * 2 * MBIT), frame=4 * KIB)
    while line.now < 40:
        line.tunnel.scheduler.repeated(0.3 * 2 * MBIT, line.now)
        line.run(1)
    assert line.rates(stream, since=20) == pytest.approx(0.7 * 2 * MBIT, rel=0.05)


def test_the_rate_changes_while_streams_wait() -> None:
    line = Line(1000 * MBIT)
    scheduler = line.tunnel.scheduler
    line.open(frame=64 * KIB)
    for rate in (2.0, 20.0, 5.0):
        scheduler.set_rate(rate * MBIT, line.now)
        since = line.now
        line.run(4)
        assert line.rates(since=since + 0.5) == pytest.approx(rate * MBIT, rel=0.1)
    scheduler.set_rate(None, line.now)
    line.run(0.5)
    assert line.rates(since=line.now - 0.5) > 500 * MBIT


def test_what_waited_for_nothing_is_a_second_of_a_lower_rate_too() -> None:
    line = Line(1000 * MBIT)
    scheduler = line.tunnel.scheduler
    scheduler.set_rate(100 * MBIT, 0.0)
    stream = line.open(frame=4 * KIB)
    line.run(1)
    scheduler.charge(180 * MBIT, line.now)
    scheduler.set_rate(2 * MBIT, line.now)
    line.run(1.1)
    since = line.now
    line.run(10)
    assert line.rates(stream, since=since) == pytest.approx(2 * MBIT, rel=0.05)


def test_what_the_kernel_repeats_of_others_keeps_a_share_from_its_maximum_for_a_second_at_most() -> None:
    line = Line(100 * MBIT)
    busy = line.open(Share("busy"))
    stream = line.open(Share("capped", maximum=5 * MBIT), frame=4 * KIB)
    line.run(2)
    scheduler = line.tunnel.scheduler
    scheduler.repeated(0.0, line.now)
    line.sources[busy].left = 0
    line.run(1)
    scheduler.repeated(100 * MBIT, line.now)
    line.run(1.1)
    since = line.now
    line.run(5)
    assert line.rates(stream, since=since) == pytest.approx(5 * MBIT, rel=0.05)


def test_frames_of_one_write_share_what_that_costs_beyond_them() -> None:
    """It begins a record, and its last packet is not full."""
    wire = []
    for rooms in ([1, 1], [1 << 20]):
        line = Line(10 * MBIT)
        share = Share("plain")
        line.open(share, frames=2)
        line.fill()
        before = line.tunnel.scheduler.account(share).wire
        for room in rooms:
            line.script.take(limit=room)
        wire.append(line.tunnel.scheduler.account(share).wire - before)
    assert wire[0] - wire[1] == pytest.approx(WRITE_OVERHEAD * WIRE)


def test_only_what_there_is_room_for_has_a_turn() -> None:
    line = Line(10 * MBIT)
    gold = line.open(Share("gold", mark=46))
    plain = line.open()
    line.run(1)
    line.fill()
    scheduler = line.tunnel.scheduler
    for mark, stream in ((46, gold), (0, plain)):
        found = scheduler.next(line.now, {mark}, {mark})
        assert found is not None
        assert found.number == stream
    assert scheduler.next(line.now, {10}, {10}) is None
    assert scheduler.next(line.now, {0, 46}, ()) is None, "both are bulk"
    assert scheduler.again_at == float("inf"), "no cap has to be waited for"


def test_under_a_common_cap_no_lane_takes_anothers_turn() -> None:
    line = Line(100 * MBIT)
    scheduler = line.tunnel.scheduler
    scheduler.set_rate(10 * MBIT, 0.0)
    gold = line.open(Share("gold", guarantee=8 * MBIT, mark=46), frame=8 * KIB)
    plain = line.open(Share("plain"), frame=8 * KIB)
    rooms = line.lanes(46)
    went = Counter(stream for _, stream in line.by_lanes(rooms, 4))
    assert went[gold] > 3.5 * went[plain] > 0
    del rooms[2]
    went = Counter(stream for _, stream in line.by_lanes(rooms, 1))
    assert (went[gold], went[plain] > 50) == (0, True), "the other lane has no room"


def test_held_time_counts_waiting_for_a_cap_and_nothing_else() -> None:
    line = Line(200 * MBIT)
    capped, free = Share("capped", maximum=5 * MBIT), Share("free")
    line.open(capped, frames=200)
    line.open(free, frames=200)
    line.run(30)
    accounts = line.tunnel.scheduler.accounts
    took = 200 * on_wire(16400) / (5 * MBIT)
    assert accounts[capped].held.seconds(line.now) == pytest.approx(took, rel=0.1)
    assert accounts[free].held.seconds(line.now) == 0.0


def test_an_account_knows_its_rate_and_its_bytes() -> None:
    line = Line(20 * MBIT)
    share = Share("one", maximum=8 * MBIT)
    line.open(share)
    account = line.tunnel.scheduler.account(share)
    assert account.rate == 0.0
    for _ in range(10):
        line.run(1)
        account.sample(line.now)
    assert account.rate == pytest.approx(8 * MBIT, rel=0.02)
    assert account.wire == pytest.approx(line.total(), rel=0.02)


def test_the_grain_is_20_ms_of_the_least_cap() -> None:
    line = Line(MBIT)
    stream, other = line.open(Share("one", maximum=8 * MBIT)), line.open()
    assert line.tunnel.streams.grain(stream) == 20_000
    assert line.tunnel.streams.grain(other) > 512 * KIB
    line.tunnel.scheduler.set_rate(4 * MBIT, 0.0)
    assert line.tunnel.streams.grain(stream) == line.tunnel.streams.grain(other) == 10_000
    line.tunnel.scheduler.set_rate(0.1 * MBIT, 0.0)
    assert line.tunnel.streams.grain(other) == 4 * KIB


def test_nothing_remains_of_streams_that_end_while_they_wait() -> None:
    line = Line(MBIT)
    starved = Share("starved", Priority.LOW)
    line.open()
    line.run(1)
    for _ in range(100):
        stream = line.open(starved, frame=64 * KIB, frames=1)
        line.run(0.1)
        assert line.tunnel.scheduler.account(starved).waits
        line.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "")
        del line.sources[stream]
        line.run(0.1)
        line.script.acknowledge(stream, OVER)
    assert not line.tunnel.scheduler.account(starved).waits


def test_a_stream_of_the_peer_is_assigned_to_a_share() -> None:
    line = Line(MBIT)
    line.script.open(2)
    share = Share("export", maximum=MBIT)
    line.tunnel.streams.assign(2, share)
    line.tunnel.streams.accept(2)
    assert "ACCEPT 2#0" in line.script.take()
    assert line.tunnel.scheduler.account(share).wire > 0


def test_shares_outlive_the_tunnels_streams() -> None:
    line = Line(10 * MBIT)
    share = Share("one", maximum=MBIT)
    line.open(share)
    line.run(1)
    before = line.tunnel.scheduler.account(share).wire
    line.tunnel.abandon(ResetCode.GRACE_EXPIRED, "", line.now)
    assert line.tunnel.scheduler.account(share).wire == before > 0
    assert not line.tunnel.scheduler


@pytest.mark.parametrize(
    "wrong", [{"guarantee": 0.0}, {"maximum": -1.0}, {"guarantee": 2.0, "maximum": 1.0}, {"mark": 64}, {"burst": 0.0}]
)
def test_a_share_that_contradicts_itself_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(Misuse):
        Share("wrong", **wrong)  # type: ignore[arg-type]


def test_a_meter_forgets_what_was_saved_beyond_its_burst() -> None:
    meter = Meter(100.0, 50.0)
    meter.charge(50.0, 1000.0)
    assert meter.paid == 1000.0
    meter.charge(100.0, 1000.0)
    assert meter.paid == 1001.0
    meter.change(200.0, 50.0, 1000.0)
    assert meter.paid == 1000.5, "the debt of 100 bytes is paid twice as fast"


def test_a_cap_lends_urgent_frames_a_tenth_of_a_second() -> None:
    cap = Cap(1000.0)
    cap.charge(5000.0, 0.0, urgent=False)
    assert cap.free_at(urgent=False) > 4.0
    sent = 0
    while cap.free_at(urgent=True) <= 0.0:
        cap.charge(10.0, 0.0, urgent=True)
        sent += 10
    assert sent == pytest.approx(1000 * URGENT_SECONDS, abs=10)


def test_a_stopwatch_does_not_run_beyond_what_was_foreseen() -> None:
    watch = Stopwatch()
    watch.start(1.0, 2.0)
    assert watch.seconds(1.5) == 0.5
    watch.start(1.5, 3.0)
    assert watch.seconds(10.0) == 2.0
    watch.start(10.0, 11.0)
    watch.stop(10.5)
    assert watch.seconds(20.0) == 2.5


def test_a_share_that_is_changed_keeps_its_streams_and_what_it_has_sent() -> None:
    line = Line(40 * MBIT)
    low, urged = Share("low", Priority.LOW), Share("low", Priority.HIGH, guarantee=5 * MBIT, maximum=30 * MBIT)
    stream, other = line.open(low), line.open(Share("normal"))
    line.run(2)
    sent = line.total(stream)
    scheduler = line.tunnel.scheduler
    scheduler.change(low, urged, line.now)
    assert scheduler.accounts[urged].wire == pytest.approx(sent, rel=0.05)
    line.run(10)
    assert line.rates(stream, since=2.0) == pytest.approx(30 * MBIT, rel=0.03)
    assert line.rates(other, since=2.0) == pytest.approx(10 * MBIT, rel=0.05)
    scheduler.change(urged, low, line.now)
    line.run(10)
    assert line.rates(stream, since=13.0) == pytest.approx(0, abs=MBIT / 10), "it is low again, and has no guarantee"


def test_what_a_cap_held_back_goes_once_there_is_no_cap() -> None:
    line = Line(40 * MBIT)
    slow, free = Share("slow", maximum=MBIT / 10), Share("slow")
    stream = line.open(slow)
    line.run(2)
    line.tunnel.scheduler.change(slow, free, line.now)
    assert not line.tunnel.scheduler.ruled
    line.run(0.5)
    assert line.rates(stream, since=2.0) == pytest.approx(40 * MBIT, rel=0.05)


def test_streams_of_a_share_that_is_dropped_send_what_they_have() -> None:
    line = Line(40 * MBIT)
    gone = Share("gone", Priority.HIGH, maximum=10 * MBIT)
    stream = line.open(gone)
    line.run(1)
    line.tunnel.scheduler.drop(gone)
    assert gone not in line.tunnel.scheduler.accounts
    line.sources[stream].left = 10
    line.run(5)
    assert line.sources[stream].left == 0
    assert line.tunnel.scheduler.account(gone).wire == 0, "one that comes later has an account of its own"
