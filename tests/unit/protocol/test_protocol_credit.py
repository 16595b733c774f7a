"""Flow control: credit is never exceeded, windows grow with what the array takes, memory bounds them all."""

import pytest

from proxy.protocol.codes import Capability, FrameType, ResetCode
from proxy.protocol.credit import LEAN_PART, STEP, WIDE, ReceiveWindow, SendCredit, Trust, WindowBudget, cost_of
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.events import Writable
from proxy.protocol.frames import encode_end, encode_reset
from proxy.protocol.reader import PLAIN_MAX
from tests.unit.protocol.playbook import Script, batch

KIB, MIB = 1 << 10, 1 << 20


def window(budget: WindowBudget, initial: int = MIB, maximum: int = 64 * MIB) -> ReceiveWindow:
    assert budget.reserve(initial)
    return ReceiveWindow(budget, initial, maximum)


def pass_through(receiver: ReceiveWindow, total: int, start: float, rate: float, round_trip: float = 0.1) -> float:
    """The array takes `total` at `rate` bytes a second, 16 KiB at a time; when it has."""
    now = start
    for _ in range(total // (16 * KIB)):
        now += 16 * KIB / rate
        receiver.arrive(16 * KIB, now, round_trip)
        receiver.consume(16 * KIB, 16 * KIB, now, round_trip)
        if receiver.due:
            receiver.tell()
    return now


def test_data_costs_its_plain_length_and_256() -> None:
    credit = SendCredit(1000, 1 << 30, Trust(0))
    credit.spend(cost_of(100, 50, lean=False), 356)
    assert (credit.sent, credit.room) == (356, 388)
    credit.spend(cost_of(388, 50, lean=False), 644)
    assert credit.room == 0
    with pytest.raises(Misuse, match="a frame that costs 257 was to be sent with credit for 0"):
        credit.spend(cost_of(1, 13, lean=False), 257)


def test_where_costs_are_lean_data_costs_what_it_takes_to_keep() -> None:
    assert cost_of(262144, 100_000, lean=True) == 100_256, "as it came"
    assert cost_of(262144, 100, lean=True) == 262144 // LEAN_PART + 256, "however short it is"
    assert cost_of(262144, 270_000, lean=True) == 262144 + 256, "never more than otherwise"
    assert cost_of(1, 13, lean=True) == 257


@pytest.mark.parametrize(("capabilities", "cost"), [((Capability.LEAN,), 8192 + 256), ((), 65000 + 256)])
def test_costs_are_lean_if_both_can(capabilities: tuple[Capability, ...], cost: int) -> None:
    script = Script(capabilities=capabilities)
    script.accepted(1)
    assert script.tunnel.streams.send_data(1, batch(65000, 8180), 65000) == cost
    script.open(2)
    script.give(FrameType.DATA, 2, 1, batch(65000, 8180))
    script.flush()
    script.tunnel.streams.consumed(2)
    script.at(1.0)
    assert any(frame.startswith(f"CREDIT 2:{cost}/") for frame in script.take())


def known(credit: SendCredit, mib: int) -> None:
    """So much is sent of what the peer knows."""
    for _ in range(4 * mib):
        credit.spend(cost_of(MIB // 4, 100, lean=True), MIB // 4 + 256)


def test_of_known_data_no_more_than_the_window_is_under_way_until_the_peer_is_trusted() -> None:
    trust = Trust(1 << 30)
    credit = SendCredit(8 * MIB, 64 * MIB, trust)
    known(credit, 8)
    assert credit.room == 0
    trust.given = True
    assert credit.room > 6 * MIB
    trust.given = False
    assert credit.room == 0
    credit.update(credit.sent // 2, 12 * MIB)
    assert 7 * MIB < credit.room < 8 * MIB, "what is consumed makes room"


def test_who_waits_for_room_hears_that_the_peer_is_trusted() -> None:
    script = Script(capabilities=[Capability.LEAN])
    script.accepted(1)
    script.credit(1, 0, 8 * MIB)
    while size := script.tunnel.streams.sendable(1):
        script.tunnel.streams.send_data(1, batch(size), size)
        script.take()
    script.tunnel.streams.await_room(1)
    assert script.events() == []
    script.tunnel.streams.trust(True)
    assert script.events() == [Writable(1)]


def test_a_trusted_peer_has_no_more_under_way_than_twice_the_largest_window() -> None:
    trust = Trust(1 << 40)
    trust.given = True
    credit = SendCredit(16 * MIB, 16 * MIB, trust)
    known(credit, WIDE * 16 - 1)
    assert 0 < credit.room < MIB


def test_all_streams_together_have_a_bound_and_each_keeps_its_window() -> None:
    """So one whose array takes nothing does not keep another from sending."""
    trust = Trust(32 * MIB)
    trust.given = True
    stuck, other = (SendCredit(8 * MIB, 64 * MIB, trust) for _ in range(2))
    known(stuck, 33)
    assert other.room == 8 * MIB - 256
    known(other, 7)
    assert 0 < other.room < MIB
    stuck.close()
    other.close()
    assert trust.under_way == 0


@pytest.mark.parametrize("by", ["us", "the peer"])
def test_what_a_stream_that_is_reset_had_under_way_counts_no_more(by: str) -> None:
    """Otherwise the peer were trusted in vain, for as long as the tunnel lasts."""
    script = Script(capabilities=(Capability.LEAN,), memory=MIB)
    script.accepted(1)
    script.accepted(3)
    script.tunnel.streams.trust(True)
    script.credit(1, 0, 8 * MIB)
    for _ in range(4 * WIDE):
        script.tunnel.streams.send_data(1, batch(MIB // 4, 100), MIB // 4)
    script.tunnel.streams.send_data(3, batch(60_000, 100), 60_000)
    assert script.tunnel.streams.sendable(3) == 64 * KIB - 60_000 - 2 * 256, "its window in plain bytes"
    if by == "us":
        script.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "")
    else:
        script.give(FrameType.RESET, 1, 1, encode_reset(ResetCode.ORIGIN_RESET, ""))
    assert script.tunnel.streams.sendable(3) == 64 * KIB - 60_000 // LEAN_PART - 2 * 256, "what its credit allows"


def test_credit_for_known_data_comes_as_often_as_for_new_data() -> None:
    """The peer may not be trusted: then its window in plain bytes is all that is under way."""
    receiver = window(WindowBudget(256 * MIB))
    receiver.arrive(32 * KIB + 256, 0.0, 0.1)
    receiver.consume(32 * KIB + 256, MIB // 4 + 256, 0.0, 0.1)
    assert receiver.due
    receiver.tell()
    assert not receiver.due


def test_a_window_that_has_grown_is_told_before_the_peer_has_used_up_what_it_knows() -> None:
    """It is four times as large then: the peer may have no more under way than a quarter of it."""
    receiver = window(WindowBudget(256 * MIB))
    for _ in range(2):
        receiver.tell()
        receiver.arrive(MIB // 2, 0.0, 0.1)
        receiver.consume(MIB // 2, 0, 0.0, 0.1)
    assert receiver.size == STEP * MIB
    receiver.arrive(32 * KIB, 0.0, 0.1)
    receiver.consume(32 * KIB, MIB // 4, 0.0, 0.1)
    assert receiver.due
    receiver.tell()
    receiver.arrive(32 * KIB, 0.0, 0.1)
    receiver.consume(32 * KIB, MIB // 4, 0.0, 0.1)
    assert not receiver.due, "now it knows that there is more"


@pytest.mark.parametrize("frames", [7, 8])
def test_lean_credit_is_no_more_than_was_given(frames: int) -> None:
    script = Script(capabilities=(Capability.LEAN,))
    script.open(2)
    for number in range(1, 8):
        script.give(FrameType.DATA, 2, number, batch(65000, 8180))
    if frames == 8:
        with pytest.raises(PeerError, match=r"DATA 8 of stream 2.*exceed the credit"):
            script.give(FrameType.DATA, 2, 8, batch(65000, 8180))


def test_the_peer_may_use_its_credit_to_the_last_byte_and_not_beyond() -> None:
    script = Script()
    script.open(2)
    script.data(2, 1, 65536 - 256)
    with pytest.raises(PeerError, match=r"DATA 2 of stream 2.*257 exceed the credit: 65536 of 65536 were used"):
        script.data(2, 2, 1)


def test_tiny_frames_cost_what_they_take_to_keep() -> None:
    script = Script()
    script.open(2)
    for number in range(1, 256):
        script.data(2, number, 1)
    with pytest.raises(PeerError, match="exceed the credit"):
        script.data(2, 256, 1)


def test_sending_beyond_the_credit_is_our_own_mistake() -> None:
    script = Script()
    script.accepted(1)
    with pytest.raises(Misuse):
        script.tunnel.streams.send_data(1, batch(65536 - 255), 65536 - 255)
    script.tunnel.streams.send_data(1, batch(65536 - 256), 65536 - 256)


def test_however_much_a_peer_allows_no_more_than_our_own_largest_window_is_under_way() -> None:
    """What its array has not taken stays here to be asked for: a peer that takes nothing would have us keep it all."""
    script = Script(window_max=MIB)
    script.accepted(1)
    script.credit(1, 0, (1 << 64) - 1)
    sent, number = 0, 1
    while (plain := script.tunnel.streams.sendable(1)) and sent < 4 * MIB:
        script.tunnel.streams.send_data(1, batch(plain), plain)
        sent, number = sent + plain, number + 1
        script.take()
        script.acknowledge(1, number)
    assert MIB - 64 * KIB < sent < MIB
    script.credit(1, cost_of(PLAIN_MAX, 12, lean=False), (1 << 64) - 1)
    assert 0 < script.tunnel.streams.sendable(1) <= PLAIN_MAX, "what was taken makes room"


def test_nothing_is_consumed_that_has_not_come() -> None:
    script = Script()
    script.open(2)
    script.data(2, 1, 100)
    script.tunnel.streams.consumed(2)
    with pytest.raises(Misuse, match="more DATA was consumed than has arrived"):
        script.tunnel.streams.consumed(2)


def test_what_is_consumed_is_what_came_first() -> None:
    script = Script()
    script.open(2)
    for number, plain in enumerate((20_000, 100, 30_000), 1):
        script.data(2, number, plain)
    script.flush()
    consumed = 0
    for plain in (20_000, 100, 30_000):
        script.tunnel.streams.consumed(2)
        consumed += plain + 256
        script.at(script.now + 1.0)
        assert f"CREDIT 2:{consumed}/{consumed + 64 * KIB}" in script.take()


def test_a_window_grows_while_the_array_takes_one_in_less_than_two_round_trips() -> None:
    receiver = window(WindowBudget(256 * MIB))
    now = pass_through(receiver, 10 * MIB, 0.0, 100 * MIB)
    assert receiver.size == STEP**2 * MIB
    pass_through(receiver, 200 * MIB, now, 1000 * MIB)
    assert receiver.size == 64 * MIB


def test_a_slow_array_keeps_its_window() -> None:
    receiver = window(WindowBudget(256 * MIB))
    pass_through(receiver, 20 * MIB, 0.0, 4 * MIB)
    assert receiver.size == MIB


def test_a_pause_of_the_source_is_not_held_against_the_array() -> None:
    receiver = window(WindowBudget(256 * MIB))
    now = 0.0
    for _ in range(4):
        now = pass_through(receiver, MIB, now + 10.0, 100 * MIB)
    assert receiver.size == STEP * MIB


def test_on_a_lan_windows_grow_as_if_the_round_trip_were_5_ms() -> None:
    receiver = window(WindowBudget(256 * MIB))
    pass_through(receiver, 8 * MIB, 0.0, 1000 * MIB, round_trip=0.0001)
    assert receiver.size == STEP**2 * MIB


@pytest.mark.parametrize(("initial", "grown"), [(96 * KIB, 384 * KIB), (240 * KIB, 960 * KIB), (256 * KIB, 256 * KIB)])
def test_a_small_window_has_200_ms_to_be_used_up(initial: int, grown: int) -> None:
    """Many streams that take turns use one up in each turn, and a turn comes round only so often."""
    receiver = window(WindowBudget(64 * MIB), initial)
    pass_through(receiver, initial, 0.0, rate=initial / 0.15, round_trip=0.001)
    assert receiver.size == grown


@pytest.mark.parametrize("maximum", [96 * KIB, 256 * KIB])
def test_a_small_window_grows_no_further_than_a_window_may(maximum: int) -> None:
    receiver = window(WindowBudget(64 * MIB), 96 * KIB, maximum)
    pass_through(receiver, MIB, 0.0, rate=96 * KIB / 0.15, round_trip=0.001)
    assert receiver.size == maximum


def test_a_small_window_stays_small_if_the_array_takes_longer_than_200_ms() -> None:
    receiver = window(WindowBudget(64 * MIB), 96 * KIB)
    pass_through(receiver, MIB, 0.0, rate=96 * KIB / 0.25, round_trip=0.001)
    assert receiver.size == 96 * KIB


def test_many_small_windows_leave_room_for_one_that_has_to_be_wide() -> None:
    """When they took all growth a stream beside 100 that sent 0.6 MB/s each had 57 MB/s over 20 ms instead of 439."""
    budget = WindowBudget(192 * MIB)
    many = [window(budget, 96 * KIB) for _ in range(300)]
    for receiver in many:
        pass_through(receiver, MIB, 0.0, rate=96 * KIB / 0.19, round_trip=0.001)
    assert sum(receiver.size > 96 * KIB for receiver in many) > 200
    assert budget.growers == 0
    assert not budget.short
    busy = window(budget, 96 * KIB)
    pass_through(busy, 64 * MIB, 0.0, rate=1000 * MIB, round_trip=0.02)
    assert busy.size >= 12 * MIB
    for receiver in (busy, *many):
        receiver.close()
    assert budget.reserved == budget.grown == budget.opening == 0


def test_where_a_long_step_does_not_fit_a_window_doubles() -> None:
    receiver = window(WindowBudget(4 * MIB))
    pass_through(receiver, MIB, 0.0, 1000 * MIB)
    assert receiver.size == 2 * MIB


def test_what_is_promised_never_exceeds_the_memory() -> None:
    budget = WindowBudget(16 * MIB)
    first, second = window(budget), window(budget)
    for now in range(20):
        pass_through(first, 8 * MIB, now, 1000 * MIB)
        pass_through(second, 8 * MIB, now + 0.5, 1000 * MIB)
        promised = sum(each.limit - each.consumed for each in (first, second))
        assert promised <= budget.reserved <= 16 * MIB
    assert first.size + second.size > 2 * MIB


def test_growth_leaves_room_for_new_streams() -> None:
    budget = WindowBudget(16 * MIB)
    greedy = window(budget)
    pass_through(greedy, 100 * MIB, 0.0, 1000 * MIB)
    assert greedy.size == 9 * MIB
    assert sum(budget.reserve(MIB) for _ in range(20)) == 16 - 9
    assert budget.reserved == 16 * MIB


def test_who_came_first_shares_with_who_came_later() -> None:
    budget = WindowBudget(32 * MIB)
    first = window(budget)
    now = pass_through(first, 100 * MIB, 0.0, 1000 * MIB)
    assert first.size == 17 * MIB
    second = window(budget)
    for _ in range(20):
        now = pass_through(second, 4 * MIB, now, 1000 * MIB)
        now = pass_through(first, 16 * MIB, now, 1000 * MIB)
    assert second.size >= 4 * MIB
    assert first.size <= 8 * MIB + MIB


def test_a_stream_that_ends_gives_everything_back() -> None:
    budget = WindowBudget(32 * MIB)
    first = window(budget)
    pass_through(first, 100 * MIB, 0.0, 1000 * MIB)
    first.close()
    assert (budget.reserved, budget.grown, budget.streams) == (0, 0, 0)


def test_the_limit_is_never_lowered() -> None:
    budget = WindowBudget(32 * MIB)
    first = window(budget)
    now = pass_through(first, 100 * MIB, 0.0, 1000 * MIB)
    now = pass_through(window(budget), 8 * MIB, now, 1000 * MIB)
    limits = [first.limit]
    for _ in range(2000):
        now = pass_through(first, 16 * KIB, now, 1000 * MIB)
        assert not budget.grow(32 * MIB)
        limits.append(first.tell()[1])
    assert limits == sorted(limits)
    assert first.size < 16 * MIB


def test_a_tunnel_counts_what_it_has_promised() -> None:
    script = Script(memory=MIB)
    script.open(2)
    script.tunnel.streams.open("array", "")
    assert script.tunnel.figures.credit_bytes == 2 * 64 * KIB


def test_what_has_ended_leaves_its_window_to_others() -> None:
    """Also while its array takes the rest, and for as long as the other direction goes on."""
    budget = WindowBudget(64 * MIB)
    first, other = window(budget), window(budget)
    assert first.widen(8 * MIB)
    pass_through(first, 64 * MIB, 0.0, 1e9)
    assert budget.room <= MIB, "it has all that may grow"
    first.arrive(MIB, 1.0, 0.1)
    told = first.tell()[1]
    first.end()
    assert (budget.room, budget.opening) == (32 * MIB, 0)
    first.consume(MIB, MIB, 1.0, 0.1)
    assert first.tell() == (first.arrived, told), "nothing more may come"
    pass_through(other, 64 * MIB, 1.0, 1e9)
    assert other.size > 16 * MIB
    for each in (first, other):
        each.close()
    assert (budget.reserved, budget.grown, budget.opening, budget.growers) == (0, 0, 0, 0)


def test_what_has_come_before_the_end_counts_until_it_is_taken() -> None:
    budget = WindowBudget(64 * MIB)
    one = window(budget)
    assert one.widen(4 * MIB)
    one.tell()
    one.arrive(3 * MIB, 0.0, 0.1)
    one.end()
    assert budget.reserved == 3 * MIB
    one.consume(MIB, MIB, 0.0, 0.1)
    assert budget.reserved == 2 * MIB
    one.consume(2 * MIB, 2 * MIB, 0.0, 0.1)
    assert budget.reserved == MIB, "the initial credit, until it is over"


def test_what_would_follow_the_end_behind_a_gap_is_not_kept() -> None:
    """There is no room for it in the budget, and it could never be delivered."""
    script = Script()
    script.open(2)
    script.tunnel.streams.accept(2)
    script.give(FrameType.END, 2, 1, encode_end(0, b""))
    with pytest.raises(PeerError, match="DATA 3 of stream 2 broke the protocol: it comes after END"):
        script.give(FrameType.DATA, 2, 3, batch(100, 100))
