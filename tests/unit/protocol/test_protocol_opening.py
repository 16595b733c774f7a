"""Windows of streams that have just been opened: wide at once, out of what is to spare."""

from proxy.protocol.codes import FrameType
from proxy.protocol.notices import CREDIT_SOON
from proxy.protocol.window import OPENING_PART, STEP, ReceiveWindow, WindowBudget
from tests.unit.protocol.playbook import Script
from tests.unit.protocol.windows import MIB, use_up, window

INITIAL = 256 << 10


def opened(budget: WindowBudget, maximum: int = 64 * MIB) -> ReceiveWindow:
    one = window(budget, INITIAL, maximum)
    one.widen(16 * MIB)
    return one


def test_the_first_streams_begin_wide_and_later_ones_with_less() -> None:
    budget = WindowBudget(64 * MIB)
    sizes = [opened(budget).size for _ in range(100)]
    assert sizes[0] == INITIAL + 8 * MIB
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == INITIAL
    assert budget.grown <= budget.total // OPENING_PART, "the rest is for those that use it"
    assert budget.reserved <= budget.total
    assert not budget.short, "nothing was denied to anybody who needed it"


def test_it_is_no_more_than_the_stream_may_have() -> None:
    assert opened(WindowBudget(128 * MIB), maximum=MIB).size == MIB
    assert opened(WindowBudget(MIB), maximum=64 * MIB).size == INITIAL


def test_what_was_to_spare_comes_back_with_the_end() -> None:
    budget = WindowBudget(128 * MIB)
    opened(budget).close()
    assert (budget.grown, budget.opening, budget.reserved, budget.streams) == (0, 0, 0, 0)


def test_so_does_what_was_waived() -> None:
    budget = WindowBudget(128 * MIB)
    one = opened(budget)
    one.tell()
    one.waive(one.limit - INITIAL)
    assert (budget.grown, budget.opening) == (0, 0)
    one.close()
    assert (budget.grown, budget.opening, budget.reserved, budget.streams) == (0, 0, 0, 0)


def test_idle_streams_do_not_keep_a_busy_one_from_growing() -> None:
    budget = WindowBudget(128 * MIB)
    for _ in range(31):
        opened(budget)
    busy = opened(budget)
    use_up(busy, 10)
    assert busy.size >= 32 * MIB


def test_a_window_is_pressed_once_until_the_peer_is_told() -> None:
    budget = WindowBudget(128 * MIB)
    one = window(budget, INITIAL)
    one.arrive(INITIAL, 1.0, 0.1)
    assert one.press(INITIAL)
    assert not one.press(INITIAL)
    assert one.size == STEP * INITIAL


def test_a_window_that_has_just_been_opened_is_not_pressed_before_the_peer_was_told() -> None:
    """Found with 32 streams at once: the first one had half of the memory after its first batch."""
    budget = WindowBudget(128 * MIB)
    one = opened(budget)
    opened(budget)
    size = one.size
    one.arrive(INITIAL, 1.0, 0.1)
    one.consume(INITIAL, INITIAL, 1.0, 0.1)
    assert not one.press(0)
    assert one.size == size
    one.tell()
    one.arrive(size, 1.0, 0.1)
    one.consume(size, size, 11.0, 0.1)
    assert one.press(0)


def test_a_window_that_has_just_been_opened_is_pressed_if_no_other_is() -> None:
    """Over a long line a single stream has what it needs a round trip sooner."""
    one = opened(WindowBudget(128 * MIB))
    size = one.size
    one.arrive(INITIAL, 1.0, 0.1)
    one.consume(INITIAL, INITIAL, 1.0, 0.1)
    assert one.press(0)
    assert one.size > size


def test_the_peer_is_told_with_the_acceptance() -> None:
    script = Script(opening_window=MIB)
    script.open(2)
    script.tunnel.streams.accept(2)
    assert script.take() == ["ACK 2:1", f"CREDIT 2:0/{MIB} 4:0/{INITIAL // 4 + MIB // 2}", "ACCEPT 2#0"]


def test_the_acceptor_is_told_when_it_has_accepted() -> None:
    script = Script(opening_window=MIB)
    number = script.tunnel.streams.open("array", "10.0.0.2")
    script.take()
    script.acknowledge(number, 1)
    script.give(FrameType.ACCEPT, number, 0)
    assert script.take() == [], "it can wait for a few milliseconds"
    script.at(CREDIT_SOON)
    assert script.take() == [f"ACK {number}:1", f"CREDIT {number}:0/{MIB}"]


def test_it_hears_nothing_of_a_stream_that_ends_at_once() -> None:
    """Storage is asked for its health by thousands of short connections, each of which cost such a frame."""
    script = Script(opening_window=MIB)
    number = script.tunnel.streams.open("array", "10.0.0.2")
    script.take()
    script.give(FrameType.ACCEPT, number, 0)
    assert script.take() == []
    script.reset(number, 1)
    script.at(CREDIT_SOON)
    assert script.take() == [f"ACK {number}:over"]


def test_a_window_that_the_line_has_used_up_grows() -> None:
    """All that came has been taken, or waits behind a gap: more may be under way."""
    budget = WindowBudget(128 * MIB)
    one = window(budget, INITIAL)
    one.arrive(INITIAL - 1000, 1.0, 0.1)
    assert not one.press(0), "the array has not taken it"
    assert one.press(INITIAL - 1000), "it is not the array that it waits for"
    assert one.size == STEP * INITIAL
    assert one.tell() == (0, STEP * INITIAL)
    assert not one.press(INITIAL - 1000), "there is room now"


def test_gaps_make_room_for_what_other_lanes_bring() -> None:
    script = Script()
    script.open(2)
    assert script.data(2, 2, 63_000) == []
    assert script.take() == ["ACK 2:1", "CREDIT 2:0/262144"]
    assert script.data(2, 3, 180_000) == []
    assert "CREDIT 2:0/1048576" in " ".join(script.take())


def test_what_came_ahead_of_a_gap_that_has_closed_waits_for_the_array() -> None:
    """More under way would only wait there, too."""
    script = Script()
    script.open(2)
    script.data(2, 2, 63_000)
    assert script.take() == ["ACK 2:1", "CREDIT 2:0/262144"]
    script.data(2, 1, 10)
    assert script.data(2, 4, 180_000) == []
    assert script.take() == []
