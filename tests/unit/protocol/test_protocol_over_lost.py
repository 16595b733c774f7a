"""That a stream is over is told by a lane of which the other side has already heard that it is gone.

Nobody repeats it then: who told has forgotten the stream, and who waits has repeated its own state before. Without
another lane, which is none too few where this one was surplus, an array's connection would wait for ever.
"""

from proxy.protocol.codes import ResetCode
from proxy.protocol.events import Consumed
from proxy.protocol.settings import TunnelSettings
from tests.unit.protocol.playbook import ALL, Pair, batch, events_of, lines, taken


def two_lanes(**settings: float) -> Pair:
    """An accepted stream 1 of the left one, and two lanes."""
    pair = Pair(**settings)
    for lane in (1, 2):
        pair.another(lane)
    assert pair.begin_stream(1) == 1
    return pair


def end_both_sides(pair: Pair) -> None:
    """The left array after 500 bytes, which the right one has not taken yet."""
    pair.left.streams.send_data(1, batch(500), 500)
    pair.left.streams.send_end(1, 500, b"")
    pair.right.streams.send_end(1, 0, b"")
    pair.settle(1)


def go_on(pair: Pair) -> None:
    """As long as it takes until an idle lane says something."""
    pair.settle(1)
    pair.now += TunnelSettings().keepalive
    pair.settle(1)


def lose_what_the_right_one_says(pair: Pair) -> None:
    """It goes by lane 2, which the left one has ended; the right one hears of that only now."""
    assert lines(taken(pair.right, 2, ALL, pair.now))
    pair.right.lane_down(2, pair.now)


def test_of_a_stream_that_ends_in_order() -> None:
    pair = two_lanes()
    end_both_sides(pair)
    pair.left.lane_down(2, pair.now)
    pair.settle(1)
    events_of(pair.left)
    pair.right.streams.consumed(1)
    lose_what_the_right_one_says(pair)
    go_on(pair)
    assert pair.right.figures.streams == 0
    assert [type(event) for event in events_of(pair.left)] == [Consumed]
    assert pair.left.figures.streams == 0


def test_of_a_stream_that_is_reset() -> None:
    pair = two_lanes()
    pair.left.lane_down(2, pair.now)
    pair.settle(1)
    pair.left.streams.reset(1, ResetCode.ORIGIN_RESET, "")
    pair.carry(1, pair.left)
    lose_what_the_right_one_says(pair)
    go_on(pair)
    assert pair.left.figures.streams == 0


def test_nobody_asks_while_something_else_is_to_come() -> None:
    """The far array has not taken everything, or ours has not."""
    pair = two_lanes()
    pair.left.streams.send_data(1, batch(500), 500)
    pair.left.streams.send_end(1, 500, b"")
    pair.settle(1)
    pair.now += TunnelSettings().keepalive
    pair.left.tick(pair.now)
    assert pair.carry(1, pair.left) == []


def test_who_asks_in_vain_asks_again_in_time() -> None:
    """The far array is slow: each time costs one entry of an ACK."""
    pair = two_lanes()
    end_both_sides(pair)
    for _ in range(3):
        pair.now += TunnelSettings().keepalive
        pair.left.tick(pair.now)
        assert pair.carry(1, pair.left)[0] == "ACK 1:2"
        pair.left.tick(pair.now + 1)
        assert pair.carry(1, pair.left) == []


def test_the_next_stream_may_come_before_the_word_that_the_last_one_is_over() -> None:
    """Each by a lane of its own, where one more would be one too many. A peer that never says so has one more."""
    pair = two_lanes(streams=1)
    answers = list[str]()
    for stream in (1, 3):
        pair.left.streams.send_end(stream, 0, b"")
        pair.right.streams.send_data(stream, batch(500), 500)
        pair.right.streams.send_end(stream, 500, b"")
        pair.settle(1)
        pair.left.streams.consumed(stream)
        assert "ACK" in str(lines(taken(pair.left, 2, ALL, pair.now))), "the word is under way"
        assert pair.left.streams.open("array", "") == stream + 2
        pair.carry(1, pair.left)
        pair.right.streams.accept(stream + 2)
        answers += pair.carry(1, pair.right)
    assert answers == ["ACCEPT 3#0", "RESET 5#0 TOO_MANY_STREAMS"]
    assert pair.right.figures.streams == 3
