"""Lanes die, streams live on: what is sent again, what is repeated, and when it is given up."""

from copy import deepcopy

import pytest

from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.events import DataReceived, LaneDead, LaneSilent, Resumed, StreamReset, TunnelReset
from proxy.protocol.notices import ACK_DELAY
from tests.unit.protocol.playbook import Pair, Script, batch, cut, events_of, line, taken


def test_what_a_dead_lane_may_not_have_delivered_goes_by_another() -> None:
    script = Script()
    script.accepted(1)
    script.another(2)
    for plain in (10, 20, 30, 40):
        script.send(1, plain)
        script.take(1 if plain in (10, 30) else 2)
    script.tunnel.lane_down(1, 0.0)
    assert script.take(2) == ["ACK 1:1", "CREDIT 1:0/65536", "DATA 1#1 10", "DATA 1#3 30"]
    assert script.tunnel.figures.retransmitted == 2
    assert script.tunnel.figures.retransmitted_bytes == 24


def test_what_is_sent_again_goes_before_what_is_new() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 10)
    script.take()
    script.tunnel.lane_down(1, 0.0)
    script.send(1, 20)
    script.join(2)
    assert script.take(2)[-2:] == ["DATA 1#1 10", "DATA 1#2 20"]


def test_two_lanes_die_one_after_the_other() -> None:
    script = Script()
    script.accepted(1)
    script.another(2)
    for plain in (10, 20, 30):
        script.send(1, plain)
        script.take(1 if plain != 20 else 2)
    script.tunnel.lane_down(2, 0.0)
    script.tunnel.lane_down(1, 0.0)
    script.join(3)
    assert script.take(3)[-3:] == ["DATA 1#1 10", "DATA 1#2 20", "DATA 1#3 30"]


def interrupted() -> Script:
    """Three frames were on their way when their lane was lost. Another one is up, and the peer has not spoken yet."""
    script = Script()
    script.accepted(1)
    for plain in (10, 20, 30):
        script.send(1, plain)
    script.take()
    script.tunnel.lane_down(1, 0.0)
    script.join(2, ready=False)
    return script


def test_the_peers_state_spares_what_has_arrived() -> None:
    script = interrupted()
    assert script.take(2) == ["ACK 1:1", "CREDIT 1:0/65536"]
    script.acknowledge(1, 3, lane=2)
    assert script.take(2)[-1:] == ["DATA 1#3 30"]
    assert script.tunnel.figures.retransmitted == 1


def test_a_late_ack_has_nothing_sent_again_that_has_arrived() -> None:
    """One that came by another lane may have overtaken it."""
    script = interrupted()
    for next_ in (4, 2):
        script.acknowledge(1, next_, lane=2)
    assert not any(text.startswith("DATA") for text in script.take(2))
    assert script.tunnel.figures.retransmitted == 0


def acknowledged() -> Script:
    """Three frames were acknowledged. Their lane is lost, and the connection of another one is made only then."""
    script = Script()
    script.accepted(1)
    for plain in (10, 20):
        script.send(1, plain)
    script.take()
    script.acknowledge(1, 3)
    script.tunnel.lane_down(1, script.now)
    script.at(script.now + 1)
    script.join(2, ready=False)
    script.events()
    return script


def test_a_peer_that_begins_a_lane_without_what_it_had_acknowledged_was_set_back() -> None:
    """Nothing is kept any more of what it lacks: the stream would stand still for ever."""
    script = acknowledged()
    with pytest.raises(PeerError, match="ACK broke the protocol: frames below 3 of stream 1 were acknowledged before"):
        script.acknowledge(1, 2, lane=2)
    assert [event.code for event in script.events() if isinstance(event, StreamReset)] == [ResetCode.PROTOCOL_ERROR]


def test_one_that_begins_it_with_just_that_was_not() -> None:
    script = acknowledged()
    assert script.acknowledge(1, 3, lane=2) == []
    assert script.acknowledge(1, 2, lane=2) == [], "of several ACKs on a lane only the first says how all is"


def test_nor_was_one_whose_later_ack_has_overtaken_what_the_lane_began_with() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 10)
    script.take()
    script.join(2, ready=False)
    script.acknowledge(1, 2, lane=1)
    assert script.acknowledge(1, 1, lane=2) == []


def test_a_machine_is_set_back_with_its_memory() -> None:
    """A snapshot of a virtual machine. What it would say is of the past, too: all streams end, and others begin."""
    pair = Pair()
    pair.dial(1)
    stream = pair.begin_stream(1)
    past = deepcopy(pair.right)
    pair.left.streams.send_data(stream, batch(10), 10)
    pair.settle(1)
    pair.right = past
    for tunnel in (pair.left, pair.right):
        tunnel.lane_down(1, pair.now)
    pair.now += 1
    pair.dial(2, pair.right)
    with pytest.raises(PeerError, match="set back to a former state"):
        pair.carry(2, pair.right)
    assert any(isinstance(event, StreamReset) for event in events_of(pair.left))
    pair.dial(3, pair.right)
    assert any(isinstance(event, StreamReset) for event in events_of(pair.right))
    assert pair.begin_stream(3) == stream


def test_what_was_acknowledged_meanwhile_is_not_sent_again() -> None:
    script = Script()
    script.accepted(1)
    script.another(2)
    script.send(1, 10)
    script.take(1)
    script.tunnel.lane_down(1, 0.0)
    script.acknowledge(1, 2, lane=2)
    assert script.take(2) == ["ACK 1:1", "CREDIT 1:0/65536"]


def test_notices_are_repeated_when_a_lane_dies() -> None:
    script = Script()
    script.open(2)
    script.another(2)
    script.data(2, 1, 100)
    script.tunnel.streams.consumed(2)
    assert script.flush(1) == ["ACK 2:2"]
    script.tunnel.lane_down(1, 0.0)
    assert script.take(2) == ["ACK 2:2", "CREDIT 2:356/65892"]


def test_notices_do_not_go_where_the_peer_may_not_know_the_lane() -> None:
    script = Script()
    script.open(2)
    script.take()
    script.join(2, ready=False)
    script.take(2)
    script.data(2, 1, 100)
    script.at(script.now + ACK_DELAY)
    assert script.take(2) == []
    assert script.take(1) == ["ACK 2:2"]


def test_an_outage() -> None:
    pair = Pair()
    pair.dial(1)
    stream = pair.begin_stream(1)
    events_of(pair.left), events_of(pair.right)
    pair.left.streams.send_data(stream, batch(10), 10)
    lost = taken(pair.left, 1, 1 << 20, 0.0)
    assert [line(frame) for frame in cut(lost)] == ["DATA 1#1 10"]
    pair.left.lane_down(1, 0.0)
    pair.left.streams.send_data(stream, batch(20), 20)
    pair.right.lane_down(1, 0.0)
    pair.dial(2, pair.right)
    pair.settle(2)
    assert events_of(pair.left) == [Resumed(2)]
    assert events_of(pair.right) == [
        Resumed(2),
        DataReceived(stream, 10, batch(10)),
        DataReceived(stream, 20, batch(20)),
    ]
    assert pair.left.figures.outages == pair.right.figures.outages == 1


def test_the_first_lane_resumes_nothing() -> None:
    pair = Pair()
    pair.dial(1)
    assert events_of(pair.left) == []


def test_grace_expires() -> None:
    script = Script(grace=120.0)
    script.accepted(1)
    half = script.tunnel.hello().half
    script.tunnel.lane_down(1, 100.0)
    assert script.tunnel.next_deadline() == 220.0
    assert script.at(219.9) == []
    reason = "there was no lane to right for 120 s"
    assert script.at(220.0) == [
        StreamReset(1, ResetCode.GRACE_EXPIRED, reason, remote=False),
        TunnelReset(reason),
    ]
    assert script.tunnel.hello().half != half
    assert script.tunnel.hello().known_half is None
    assert script.tunnel.next_deadline() is None
    assert script.at(9999.0) == []


def test_grace_ends_when_a_lane_comes() -> None:
    script = Script(grace=120.0, dead_after=1000.0)
    script.accepted(1)
    script.tunnel.lane_down(1, 100.0)
    script.now = 200.0
    script.join(2)
    assert script.at(400.0) == [LaneSilent(2)]
    assert script.tunnel.figures.streams == 1


def test_grace_runs_for_a_pair_that_never_had_a_lane() -> None:
    """HELLOs were exchanged, then the connection broke."""
    script = Script(grace=120.0)
    script.tunnel.abandon(ResetCode.INTERNAL, "test", 0.0)
    script.events()
    script.tunnel.join(script.peer, dialler=False, now=0.0)
    assert script.tunnel.next_deadline() == 120.0
    assert script.at(120.0) == [TunnelReset("there was no lane to right for 120 s")]


def test_a_stopped_process_finds_its_lanes_dead_and_its_streams_alive() -> None:
    script = Script(dead_after=20.0, grace=120.0)
    script.accepted(1)
    assert script.at(60.0) == [LaneDead(1, "nothing was heard for 60 s")]
    assert script.tunnel.figures.streams == 1
    assert script.tunnel.next_deadline() == 180.0


def test_a_late_timer_finds_nothing_to_do() -> None:
    """Deadlines that were reached are gone: a driver that ticks whenever it is told to does not spin."""
    script = Script(keepalive=0.1, dead_after=0.3, grace=0.7)
    script.open(2)
    now = 0.0
    for _ in range(20):
        deadline = script.tunnel.next_deadline()
        if deadline is None:
            return
        assert deadline > now or 1 in script.tunnel.wanting
        now = deadline
        script.at(now)
        script.take()
    raise AssertionError("it never ends")
