"""Numbering: every frame once and in order, whatever the lanes do; what waits for a gap is bounded."""

import pytest

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.events import DataReceived, FillReceived, MissReceived, StreamEnded, StreamOffered, StreamReset
from proxy.protocol.frames import OVER, encode_fill, encode_miss, encode_open
from proxy.protocol.outgoing import UNCREDITED_FRAMES
from tests.unit.protocol.playbook import Script, batch

NAME = bytes(range(32))
OPEN = encode_open("array", "10.0.0.1")


def two_lanes() -> Script:
    script = Script()
    script.another(2)
    script.open(2)
    return script


def test_gaps_close_and_everything_comes_in_order() -> None:
    script = two_lanes()
    assert script.data(2, 3, 30, lane=2) == []
    assert script.end(2, 4, 60) == []
    assert script.data(2, 2, 20) == []
    assert script.tunnel.figures.kept_bytes == len(batch(30)) + len(batch(20)) + 8
    events = script.data(2, 1, 10, lane=2)
    expected = [DataReceived(2, plain, batch(plain)) for plain in (10, 20, 30)]
    assert events == [*expected, StreamEnded(2, 60, b"")]
    assert script.tunnel.figures.kept_bytes == 0


def test_what_is_kept_is_a_copy() -> None:
    script = two_lanes()
    buffer = bytearray(batch(30))
    script.give(FrameType.DATA, 2, 2, memoryview(buffer))  # type: ignore[arg-type]
    buffer[:] = bytes(len(buffer))
    assert script.data(2, 1, 10)[1] == DataReceived(2, 30, batch(30))


def test_frames_may_come_before_their_open() -> None:
    script = two_lanes()
    assert script.data(4, 1, 10) == []
    assert script.give(FrameType.OPEN, 4, 0, OPEN, lane=2) == [
        StreamOffered(4, "array", "10.0.0.1"),
        DataReceived(4, 10, batch(10)),
    ]


def test_duplicates_are_dropped_and_acknowledged_where_there_was_more_than_one_lane() -> None:
    script = two_lanes()
    script.data(2, 1, 10)
    script.data(2, 3, 30)
    script.flush()
    for number in (0, 1, 3):
        assert script.data(2, number, 10, lane=2) == []
    assert script.tunnel.figures.duplicates == 3
    assert script.flush() == ["ACK 2:2"]


def test_duplicates_are_an_error_where_there_was_one() -> None:
    script = Script()
    script.open(2)
    script.data(2, 1, 10)
    with pytest.raises(PeerError, match=r"DATA 1 of stream 2.*came before, and there was only one lane"):
        script.data(2, 1, 10)


def test_a_duplicate_of_what_is_kept_is_one() -> None:
    script = Script()
    script.open(2)
    script.data(2, 2, 10)
    with pytest.raises(PeerError, match=r"DATA 2 of stream 2.*came before"):
        script.data(2, 2, 10)


def test_a_second_open_is_a_duplicate() -> None:
    script = Script()
    script.open(2)
    with pytest.raises(PeerError, match=r"OPEN 0 of stream 2.*came before"):
        script.open(2)


def test_what_is_kept_is_checked_before_it_is_kept() -> None:
    script = two_lanes()
    with pytest.raises(PeerError, match="a plain length of 0"):
        script.give(FrameType.DATA, 2, 5, bytes(12))


def test_kept_data_is_bounded_by_its_credit() -> None:
    script = two_lanes()
    script.data(2, 2, 65536 - 512)
    with pytest.raises(PeerError, match="exceed the credit"):
        script.data(2, 3, 1)


def test_at_most_64_other_frames_are_kept_a_stream() -> None:
    script = two_lanes()
    script.tunnel.streams.accept(2)
    for number in range(2, 66):
        script.give(FrameType.MISS, 2, number, encode_miss([NAME]))
    with pytest.raises(PeerError, match=r"MISS 66 of stream 2.*too much came ahead of frame 1, which is missing"):
        script.give(FrameType.MISS, 2, 66, encode_miss([NAME]))


def test_at_most_16_mib_of_other_frames_are_kept_in_all() -> None:
    script = two_lanes()
    script.open(4)
    fill = encode_fill(NAME, 0, 262144, bytes(262144))
    for number in range(2, 65):
        script.give(FrameType.FILL, 2, number, fill)
    with pytest.raises(PeerError, match=r"FILL 2 of stream 4.*too much"):
        script.give(FrameType.FILL, 4, 2, fill)


def test_what_came_ahead_of_a_gap_that_has_closed_counts_no_more() -> None:
    """A stream may have its lanes overtake each other for as long as it lives."""
    script = two_lanes()
    script.tunnel.streams.accept(2)
    miss = encode_miss([NAME])
    for number in range(1, 1 + 2 * (UNCREDITED_FRAMES + 1), 2):
        assert script.give(FrameType.MISS, 2, number + 1, miss) == []
        assert script.give(FrameType.MISS, 2, number, miss, lane=2) == [MissReceived(2, (NAME,))] * 2


@pytest.mark.parametrize("by", ["us", "the peer"])
def test_nor_does_that_of_a_stream_that_is_reset(by: str) -> None:
    """It is all streams that may have so much kept."""
    script = two_lanes()
    fill = encode_fill(NAME, 0, 262144, bytes(262144))
    for stream in (2, 4, 6):
        if stream != 2:
            script.open(stream)
        for number in range(2, 65):
            assert script.give(FrameType.FILL, stream, number, fill) == []
        if by == "us":
            script.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "why")
        else:
            script.reset(stream, 1)


def test_reset_does_not_wait_for_its_turn() -> None:
    script = two_lanes()
    script.data(2, 5, 10)
    assert script.reset(2, 9) == [StreamReset(2, ResetCode.ORIGIN_RESET, "why", remote=True)]
    assert script.tunnel.figures.kept_bytes == 0
    assert script.flush() == ["ACK 2:over"]


def test_a_reset_may_come_before_its_open() -> None:
    script = two_lanes()
    assert script.reset(4, 1) == []
    script.flush()
    assert script.open(4, lane=2) == []
    assert script.flush() == ["ACK 4:over"]


def test_a_stream_that_was_reset_before_it_was_offered_is_never_heard_of() -> None:
    script = two_lanes()
    script.data(4, 1, 10)
    assert script.reset(4, 2) == []
    assert script.tunnel.figures.streams == 1


def test_nor_one_that_is_lost_before() -> None:
    script = two_lanes()
    script.data(4, 1, 10)
    script.tunnel.abandon(ResetCode.INTERNAL, "test", 0.0)
    assert [event.stream for event in script.events() if isinstance(event, StreamReset)] == [2]


def test_we_leave_64_frames_unacknowledged_at_most() -> None:
    script = two_lanes()
    script.data(2, 1, 10)
    for _ in range(70):
        script.tunnel.streams.send_miss(2, [NAME])
    script.tunnel.streams.accept(2)
    script.send(2, 9)
    assert script.flush() == ["ACK 2:2"] + [f"MISS 2#{number} 1" for number in range(64)]
    assert script.take(2) == []
    script.acknowledge(2, 6)
    assert script.take(2) == [f"MISS 2#{number} 1" for number in range(64, 70)]
    script.acknowledge(2, 7)
    assert script.take(2) == ["ACCEPT 2#70", "DATA 2#71 9"]


def test_who_answers_before_being_asked_does_not_have_us_queue_questions() -> None:
    """A batch is decoded when all that it lacks has come, so an honest peer sees each MISS before there is another.

    One that acknowledges nothing, and knows what its own batches name, could have any number of them wait.
    """
    script = two_lanes()
    script.tunnel.streams.accept(2)
    script.take()
    script.acknowledge(2, 1)
    for _ in range(65):
        script.tunnel.streams.send_miss(2, [NAME])
    assert len(script.take()) == 64
    fill = encode_fill(NAME, 0, 1, b"x")
    assert script.give(FrameType.FILL, 2, 1, fill) == [FillReceived(2, NAME, 0, 1, b"x")]
    script.tunnel.streams.send_miss(2, [NAME])
    with pytest.raises(PeerError, match=r"FILL 2 of stream 2.*never asked"):
        script.give(FrameType.FILL, 2, 2, fill)


def test_we_leave_16_mib_of_them_unacknowledged_at_most() -> None:
    script = Script()
    script.accepted(1)
    other = script.tunnel.streams.open("array", "")
    script.take()
    script.acknowledge(other, 1)
    for stream in (1, other):
        for _ in range(40):
            script.tunnel.streams.send_fill(stream, NAME, bytes(262144))
    assert len(script.take()) == 63
    script.acknowledge(1, 3)
    assert len(script.take()) == 2
    script.tunnel.streams.reset(other, ResetCode.INTERNAL, "")
    assert ["RESET" in taken for taken in script.take()] == [True]
    script.acknowledge(other, OVER)
    assert len(script.take()) > 5


def test_what_a_stream_had_unacknowledged_holds_nobody_back_when_the_peer_has_reset_it() -> None:
    """No ACK will come for it. DATA behind such a frame waited for ever, if nothing else was acknowledged."""
    script = Script()
    script.accepted(1)
    other = script.tunnel.streams.open("array", "")
    script.take()
    script.acknowledge(other, 1)
    for _ in range(63):
        script.tunnel.streams.send_fill(1, NAME, bytes(262144))
    assert len(script.take()) == 63
    script.tunnel.streams.send_fill(other, NAME, bytes(262144))
    script.send(other, 9)
    assert script.take() == []
    script.reset(1, 1)
    assert script.take()[1:] == [f"FILL {other}#1 262144", f"DATA {other}#2 9"]


def test_a_stream_that_is_over_waits_for_nothing() -> None:
    """It had more to send than may be unacknowledged; the tunnel was said to have that still."""
    script = Script()
    script.accepted(1)
    for _ in range(UNCREDITED_FRAMES + 1):
        script.tunnel.streams.send_fill(1, NAME, b"x")
    assert len(script.take()) == UNCREDITED_FRAMES
    script.tunnel.streams.reset(1, ResetCode.INTERNAL, "")
    assert len(script.take()) == 1
    script.acknowledge(1, OVER)
    assert not script.tunnel.streams.backlog


def test_other_frames_overtake_data() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 9)
    script.tunnel.streams.send_end(1, 9, b"")
    script.tunnel.streams.send_fill(1, NAME, b"x")
    assert script.take() == ["FILL 1#1 1", "DATA 1#2 9", "END 1#3 9"]


def test_a_reset_discards_all_else_and_leaves_no_gap_to_wait_for() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 9)
    assert script.take() == ["DATA 1#1 9"]
    script.send(1, 9)
    script.tunnel.streams.send_fill(1, NAME, b"x")
    script.tunnel.streams.reset(1, ResetCode.CORRUPT, "why")
    assert script.take() == ["RESET 1#2 CORRUPT"]
    assert script.tunnel.figures.unacked_bytes == 256 + 2 + 3
