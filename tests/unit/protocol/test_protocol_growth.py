"""Windows grow with what the array takes, share what there is, and give it back."""

import pytest

from proxy.protocol.window import SMALL_WINDOW as SMALL
from proxy.protocol.window import STEP, WindowBudget
from tests.unit.protocol.windows import KIB, MIB, pass_through, window


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


@pytest.mark.parametrize(("round_trip", "pause"), [(0.1, 10.0), (0.05, 0.15)])
def test_a_pause_of_the_source_is_not_held_against_the_array(round_trip: float, pause: float) -> None:
    receiver = window(WindowBudget(256 * MIB))
    now = pass_through(receiver, MIB // 2, 0.0, 100 * MIB, round_trip)
    pass_through(receiver, MIB, now + pause, 100 * MIB, round_trip)
    assert receiver.size == STEP * MIB


def test_on_a_lan_windows_grow_as_if_the_round_trip_were_5_ms() -> None:
    receiver = window(WindowBudget(256 * MIB))
    pass_through(receiver, 8 * MIB, 0.0, 1000 * MIB, round_trip=0.0001)
    assert receiver.size == STEP**2 * MIB


@pytest.mark.parametrize(("initial", "grown"), [(96 * KIB, SMALL), (SMALL - 32 * KIB, SMALL), (SMALL, SMALL)])
def test_a_small_window_has_200_ms_to_be_used_up(initial: int, grown: int) -> None:
    """Many streams that take turns use one up in each turn, and a turn comes round only so often."""
    receiver = window(WindowBudget(64 * MIB), initial)
    pass_through(receiver, initial, 0.0, rate=initial / 0.15, round_trip=0.006)
    assert receiver.size == grown


@pytest.mark.parametrize("maximum", [96 * KIB, 256 * KIB])
def test_a_small_window_grows_no_further_than_a_window_may(maximum: int) -> None:
    receiver = window(WindowBudget(64 * MIB), 96 * KIB, maximum)
    pass_through(receiver, MIB, 0.0, rate=96 * KIB / 0.15, round_trip=0.001)
    assert receiver.size == maximum


def test_a_small_window_that_is_used_up_at_once_grows_as_others_do() -> None:
    """It takes nothing from streams that are opened, and has its part where growth is shared out."""
    budget = WindowBudget(64 * MIB)
    receiver = window(budget, 96 * KIB)
    pass_through(receiver, 96 * KIB, 0.0, 1000 * MIB)
    assert receiver.size == STEP * 96 * KIB
    assert (budget.opening, budget.growers) == (0, 1)


@pytest.mark.parametrize("size", [0, 8 * MIB], ids=["when used up in its turn", "when opened"])
def test_what_a_window_was_given_without_need_gives_it_no_part_in_growth(size: int) -> None:
    """However long the stream goes on like that; it would be lacking to those that need it."""
    budget = WindowBudget(64 * MIB)
    receiver = window(budget, 96 * KIB)
    assert receiver.widen(size) == (size > 0)
    now = pass_through(receiver, 96 * KIB, 0.0, rate=96 * KIB / 0.1, round_trip=0.01)
    grown = receiver.size
    assert grown > 96 * KIB
    pass_through(receiver, 4 * grown, now, rate=grown / 0.3, round_trip=0.01)
    assert (receiver.size, budget.growers, budget.opening) == (grown, 0, grown - 96 * KIB)


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
    assert 0 <= budget.room - 24 * MIB < SMALL - 96 * KIB, "an eighth of the memory"
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


def test_who_has_more_than_an_even_part_loses_half_at_a_time() -> None:
    budget = WindowBudget(32 * MIB)
    receiver = window(budget)
    now = pass_through(receiver, 100 * MIB, 0.0, 1000 * MIB)
    budget.growers += 3
    sizes = [receiver.size]
    for _ in range(4000):
        assert not budget.grow(32 * MIB), "they are denied it"
        now = pass_through(receiver, 16 * KIB, now, 1000 * MIB)
        if receiver.size != sizes[-1]:
            sizes.append(receiver.size)
    assert sizes == [17 * MIB, 17 * MIB // 2, 5 * MIB]


def test_a_stream_that_is_slow_is_denied_nothing() -> None:
    """Or those at rest would be asked for their credit in vain, again and again."""
    budget = WindowBudget(16 * MIB)
    receiver = window(budget)
    now = pass_through(receiver, 100 * MIB, 0.0, 1000 * MIB)
    assert budget.short
    budget.denied = False
    now = pass_through(receiver, 20 * MIB, now, 4 * MIB)
    assert not budget.denied
    pass_through(receiver, 20 * MIB, now, 1000 * MIB)
    assert budget.denied


def test_who_gives_back_a_part_has_no_part_in_growth_until_it_is_busy_again() -> None:
    budget = WindowBudget(64 * MIB)
    receiver = window(budget)
    now = pass_through(receiver, 100 * MIB, 0.0, 1000 * MIB)
    assert budget.growers == 1
    assert [receiver.rests() for _ in range(2)] == [False, True]
    receiver.waive(MIB)
    assert (budget.growers, receiver.size > MIB) == (0, True)
    pass_through(receiver, 64 * MIB, now, 1000 * MIB)
    assert budget.growers == 1


def test_what_was_waived_is_neither_told_nor_taken_for_speed() -> None:
    receiver = window(WindowBudget(64 * MIB))
    now = pass_through(receiver, 100 * MIB, 0.0, 1000 * MIB)
    receiver.tell()
    receiver.arrive(300 * KIB, now, 0.1)
    receiver.consume(300 * KIB, 300 * KIB, now, 0.1)
    receiver.waive(receiver.limit - receiver.consumed - MIB)
    assert receiver.size == MIB
    assert (receiver.untold, receiver.due) == (False, False), "the peer has said so itself"
    receiver.arrive(16 * KIB, now, 0.1)
    receiver.consume(16 * KIB, 16 * KIB, now, 0.1)
    assert receiver.size == MIB, "nobody has taken a window"


def test_a_stream_that_ends_gives_everything_back() -> None:
    budget = WindowBudget(32 * MIB)
    first = window(budget)
    pass_through(first, 100 * MIB, 0.0, 1000 * MIB)
    assert budget.short
    first.close()
    assert (budget.reserved, budget.grown, budget.streams, budget.short) == (0, 0, 0, False)


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
    assert (budget.room, budget.opening, budget.growers) == (32 * MIB, 0, 0)
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


def test_what_has_ended_asks_for_nothing_more() -> None:
    """Its array may take the rest at any speed: others would be asked for their credit, and have a smaller part."""
    budget = WindowBudget(64 * MIB)
    one = window(budget)
    assert budget.grow(32 * MIB), "others have all that there is"
    one.arrive(MIB, 0.0, 0.1)
    one.end()
    one.consume(MIB, MIB, 0.001, 0.1)
    assert (one.size, budget.denied, budget.growers) == (MIB, False, 0)
