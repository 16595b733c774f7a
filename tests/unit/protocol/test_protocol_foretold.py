"""Credit for streams that are not open yet."""

import pytest

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.foretold import HEARD_MAX, Foretelling, Foretold
from proxy.protocol.frames import NUMBER_MAX, OVER, encode_credit
from proxy.protocol.window import ReceiveWindow, WindowBudget
from tests.unit.protocol.playbook import Script

KIB, MIB = 1 << 10, 1 << 20
INITIAL = 64 * KIB


def test_the_first_stream_is_told_of_with_the_state() -> None:
    script = Script(opening_window=4 * MIB)
    script.join(2, ready=False)
    assert f"CREDIT 2:0/{INITIAL + 2 * MIB}" in script.take(2)


def test_what_was_foretold_may_be_sent_before_the_stream_is_accepted() -> None:
    script = Script(opening_window=4 * MIB)
    script.open(2)
    for number in range(1, 9):
        script.data(2, number, 256 * KIB - 256)
    script.data(2, 9, 64 * KIB - 256)
    with pytest.raises(PeerError, match=r"DATA 10 of stream 2.*exceed the credit"):
        script.data(2, 10, 1)


def test_each_stream_has_the_next_foretold() -> None:
    script = Script(opening_window=4 * MIB, allowed=100)
    script.open(2)
    wide = INITIAL + 2 * MIB
    assert f"CREDIT 2:0/{wide} 4:0/{wide}" in script.take(), "and what it may not have heard"
    script.open(4)
    assert f"CREDIT 4:0/{wide} 6:0/{wide}" in script.take()


def test_a_stream_of_ours_begins_with_what_was_foretold() -> None:
    script = Script()
    script.give(FrameType.CREDIT, 0, 0, encode_credit([(1, 0, MIB), (2, 0, MIB)]))
    assert script.tunnel.streams.open("array", "") == 1
    script.send(1, 500 * KIB)
    assert script.tunnel.streams.sendable(1) > 500 * KIB
    assert script.tunnel.streams.open("array", "") == 3
    assert script.tunnel.streams.sendable(3) == INITIAL - 256


def test_nothing_was_consumed_of_a_stream_that_was_never_opened() -> None:
    with pytest.raises(PeerError, match="stream 1 was never opened"):
        Script().give(FrameType.CREDIT, 0, 0, encode_credit([(1, 1, MIB)]))


def test_a_number_that_is_given_up_gives_back_what_was_foretold() -> None:
    script = Script(opening_window=4 * MIB)
    before = script.tunnel.figures.credit_bytes
    assert before == 2 * MIB
    script.reset(2, 0)
    assert f"CREDIT 4:0/{INITIAL + 2 * MIB}" in script.take()
    assert script.tunnel.figures.credit_bytes == 2 * MIB


def test_however_many_numbers_are_given_up_as_much_is_foretold() -> None:
    script = Script(opening_window=4 * MIB, memory=16 * MIB)
    told = []
    for number in range(2, 100, 2):
        script.reset(number, 0)
        told.append(script.tunnel.figures.foretold_bytes)
    assert set(told) == {2 * MIB}


def test_a_refused_stream_gives_it_back() -> None:
    script = Script(opening_window=4 * MIB)
    script.tunnel.drain("maintenance")
    script.open(2)
    assert script.tunnel.figures.credit_bytes == 2 * MIB, "of the next one, should there be one"


def test_when_a_stream_that_we_have_reset_is_over_there_is_to_spare_again() -> None:
    """Its array was gone, say. The next stream was told of when another one began or ended, and not before."""
    script = Script(opening_window=4 * MIB, memory=MIB)
    script.open(2)
    script.open(4)
    assert " 6:" not in " ".join(script.take())
    script.tunnel.streams.reset(2, ResetCode.ORIGIN_RESET, "gone")
    script.take()
    script.acknowledge(2, OVER)
    assert script.take() == [f"CREDIT 6:0/{INITIAL + 96 * KIB}"]


def test_what_is_foretold_is_repeated_when_a_lane_was_lost() -> None:
    script = Script(opening_window=4 * MIB)
    script.open(2)
    script.take()
    script.another(2)
    script.tunnel.lane_down(1, 0.0)
    assert f"4:0/{INITIAL + 2 * MIB}" in " ".join(script.take(2))


def test_it_is_not_repeated_for_each_lane_that_goes_where_no_stream_lives() -> None:
    """Who opens a stream all the same, without having heard, is told then."""
    script = Script(opening_window=4 * MIB)
    script.another(2)
    script.tunnel.lane_down(1, 0.0)
    assert script.take(2) == []
    script.open(2, lane=2)
    assert f"CREDIT 2:0/{INITIAL + 2 * MIB} 4:" in " ".join(script.take(2))


def test_nothing_is_foretold_behind_the_last_number() -> None:
    foretelling = Foretelling(WindowBudget(64 * MIB), INITIAL, 8 * MIB)
    assert not foretelling.speak(NUMBER_MAX + 1)
    assert foretelling.speak(NUMBER_MAX)


def test_what_is_foretold_is_half_of_what_is_to_spare() -> None:
    budget = WindowBudget(64 * MIB)
    foretelling = Foretelling(budget, INITIAL, 128 * MIB)
    windows = []
    for stream in range(2, 100, 2):
        foretelling.speak(stream)
        assert budget.reserve(INITIAL)
        windows.append(ReceiveWindow(budget, INITIAL, 64 * MIB, foretelling.met(stream)))
    assert [window.limit - INITIAL for window in windows[:3]] == [8 * MIB, 4 * MIB, 2 * MIB]
    assert windows[-1].limit == INITIAL
    assert budget.reserved == sum(window.limit for window in windows)
    for window in windows:
        window.close()
    assert (budget.reserved, budget.grown, budget.opening, budget.streams) == (0, 0, 0, 0)


def test_it_is_said_once() -> None:
    foretelling = Foretelling(WindowBudget(64 * MIB), INITIAL, 8 * MIB)
    assert foretelling.entries == []
    assert foretelling.speak(2)
    assert not foretelling.speak(2)
    assert not foretelling.speak(4), "while 2 may still come, by another lane"
    assert foretelling.entries == [(2, 0, INITIAL + 4 * MIB)]


def test_where_memory_is_small_nothing_is_foretold() -> None:
    assert not Foretelling(WindowBudget(4 * INITIAL), INITIAL, 64 * MIB).speak(2)


def test_a_peer_that_foretells_without_end_is_not_remembered() -> None:
    foretold = Foretold()
    for stream in range(1, 10_000, 2):
        foretold.heard(stream, MIB)
    assert foretold.opened(1) == MIB
    assert foretold.opened(1) == 0
    assert foretold.opened(2 * HEARD_MAX + 1) == 0


def test_limits_only_rise() -> None:
    foretold = Foretold()
    foretold.heard(1, 2 * MIB)
    foretold.heard(1, MIB)
    assert foretold.opened(1) == 2 * MIB
