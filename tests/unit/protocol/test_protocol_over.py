"""How a stream comes to be over, on both sides, whatever is lost on the way."""

import pytest

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.events import Consumed, StreamReset
from proxy.protocol.frames import OVER, encode_ack, encode_credit
from tests.unit.protocol.playbook import Pair, Script, batch, events_of


def finished(script: Script) -> None:
    """Stream 1: 500 bytes each way, both ENDs sent, all acknowledged; the peer has not consumed ours."""
    script.accepted(1)
    script.send(1, 500)
    script.tunnel.streams.send_end(1, 500, b"")
    script.data(1, 1, 500)
    script.end(1, 2, 500)
    script.tunnel.streams.consumed(1)
    script.flush()
    script.acknowledge(1, 3)


def test_over_when_all_is_acknowledged_and_consumed() -> None:
    script = Script()
    finished(script)
    assert script.tunnel.figures.streams == 1
    assert script.credit(1, 756, 65536) == [Consumed(1, 756)]
    assert script.tunnel.figures.streams == 0
    assert script.flush() == ["ACK 1:over"]


def test_over_only_when_our_array_has_everything() -> None:
    script = Script()
    script.accepted(1)
    script.tunnel.streams.send_end(1, 0, b"")
    script.data(1, 1, 500)
    script.end(1, 2, 500)
    assert script.flush() == ["ACK 1:3", "END 1#1 0"]
    script.acknowledge(1, 2)
    assert script.tunnel.figures.streams == 1
    script.tunnel.streams.consumed(1)
    assert script.tunnel.figures.streams == 0
    assert script.flush() == ["ACK 1:over"]


def test_over_only_when_our_end_is_acknowledged() -> None:
    script = Script()
    script.accepted(1)
    script.end(1, 1)
    script.tunnel.streams.send_end(1, 0, b"")
    script.take()
    assert script.tunnel.figures.streams == 1
    script.acknowledge(1, 2)
    assert script.tunnel.figures.streams == 0


def test_nothing_is_waited_for_at_the_end() -> None:
    """A question and its answer. The ACK of each END went 20 ms later, in a write of its own."""
    pair = Pair()
    pair.another(1)
    pair.left.streams.open("array", "")
    pair.left.streams.send_data(1, batch(500), 500)
    pair.left.streams.send_end(1, 500, b"")
    pair.carry(1, pair.left)
    pair.right.streams.accept(1)
    pair.right.streams.consumed(1)
    said = pair.carry(1, pair.right)
    assert said[0] == "ACK 1:3"
    assert said[1].startswith("CREDIT 1:318/")
    pair.right.streams.send_data(1, batch(500), 500)
    pair.right.streams.send_end(1, 500, b"")
    pair.carry(1, pair.right)
    pair.left.streams.consumed(1)
    assert pair.carry(1, pair.left) == ["ACK 1:over"]
    assert pair.left.figures.streams == pair.right.figures.streams == 0
    assert pair.carry(1, pair.right) == []


def test_nor_for_an_end_that_comes_alone() -> None:
    script = Script()
    script.accepted(1)
    script.tunnel.streams.send_end(1, 0, b"")
    script.take()
    script.acknowledge(1, 2)
    script.end(1, 1)
    assert script.tunnel.figures.streams == 0
    assert script.take() == ["ACK 1:over"]


def test_the_last_consumption_is_told_at_once() -> None:
    script = Script()
    script.accepted(1)
    script.data(1, 1, 500)
    script.tunnel.streams.consumed(1)
    assert script.take() == []
    script.end(1, 2, 500)
    assert script.take() == ["ACK 1:3", "CREDIT 1:756/65536"]


def test_so_is_consumption_after_the_end() -> None:
    script = Script()
    script.accepted(1)
    script.data(1, 1, 500)
    script.end(1, 2, 500)
    assert script.take() == []
    script.tunnel.streams.consumed(1)
    assert script.take() == ["ACK 1:3", "CREDIT 1:756/65536"]


def test_the_peer_says_that_it_is_over() -> None:
    """Its last CREDIT was lost with a lane; that it has forgotten the stream says as much."""
    script = Script()
    finished(script)
    assert script.acknowledge(1, OVER) == [Consumed(1, 756)]
    assert script.tunnel.figures.streams == 0
    assert script.tunnel.figures.unacked_bytes == 0


def test_who_says_so_is_not_told_the_same() -> None:
    """It has forgotten the stream, and waits for nothing: each stream cost both sites one more frame."""
    script = Script()
    finished(script)
    script.acknowledge(1, OVER)
    assert script.flush() == []
    assert script.acknowledge(1, 3) == []
    assert script.flush() == ["ACK 1:over"]


def test_the_peer_says_that_it_is_over_before_it_acknowledged_the_end() -> None:
    script = Script()
    script.accepted(1)
    script.end(1, 1)
    script.tunnel.streams.send_end(1, 0, b"")
    script.take()
    assert script.acknowledge(1, OVER) == []
    assert script.tunnel.figures.streams == 0


def test_a_stream_that_has_not_ended_cannot_be_over() -> None:
    script = Script()
    script.accepted(1)
    with pytest.raises(PeerError, match="stream 1 is said to be over, but has not ended"):
        script.acknowledge(1, OVER)


def test_nor_one_whose_end_is_not_sent_yet() -> None:
    script = Script()
    script.accepted(1)
    script.end(1, 1)
    script.tunnel.streams.send_end(1, 0, b"")
    with pytest.raises(PeerError, match="said to be over"):
        script.acknowledge(1, OVER)


def test_nor_one_whose_peer_has_not_ended_its_side() -> None:
    script = Script()
    script.accepted(1)
    script.tunnel.streams.send_end(1, 0, b"")
    script.take()
    with pytest.raises(PeerError, match="said to be over"):
        script.acknowledge(1, OVER)


def test_nor_one_of_which_our_array_has_not_everything() -> None:
    script = Script()
    script.accepted(1)
    script.data(1, 1, 500)
    script.end(1, 2, 500)
    script.tunnel.streams.send_end(1, 0, b"")
    script.take()
    with pytest.raises(PeerError, match="said to be over"):
        script.acknowledge(1, OVER)


def test_nor_one_that_was_never_opened() -> None:
    with pytest.raises(PeerError, match="ACK broke the protocol: stream 1 was never opened"):
        Script().acknowledge(1, OVER)


def test_whoever_asks_about_a_stream_that_is_over_is_told() -> None:
    script = Script()
    script.open(2)
    script.reset(2, 1)
    assert script.flush() == ["ACK 2:over"]
    assert script.acknowledge(2, 0) == []
    assert script.flush() == ["ACK 2:over"]
    assert script.data(2, 1, 100) == []
    assert script.reset(2, 1) == []
    assert script.flush() == ["ACK 2:over"]
    assert script.tunnel.figures.late == 2


def test_but_not_those_who_know_and_not_by_a_credit() -> None:
    script = Script()
    script.open(2)
    script.reset(2, 1)
    script.flush()
    assert script.acknowledge(2, OVER) == []
    assert script.credit(2, 5, 65536) == []
    assert script.flush() == []


def test_state_about_streams_that_have_not_come_yet_is_ignored() -> None:
    script = Script()
    script.give(FrameType.ACK, 0, 0, encode_ack([(2, 0)]))
    script.give(FrameType.CREDIT, 0, 0, encode_credit([(2, 0, 65536)]))
    assert script.flush() == []
    with pytest.raises(PeerError, match="ACK broke the protocol: stream 2 was never opened"):
        script.give(FrameType.ACK, 0, 0, encode_ack([(2, 1)]))


def test_credit_for_a_stream_that_never_was() -> None:
    with pytest.raises(PeerError, match="CREDIT broke the protocol: stream 1 was never opened"):
        Script().credit(1, 1, 65536)


def test_our_reset_stays_until_it_is_acknowledged() -> None:
    script = Script()
    script.accepted(1)
    script.tunnel.streams.reset(1, ResetCode.CORRUPT, "why")
    assert script.take() == ["RESET 1#1 CORRUPT"]
    assert script.data(1, 1, 100) == []
    assert script.acknowledge(1, 1) == []
    assert script.credit(1, 99, 65536) == []
    assert script.flush() == []
    script.join(2)
    script.tunnel.lane_down(1, 0.0)
    assert script.take(2) == ["ACK 1:1", "ACK 1:1", "RESET 1#1 CORRUPT"]
    script.acknowledge(1, OVER, lane=2)
    assert script.tunnel.figures.streams == 0
    assert script.tunnel.figures.unacked_bytes == 0


def test_two_resets_cross() -> None:
    pair = Pair()
    pair.dial(1)
    assert pair.begin_stream(1) == 1
    events_of(pair.left), events_of(pair.right)
    pair.left.streams.reset(1, ResetCode.CORRUPT, "")
    pair.right.streams.reset(1, ResetCode.UNREACHABLE, "")
    pair.settle(1)
    assert events_of(pair.left) == events_of(pair.right) == []
    assert pair.left.figures.streams == pair.right.figures.streams == 0


def test_a_reset_of_the_peer_and_nothing_more_of_that_stream() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 9)
    assert script.reset(1, 1) == [StreamReset(1, ResetCode.ORIGIN_RESET, "why", remote=True)]
    assert script.take() == ["ACK 1:over"]
    assert script.tunnel.figures.unacked_bytes == 0


def test_a_million_questions_about_streams_that_are_over() -> None:
    script = Script()
    script.open(2)
    script.reset(2, 1)
    for _ in range(1000):
        script.give(FrameType.ACK, 0, 0, encode_ack([(2, 0)] * 1000))
    assert script.flush() == ["ACK 2:over"]


def test_too_many_different_ones_at_once() -> None:
    script = Script(streams=4)
    last = 2 * (65536 + 1)
    for stream in range(2, last + 2, 2):
        script.reset(stream, 0)
        if stream == last // 2 + 1:
            script.flush()
    script.flush()
    script.give(FrameType.ACK, 0, 0, encode_ack((stream, 0) for stream in range(2, last, 2)))
    with pytest.raises(PeerError, match="65536 answers about streams that are over wait already"):
        script.acknowledge(last, 0)


def test_what_ends_by_our_own_doing_is_no_fault_of_the_peer() -> None:
    """However many answers wait: our array takes the last bytes of a stream, which is told nobody but the tunnel."""
    script = Script(streams=4)
    last = 2 * (65536 + 1)
    script.open(2)
    script.data(2, 1, 10)
    script.end(2, 2, 10)
    script.tunnel.streams.accept(2)
    script.tunnel.streams.send_end(2, 0, b"")
    script.flush()
    script.acknowledge(2, 2)
    for stream in range(4, last + 2, 2):
        script.reset(stream, 0)
    script.tunnel.streams.consumed(2)
    assert script.tunnel.figures.streams == 0
    with pytest.raises(PeerError, match="65536 answers about streams that are over wait already"):
        script.open(last + 2)
