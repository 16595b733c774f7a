"""Stream numbers: odd and even, each once, in any order; what is over is not remembered."""

from types import SimpleNamespace
from typing import Any

import pytest

from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import OpenRefused, PeerError
from proxy.protocol.events import StreamOffered
from proxy.protocol.frames import NUMBER_MAX
from proxy.protocol.stream import State
from proxy.protocol.table import StreamTable
from tests.unit.protocol.playbook import Script, tunnel


def test_the_name_that_sorts_first_opens_odd_streams() -> None:
    script = Script()
    assert [script.tunnel.streams.open("array", "") for _ in range(3)] == [1, 3, 5]


def test_the_other_one_opens_even_streams() -> None:
    script = Script()
    right = tunnel("right", "left")
    right.join(script.tunnel.hello(), dialler=False, now=0.0)
    right.lane_up(1, 0.0)
    assert [right.streams.open("array", "") for _ in range(3)] == [2, 4, 6]


def test_names_sort_by_their_bytes() -> None:
    """U+10000 comes after U+FFFD in UTF-8, and before it in UTF-16."""
    first, second = "\ufffd", "\U00010000"
    for name, peer, stream in ((first, second, 1), (second, first, 2)):
        mine, theirs = tunnel(name, peer), tunnel(peer, name)
        mine.join(theirs.hello(), dialler=False, now=0.0)
        mine.lane_up(1, 0.0)
        assert mine.streams.open("array", "") == stream


@pytest.mark.parametrize("stream", [0, 1, 99])
def test_frames_of_our_own_streams_that_we_never_opened(stream: int) -> None:
    with pytest.raises(PeerError, match=f"DATA 0 of stream {stream}.*never opened"):
        Script().data(stream, 0, 1)


def test_numbers_come_in_any_order() -> None:
    script = Script(streams=8)
    for stream in (6, 2, 8, 4):
        assert script.open(stream) == [StreamOffered(stream, "array", "10.0.0.1")]


def test_numbers_that_may_be_missing_are_bounded() -> None:
    script = Script(streams=3)
    script.open(8)
    with pytest.raises(PeerError, match="it skips 1 numbers; at most 3 may be missing"):
        script.open(12)


def test_a_number_that_skips_everything_takes_no_memory() -> None:
    with pytest.raises(PeerError, match="skips 2147483646 numbers"):
        Script().open(NUMBER_MAX - 1)


def test_streams_that_are_over_stay_over_without_being_remembered() -> None:
    script = Script(streams=3)
    for stream in range(2, 4002, 2):
        script.open(stream)
        script.reset(stream, 1)
        script.take()
    for stream in (2, 2000, 4000):
        assert script.open(stream) == []
    assert script.flush() == ["ACK 2:over 2000:over 4000:over"]
    assert script.tunnel.figures.streams == 0


@pytest.mark.parametrize(("odd", "last"), [(True, NUMBER_MAX), (False, NUMBER_MAX - 1)])
def test_numbers_run_out(odd: bool, last: int) -> None:
    """None comes twice, and none has more than 32 bits."""
    table = StreamTable(odd=odd, skipped_max=1)
    assert table.next_number == (1 if odd else 2)
    for number, left in ((last - 2, last), (last, None)):
        one: Any = SimpleNamespace(number=number, own=True, state=State.OPENING)
        table.add(one)
        assert table.next_number == left


def test_numbers_that_were_skipped_may_still_come() -> None:
    table = StreamTable(odd=False, skipped_max=1)
    assert table.was_never(NUMBER_MAX)
    table.meet(1)
    table.meet(5)
    assert not table.was_never(5)
    assert table.was_never(3)
    table.meet(3)
    assert not table.was_never(3)


def test_a_new_state_numbers_anew() -> None:
    script = Script()
    assert [script.tunnel.streams.open("array", "") for _ in range(2)] == [1, 3]
    script.tunnel.abandon(ResetCode.INTERNAL, "test", 0.0)
    with pytest.raises(OpenRefused):
        script.tunnel.streams.open("array", "")
    script.join(2)
    assert script.tunnel.streams.open("array", "") == 1
