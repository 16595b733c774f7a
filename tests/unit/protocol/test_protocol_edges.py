"""Flow control exactly at its bounds: what is allowed to the last byte, and what a window may still call its own.

Times are binary fractions, so that their sums are exact.
"""

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.credit import DATA_OVERHEAD, SendCredit, Trust
from proxy.protocol.errors import PeerError
from proxy.protocol.incoming import Incoming, KeptLedger
from proxy.protocol.outgoing import ROOM_MIN, UNCREDITED_BYTES, Outgoing, SendLedger
from proxy.protocol.reader import Frame
from proxy.protocol.window import SMALL_PACE, SMALL_WINDOW, STEP, WindowBudget
from tests.unit.protocol.windows import KIB, MIB, pass_through, window

ROUND_TRIP = 0.25


def test_a_peer_that_allows_nothing_beyond_what_was_consumed_is_no_fault() -> None:
    """It has had END, and its credit was used up to the last byte."""
    credit = SendCredit(1000, MIB, Trust(0))
    credit.spend(1000, 1000)
    assert credit.update(1000, 1000)
    assert credit.cost_room < 0


def test_what_all_streams_may_have_under_way_is_a_bound_for_the_next_frame() -> None:
    trust = Trust(1000)
    trust.prove(1000)
    credit = SendCredit(MIB, MIB, trust)
    credit.spend(300, 999)
    assert trust.wide
    credit.spend(300, 1)
    assert not trust.wide


@pytest.mark.parametrize(("credit", "room"), [(ROOM_MIN, ROOM_MIN), (ROOM_MIN - 1, 0)])
def test_a_stream_lacks_credit_where_it_has_no_room(credit: int, room: int) -> None:
    """Or it would rest, and wait for nothing."""
    one = Outgoing(SendLedger(64 * MIB), SendCredit(credit + DATA_OVERHEAD, MIB, Trust(0)), lean=False)
    assert (one.room, one.starved) == (room, not room)


@pytest.mark.parametrize(("total", "size"), [(8 * MIB, 2 * MIB), (8 * MIB - 4, MIB)])
def test_a_window_that_has_just_been_opened_is_doubled_at_least_or_left_alone(total: int, size: int) -> None:
    one = window(WindowBudget(total))
    assert one.widen(64 * MIB) is (size > MIB)
    assert one.size == size


@pytest.mark.parametrize(("left", "waiting"), [(0, 0), (1, 0), (0, 1)])
def test_an_eighth_of_the_window_is_nearly_all_of_it(left: int, waiting: int) -> None:
    one = window(WindowBudget(64 * MIB))
    arrived = MIB - MIB // 8 - left
    one.arrive(arrived, 0.0, ROUND_TRIP)
    one.consume(arrived - MIB // 8 - waiting, 0, ROUND_TRIP, ROUND_TRIP)
    assert one.press(0) is (left == waiting == 0)


def test_a_window_that_cannot_grow_is_not_told() -> None:
    budget = WindowBudget(64 * MIB)
    assert budget.grow(32 * MIB), "others have all that there is"
    one = window(budget)
    one.arrive(MIB, 0.0, ROUND_TRIP)
    assert not one.press(MIB)


@pytest.mark.parametrize(("took", "size"), [(2 * ROUND_TRIP, MIB), (2 * ROUND_TRIP - 2**-10, STEP * MIB)])
def test_two_round_trips_for_a_window_are_too_long(took: float, size: int) -> None:
    one = window(WindowBudget(64 * MIB))
    one.arrive(MIB, 0.0, ROUND_TRIP)
    one.consume(MIB, MIB, took, ROUND_TRIP)
    assert one.size == size


@pytest.mark.parametrize(("silent", "size"), [(2 * ROUND_TRIP, MIB), (2 * ROUND_TRIP + 2**-10, STEP * MIB)])
def test_a_source_that_is_silent_for_longer_than_that_pauses(silent: float, size: int) -> None:
    """The array is timed anew from there."""
    one = window(WindowBudget(64 * MIB))
    one.arrive(MIB // 2, 0.0, ROUND_TRIP)
    one.consume(MIB // 2, MIB // 2, 0.0, ROUND_TRIP)
    one.arrive(MIB // 2, silent, ROUND_TRIP)
    one.consume(MIB // 2, MIB // 2, silent, ROUND_TRIP)
    one.tell()
    one.arrive(MIB // 2, silent, ROUND_TRIP)
    one.consume(MIB // 2, MIB // 2, silent + 2**-10, ROUND_TRIP)
    assert one.size == size


@pytest.mark.parametrize(("took", "size"), [(SMALL_PACE, 96 * KIB), (SMALL_PACE - 2**-10, SMALL_WINDOW)])
def test_a_small_window_has_less_than_200_ms(took: float, size: int) -> None:
    one = window(WindowBudget(64 * MIB), 96 * KIB)
    one.arrive(96 * KIB, 0.0, 0.001)
    one.consume(96 * KIB, 96 * KIB, took, 0.001)
    assert one.size == size


@pytest.mark.parametrize(("initial", "grown"), [(SMALL_WINDOW, 2 * SMALL_WINDOW), (SMALL_WINDOW - 4, SMALL_WINDOW)])
def test_a_turn_that_comes_late_is_a_pause_to_a_window_that_is_not_small(initial: int, grown: int) -> None:
    budget = WindowBudget(2 * initial)
    one = window(budget, initial)
    half = initial // 2
    for now in (0.0, 0.125):
        one.arrive(half, now, 0.001)
        one.consume(half, half, now, 0.001)
        one.tell()
    one.arrive(half, 0.125, 0.001)
    one.consume(half, half, 0.125, 0.001)
    assert one.size == grown


@pytest.mark.parametrize(("total", "size"), [(6 * MIB, STEP * MIB), (6 * MIB - 2, 2 * MIB)])
def test_a_long_step_may_take_all_that_is_left(total: int, size: int) -> None:
    one = window(WindowBudget(total))
    pass_through(one, MIB, 0.0, 1000 * MIB)
    assert one.size == size


def test_a_window_that_may_not_grow_has_no_part_in_growth() -> None:
    budget = WindowBudget(64 * MIB)
    pass_through(window(budget, MIB, MIB), 8 * MIB, 0.0, 1000 * MIB)
    assert budget.growers == 0


def test_a_window_that_is_as_large_as_it_may_be_is_denied_nothing() -> None:
    """Others would be asked for their credit in vain, again and again."""
    budget = WindowBudget(64 * MIB)
    one = window(budget, MIB, 2 * MIB)
    now = pass_through(one, MIB, 0.0, 1000 * MIB)
    assert one.size == 2 * MIB
    assert not budget.grow(64 * MIB), "others are"
    budget.denied = False
    pass_through(one, 8 * MIB, now, 1000 * MIB)
    assert not budget.denied


def test_a_small_window_that_is_as_large_as_it_may_be_shares_as_others_do() -> None:
    budget = WindowBudget(64 * MIB)
    one = window(budget, 64 * KIB, 128 * KIB)
    now = pass_through(one, 64 * KIB, 0.0, 1000 * MIB)
    assert one.size == 128 * KIB
    budget.growers += 1023
    assert not budget.grow(64 * MIB), "they are denied it"
    pass_through(one, 128 * KIB, now, rate=128 * KIB / 0.15, round_trip=0.001)
    assert one.size == 96 * KIB


@pytest.mark.parametrize(("beyond", "size"), [(0, SMALL_WINDOW), (1, 64 * KIB)])
def test_an_eighth_of_the_memory_to_the_last_byte_is_not_for_small_windows(beyond: int, size: int) -> None:
    budget = WindowBudget(64 * MIB)
    one = window(budget, 64 * KIB, 16 * MIB)
    assert budget.grow(budget.plenty - (SMALL_WINDOW - 64 * KIB) + beyond)
    pass_through(one, 64 * KIB, 0.0, rate=64 * KIB / 0.15, round_trip=0.001)
    assert one.size == size


def test_as_much_waits_behind_gaps_as_an_honest_peer_sends() -> None:
    incoming = Incoming(KeptLedger(), window(WindowBudget(64 * MIB)), lean=False)
    frames = UNCREDITED_BYTES // MIB
    for number in range(1, frames + 1):
        incoming.keep(Frame(FrameType.FILL, 1, number, bytes(MIB)), 0)
    with pytest.raises(PeerError, match="too much came ahead of frame 0"):
        incoming.keep(Frame(FrameType.FILL, 1, frames + 1, b"x"), 0)
