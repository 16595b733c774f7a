"""A tunnel that lives is allotted more memory or less: the site has fewer peers or more, or its file says so."""

import pytest

from proxy.protocol.codes import ResetCode
from proxy.protocol.credit import Trust
from proxy.protocol.errors import Misuse, OpenRefused
from proxy.protocol.events import DataReceived, Recalled
from proxy.protocol.tunnel import Tunnel
from proxy.protocol.window import ReceiveWindow, WindowBudget
from tests.unit.protocol.playbook import Pair, Script, batch, events_of
from tests.unit.protocol.windows import KIB, MIB, pass_through, window

SPEED = 1e9


def allot(tunnel: Tunnel, *, memory: int = 64 * MIB, unacked_max: int = 64 * MIB, window_max: int = 96 * MIB) -> None:
    tunnel.allot(memory=memory, unacked_max=unacked_max, window_max=window_max)


def grown(budget: WindowBudget, count: int) -> list[ReceiveWindow]:
    """Windows that have grown by use as far as there is memory."""
    windows = [window(budget) for _ in range(count)]
    for _ in range(4):
        for each in windows:
            pass_through(each, 32 * MIB, 0.0, SPEED)
    return windows


def use(windows: list[ReceiveWindow], rate: float) -> None:
    """Each is used up some times, one after the other."""
    now = 1000.0
    for _ in range(8):
        for each in windows:
            now = pass_through(each, 2 * each.size, now, rate)


def test_windows_in_use_come_down_to_an_even_part() -> None:
    budget = WindowBudget(256 * MIB)
    windows = grown(budget, 4)
    assert budget.grown > 32 * MIB
    budget.total = 64 * MIB
    assert budget.room < 0
    use(windows, SPEED)
    assert not budget.overdrawn
    assert [each.size for each in windows] == [9 * MIB] * 4, "the initial credit, and a fourth of half of the memory"


def test_what_new_streams_were_given_comes_back_as_well() -> None:
    """Of streams that have not grown by use: they count as well then."""
    budget = WindowBudget(256 * MIB)
    windows = [window(budget) for _ in range(16)]
    for each in windows:
        each.widen(24 * MIB)
    assert (budget.grown, budget.growers) == (budget.opening, 0)
    budget.total = 32 * MIB
    use(windows, 4e6)
    assert budget.growers == 0
    assert not budget.overdrawn


def test_while_overdrawn_nothing_grows_and_nobody_is_let_in() -> None:
    budget = WindowBudget(256 * MIB)
    (one,) = grown(budget, 1)
    reserved = budget.reserved
    budget.total = 32 * MIB
    assert not budget.reserve(MIB)
    assert (budget.spare, budget.grow(KIB)) == (0, False)
    assert not one.widen(64 * MIB)
    assert budget.reserved == reserved
    budget.total = 256 * MIB
    assert budget.reserve(MIB)


def test_streams_at_rest_are_asked_for_what_they_do_not_use() -> None:
    """All but what was foretold for a stream to come: of that there is nobody to ask."""
    pair = Pair(initial_credit=64 * KIB, opening_window=8 * MIB, memory=64 * MIB)
    pair.dial(1)
    stream = pair.begin_stream(1)
    pair.left.streams.send_data(stream, batch(4 * KIB, 4 * KIB), 4 * KIB)
    pair.settle(1)
    pair.right.streams.consumed(stream)
    pair.settle(1)
    foretold = pair.right.figures.foretold_bytes
    assert pair.right.figures.credit_bytes > foretold + 4 * MIB
    allot(pair.right, memory=2 * MIB)
    for _ in range(3):
        pair.now += 3.0
        pair.right.tick(pair.now)
        pair.settle(1)
        for event in events_of(pair.left):
            if isinstance(event, Recalled):
                pair.left.streams.waive(event.stream, event.consumed, event.limit)
        pair.settle(1)
    assert pair.right.figures.credit_bytes == foretold + 64 * KIB


def test_the_credit_that_hello_offers_stays_until_the_tunnel_begins_anew() -> None:
    """Otherwise each further lane would be refused: "has changed its settings while streams live"."""
    pair = Pair(initial_credit=MIB, memory=64 * MIB, streams=16)
    pair.dial(1)
    before = pair.left.hello().initial_credit
    allot(pair.left, memory=4 * MIB)
    assert pair.left.hello().initial_credit == before
    pair.dial(2)
    pair.left.abandon(ResetCode.INTERNAL, "test", pair.now)
    assert pair.left.hello().initial_credit < before


def test_the_credit_that_hello_offers_stays_as_well_where_only_the_answerer_has_begun_anew() -> None:
    """The dialler keeps its half, and the answerer goes by the HELLO that named it: its next lane was refused
    otherwise, and a stream of the answerer that used what it was offered broke the protocol."""
    pair = Pair(initial_credit=MIB, memory=64 * MIB, streams=16)
    pair.dial(1)
    allot(pair.left, memory=4 * MIB)
    pair.left.lane_down(1, pair.now)
    pair.right.abandon(ResetCode.INTERNAL, "test", pair.now)
    pair.dial(2)
    pair.dial(3)
    pair.settle(2)
    stream = pair.right.streams.open("array", "")
    pair.right.streams.send_data(stream, batch(MIB // 2, MIB // 2), MIB // 2)
    pair.settle(2)
    assert DataReceived(stream, MIB // 2, batch(MIB // 2, MIB // 2)) in events_of(pair.left)


def test_less_may_be_unacknowledged_and_more_goes_at_once() -> None:
    script = Script(allowed=1, unacked_max=256 * KIB, memory=64 * MIB)
    stream = script.tunnel.streams.open("array", "")
    script.credit(stream, 0, 64 * MIB)
    room = script.tunnel.streams.sendable(stream)
    allot(script.tunnel, unacked_max=64 * KIB)
    less = script.tunnel.streams.sendable(stream)
    assert 0 < less < room
    allot(script.tunnel, unacked_max=256 * KIB)
    assert script.tunnel.streams.sendable(stream) == room


def test_a_peer_is_trusted_with_less_at_once() -> None:
    """Not only when it is looked again at what it turned out to have."""
    trust = Trust(8 * MIB)
    trust.prove(MIB)
    trust.under_way = 4 * MIB
    wide = [trust.wide]
    for most in (4 * MIB, 8 * MIB):
        trust.allot(most)
        wide.append(trust.wide)
    assert wide == [True, False, False]
    assert trust.prove(MIB), "with more it is once that was looked at"


def test_a_peer_s_part_is_at_least_one_credit() -> None:
    with pytest.raises(Misuse):
        allot(Script().tunnel, memory=1)


def test_no_more_streams_than_the_new_memory_has_room_for() -> None:
    script = Script(allowed=64, initial_credit=64 * KIB, memory=64 * MIB)
    allot(script.tunnel, memory=128 * KIB)
    for _ in range(2):
        script.tunnel.streams.open("array", "")
    with pytest.raises(OpenRefused, match="memory"):
        script.tunnel.streams.open("array", "")


def test_a_window_that_was_at_its_most_grows_on() -> None:
    one = window(WindowBudget(256 * MIB), MIB, 4 * MIB)
    pass_through(one, 32 * MIB, 0.0, SPEED)
    assert one.size == 4 * MIB
    one.allow(16 * MIB)
    pass_through(one, 32 * MIB, 1.0, SPEED)
    assert one.size == 16 * MIB
    one.allow(2 * MIB)
    pass_through(one, 64 * MIB, 2.0, SPEED)
    assert one.size == 2 * MIB


@pytest.mark.parametrize(("before", "after"), [(96 * MIB, MIB), (MIB, 96 * MIB)])
def test_what_is_foretold_goes_by_the_new_window(before: int, after: int) -> None:
    """But for the one stream that has been foretold already."""
    pair = Pair(initial_credit=64 * KIB, opening_window=8 * MIB, window_max=before, memory=256 * MIB)
    pair.dial(1)
    allot(pair.right, memory=256 * MIB, window_max=after)
    pair.begin_stream(1)
    assert pair.right.figures.foretold_bytes == min(8 * MIB, after) // 2


def test_a_window_that_began_with_more_than_it_may_have_comes_down() -> None:
    budget = WindowBudget(256 * MIB)
    budget.reserve(MIB)
    budget.advance(8 * MIB)
    one = ReceiveWindow(budget, MIB, 2 * MIB, foretold=8 * MIB)
    pass_through(one, 64 * MIB, 0.0, SPEED)
    assert one.size == 2 * MIB


def test_a_stream_that_lives_may_send_more_at_once_than_when_it_began() -> None:
    """What the peer has granted is known all along."""
    script = Script(allowed=1, window_max=MIB, memory=64 * MIB)
    stream = script.tunnel.streams.open("array", "")
    script.credit(stream, 0, 64 * MIB)

    def most() -> int:
        flow = script.tunnel.streams.flow(stream)
        assert flow is not None
        return flow.window

    assert most() == MIB
    allot(script.tunnel, window_max=8 * MIB)
    assert most() == 8 * MIB
