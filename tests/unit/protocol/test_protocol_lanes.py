"""Lanes: state first, pings, silence, CLOSE, DRAIN."""

import pytest

from proxy.protocol.codes import Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.errors import Misuse, OpenRefused, PeerError
from proxy.protocol.events import (
    LaneClosed,
    LaneDead,
    LaneSilent,
    LanesWished,
    PeerDraining,
    Resumed,
    StreamReset,
    TunnelReset,
)
from proxy.protocol.frames import encode_close, encode_drain, encode_lanes, encode_token
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame
from proxy.protocol.share import Share
from tests.unit.protocol.playbook import ALL, Pair, Script, busy_and_idle, lines, taken


def test_a_lane_begins_with_state_and_waits_for_the_peers() -> None:
    pair = Pair()
    pair.dial(1)
    pair.left.streams.open("array", "")
    assert lines(taken(pair.left, 1, 1 << 20, 0.0)) == ["ACK 1:0", "CREDIT 1:0/98304"]
    assert lines(taken(pair.left, 1, 1 << 20, 0.0)) == []
    assert 1 not in pair.left.wanting
    assert pair.carry(1, pair.right) == ["ACK"]
    assert 1 in pair.left.wanting
    assert lines(taken(pair.left, 1, 1 << 20, 0.0)) == ["PING 1", "OPEN 1#0 array"]


def test_an_empty_state_is_an_empty_ack() -> None:
    pair = Pair()
    pair.dial(1)
    assert pair.carry(1, pair.left) == ["ACK"]


def test_the_state_names_every_stream_that_is_not_forgotten() -> None:
    script = Script()
    script.accepted(1)
    script.open(2)
    script.open(4)
    script.tunnel.streams.reset(4, ResetCode.UNREACHABLE, "")
    script.tunnel.drain("bye")
    script.join(2, ready=False)
    assert script.take(2) == ["ACK 1:1 2:1 4:1", "CREDIT 1:0/65536 2:0/65536", "DRAIN bye"]


@pytest.mark.parametrize("kind", sorted(set(FrameType) - {FrameType.ACK, FrameType.CLOSE}))
def test_a_lane_that_does_not_begin_with_ack_is_an_error(kind: FrameType) -> None:
    script = Script()
    script.join(2, ready=False)
    with pytest.raises(PeerError, match=f"{kind.name}.*begins with ACK"):
        script.give(kind, 2 if kind >= FrameType.OPEN else 0, 0, lane=2)


def test_ping_is_answered() -> None:
    script = Script()
    script.give(FrameType.PING, 0, 0, encode_token(77))
    assert script.take() == ["PONG 77"]


def test_what_a_ping_waited_for_is_no_part_of_the_round_trip() -> None:
    """Who is dialled has the dialler's state a round trip after its own HELLO, and sends no PING before."""
    script = Script()
    script.at(1.0)
    script.join(2, ready=False)
    assert lines(taken(script.tunnel, 2, 1 << 20, script.now)) == ["ACK"]
    script.at(1.2)
    script.give(FrameType.ACK, 0, 0, lane=2)
    assert lines(taken(script.tunnel, 2, 1 << 20, script.now)) == ["PING 1"]
    script.at(1.4)
    script.give(FrameType.PONG, 0, 0, encode_token(1), lane=2)
    assert script.tunnel.figures.round_trip == pytest.approx(0.2)


def test_pong_measures_the_round_trip() -> None:
    script = Script()
    measured = [script.tunnel.figures.round_trip]
    script.now = 0.25
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    measured.append(script.tunnel.figures.round_trip)
    script.at(6.0)
    script.now = 6.05
    script.give(FrameType.PONG, 0, 0, encode_token(2))
    measured.append(script.tunnel.figures.round_trip)
    assert measured == [None, 0.25, pytest.approx(0.25 - 0.2 / 8)]


def test_a_pong_that_nobody_asked_for() -> None:
    script = Script()
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    with pytest.raises(PeerError, match="PONG broke the protocol: token 1 answers no PING"):
        script.give(FrameType.PONG, 0, 0, encode_token(1))


def test_a_pong_with_another_token() -> None:
    with pytest.raises(PeerError, match="token 9"):
        Script().give(FrameType.PONG, 0, 0, encode_token(9))


def test_pings_that_are_not_read_answers_to() -> None:
    script = Script()
    for token in range(16):
        script.give(FrameType.PING, 0, 0, encode_token(token))
    with pytest.raises(PeerError, match="PING"):
        script.give(FrameType.PING, 0, 0, encode_token(16))


def test_a_ping_of_ours_that_waits_is_none_of_the_answers() -> None:
    script = Script()
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    script.now = 6.0
    script.tunnel.tick(script.now)
    for token in range(16):
        script.give(FrameType.PING, 0, 0, encode_token(token))
    assert lines(taken(script.tunnel, 1, 1 << 20, script.now)) == ["PING 2", *(f"PONG {token}" for token in range(16))]


def test_one_ping_at_a_time_and_oftener_while_streams_flow() -> None:
    script = Script(keepalive=5.0)
    tunnel = script.tunnel
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    assert tunnel.next_deadline() == 5.0
    script.at(2.0)
    script.open(2)
    script.at(2.5)
    script.take()
    assert tunnel.next_deadline() == 3.0, "not only when it was due at rest"
    script.at(3.0)
    assert lines(taken(tunnel, 1, 1 << 20, 3.0))[0] == "PING 2"
    script.at(5.0)
    assert "PING 3" not in lines(taken(tunnel, 1, 1 << 20, 5.0))
    script.give(FrameType.PONG, 0, 0, encode_token(2))
    assert tunnel.next_deadline() == 6.0
    script.at(6.0)
    assert lines(taken(tunnel, 1, 1 << 20, 6.0)) == ["PING 3"]
    script.give(FrameType.PONG, 0, 0, encode_token(3))
    assert tunnel.next_deadline() == 11.0


def test_a_lane_that_begins_to_carry_streams_is_asked_within_a_second() -> None:
    """Nothing else may happen until then, so that the driver has to be told of it."""
    script = Script(keepalive=5.0)
    script.accepted(1)
    for token, now in ((1, 1.0), (2, 2.0)):
        script.at(now)
        taken(script.tunnel, 1, ALL, now)
        script.give(FrameType.PONG, 0, 0, encode_token(token))
    assert script.tunnel.next_deadline() == 7.0
    script.now = 2.5
    script.send(1, 100)
    assert script.take() == ["DATA 1#1 100"]
    assert script.tunnel.next_deadline() == 3.5


def test_a_silent_lane_is_dropped() -> None:
    """At first it is only said that it is silent, once."""
    script = Script(dead_after=20.0)
    script.take()
    assert script.tunnel.next_deadline() == 3.0
    assert script.at(2.9) == []
    assert script.at(3.0) == [LaneSilent(1)]
    assert script.tunnel.next_deadline() == 20.0
    assert script.at(19.9) == []
    assert script.at(20.0) == [LaneDead(1, "nothing was heard for 20 s")]
    assert script.tunnel.figures.outages == 1
    assert script.give(FrameType.PONG, 0, 0, encode_token(1)) == []


@pytest.mark.parametrize(("dead_after", "said"), [(0.2, "0.2 s"), (1.25, "1.2 s"), (7200.0, "7200 s")])
def test_a_dropped_lane_tells_for_how_long_it_was_silent(dead_after: float, said: str) -> None:
    script = Script(keepalive=0.1, dead_after=dead_after)
    assert LaneDead(1, f"nothing was heard for {said}") in script.at(dead_after)


def test_bytes_of_a_frame_that_is_not_whole_yet_are_life() -> None:
    script = Script(dead_after=20.0)
    assert script.at(14.0) == [LaneSilent(1)]
    script.tunnel.heard(1, 15.0)
    assert script.at(17.9) == []
    assert script.at(18.0) == [LaneSilent(1)]
    assert script.at(34.9) == []
    assert script.at(35.0) != []


def test_a_lane_with_a_long_round_trip_may_be_silent_for_longer() -> None:
    script = Script(dead_after=20.0)
    script.take()
    script.now = 1.0
    script.give(FrameType.PONG, 0, 0, encode_token(1))
    assert script.tunnel.figures.round_trip == 1.0
    script.at(6.0)
    assert script.tunnel.next_deadline() == 10.0
    assert script.at(9.9) == []
    assert script.at(10.0) == [LaneSilent(1)]


def test_a_lane_that_spoke_may_fall_silent_again_long_before_it_would_be_dead() -> None:
    script = Script(dead_after=20.0)
    script.take()
    assert script.at(3.0) == [LaneSilent(1)]
    assert script.tunnel.next_deadline() == 20.0
    script.tunnel.heard(1, 4.0)
    assert script.tunnel.next_deadline() == 7.0
    assert script.at(7.0) == [LaneSilent(1)]


def test_wishes_for_lanes() -> None:
    """Said when they change and on each new lane; what the other side wishes is told."""
    script = Script(capabilities=[Capability.LANES])
    script.take()
    script.tunnel.wish({0: 4, 18: 1})
    assert 1 in script.tunnel.wanting
    assert script.take() == ["LANES 0:4 18:1"]
    assert script.take() == []
    script.join(2)
    assert "LANES 0:4 18:1" in script.take(2)
    assert script.give(FrameType.LANES, 0, 0, encode_lanes({0: 8})) == [LanesWished({0: 8})]


def test_wishes_are_not_said_to_a_peer_that_does_not_know_them() -> None:
    script = Script(capabilities=[Capability.ZSTD, Capability.SLICES])
    script.take()
    script.tunnel.wish({0: 4})
    assert script.take() == []


def test_wishes_of_a_peer_that_has_not_agreed_to_say_any() -> None:
    script = Script(capabilities=[Capability.ZSTD, Capability.SLICES])
    with pytest.raises(PeerError, match="LANES broke the protocol: it was not agreed on"):
        script.give(FrameType.LANES, 0, 0, encode_lanes({0: 8}))


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\0", "no whole entries"),
        (b"\0\1\0\2", "twice"),
        (b"\x40\1", "marks are 0 to 63"),
        (b"\0\0", "no lanes"),
        (b"\0\x40\1\1", "more than 64"),
    ],
)
def test_wishes_that_are_none(payload: bytes, reason: str) -> None:
    with pytest.raises(PeerError, match=reason):
        Script(capabilities=[Capability.LANES]).give(FrameType.LANES, 0, 0, payload)


@pytest.mark.parametrize("code", sorted(set(CloseCode) - {CloseCode.PROTOCOL_ERROR, CloseCode.SHUTDOWN}))
def test_close_ends_the_lane_and_streams_wait(code: CloseCode) -> None:
    script = Script()
    script.accepted(1)
    assert script.give(FrameType.CLOSE, 0, 0, encode_close(code, "why")) == [LaneClosed(1, code, "why")]
    assert script.tunnel.figures.streams == 1
    script.join(2, ready=False)
    assert script.events() == [Resumed(2)]
    assert script.tunnel.figures.streams == 1


@pytest.mark.parametrize(
    ("code", "reset"),
    [(CloseCode.PROTOCOL_ERROR, ResetCode.PROTOCOL_ERROR), (CloseCode.SHUTDOWN, ResetCode.SHUTDOWN)],
)
def test_close_that_ends_the_tunnel(code: CloseCode, reset: ResetCode) -> None:
    script = Script()
    script.accepted(1)
    script.join(2)
    script.events()
    before = script.tunnel.hello().half
    reason = "right closed the tunnel: why"
    assert script.give(FrameType.CLOSE, 0, 0, encode_close(code, "why"), lane=2) == [
        LaneClosed(2, code, "why"),
        StreamReset(1, reset, reason, remote=False),
        LaneDead(1, reason),
        TunnelReset(reason),
    ]
    assert script.tunnel.hello().half != before
    assert script.tunnel.hello().known_half is None


def test_an_error_of_the_peer_ends_all_streams_but_not_the_tunnel() -> None:
    script = Script()
    script.accepted(1)
    script.join(2)
    script.events()
    with pytest.raises(PeerError) as caught:
        script.data(3, 0, 1)
    text = "DATA 0 of stream 3 broke the protocol: that stream was never opened"
    assert str(caught.value) == text
    assert (caught.value.frame, caught.value.reason) == ("DATA 0 of stream 3", "that stream was never opened")
    assert script.events() == [
        StreamReset(1, ResetCode.PROTOCOL_ERROR, text, remote=False),
        LaneDead(2, text),
        TunnelReset(text),
    ]
    assert script.tunnel.figures.outages == 1
    assert script.open(2, lane=2) == []
    with pytest.raises(OpenRefused):
        script.tunnel.streams.open("array", "")
    script.join(3)
    assert script.tunnel.streams.open("array", "") == 1


def test_the_only_lane_of_an_erring_peer() -> None:
    script = Script()
    with pytest.raises(PeerError):
        script.data(3, 0, 1)
    assert [type(event) for event in script.events()] == [TunnelReset]
    assert script.tunnel.figures.outages == 1


@pytest.mark.parametrize(("stream", "number"), [(1, 0), (0, 1)])
def test_frames_of_the_tunnel_have_neither_stream_nor_number(stream: int, number: int) -> None:
    with pytest.raises(PeerError, match="belongs to no stream"):
        Script().give(FrameType.DRAIN, stream, number, b"")


def test_a_second_hello_is_an_error() -> None:
    script = Script()
    with pytest.raises(PeerError, match="HELLO"):
        script.give(FrameType.HELLO, 0, 0, script.peer.encode())


def test_a_type_that_the_reader_would_not_have_let_through() -> None:
    with pytest.raises(PeerError, match="0xff"):
        Script().give(0xFF, 0, 0)


def test_the_peer_drains() -> None:
    script = Script()
    script.accepted(1)
    assert not script.tunnel.peer_drains
    assert script.give(FrameType.DRAIN, 0, 0, encode_drain("upgrade")) == [PeerDraining("upgrade")]
    assert script.tunnel.peer_drains.endswith(" drains: upgrade")
    assert script.give(FrameType.DRAIN, 0, 0, encode_drain("again")) == []
    with pytest.raises(OpenRefused, match="right drains: upgrade"):
        script.tunnel.streams.open("array", "")
    assert script.tunnel.streams.sendable(1) > 0


def test_we_drain() -> None:
    script = Script()
    script.accepted(1)
    script.tunnel.drain("upgrade")
    assert 1 in script.tunnel.wanting
    assert script.take() == ["DRAIN upgrade"]
    with pytest.raises(OpenRefused, match="upgrade"):
        script.tunnel.streams.open("array", "")
    assert script.open(2) == []
    assert script.flush() == ["RESET 2#0 SHUTDOWN"]
    script.send(1, 9)
    assert script.take() == ["DATA 1#1 9"]


def test_a_drain_outlives_its_lane_and_the_tunnel() -> None:
    script = Script()
    script.tunnel.drain("upgrade")
    script.take()
    script.another(2)
    script.tunnel.lane_down(1, 0.0)
    assert script.take(2) == ["DRAIN upgrade"]
    script.tunnel.abandon(ResetCode.INTERNAL, "test", 0.0)
    script.join(3, ready=False)
    assert script.take(3) == ["ACK", "DRAIN upgrade"]
    with pytest.raises(OpenRefused):
        script.tunnel.streams.open("array", "")


def test_lanes_come_up_once_and_only_after_hello() -> None:
    script = Script()
    with pytest.raises(Misuse):
        script.tunnel.lane_up(1, 0.0)
    script.tunnel.abandon(ResetCode.INTERNAL, "test", 0.0)
    with pytest.raises(Misuse):
        script.tunnel.lane_up(2, 0.0)


def test_lanes_that_are_unknown_are_no_trouble() -> None:
    script = Script()
    script.tunnel.lane_down(9, 0.0)
    script.tunnel.heard(9, 0.0)
    assert taken(script.tunnel, 9, 1000, 0.0) == []
    script.tunnel.receive(9, Frame(FrameType.DATA, 77, 0, b""), 0.0)
    assert script.events() == []
    assert script.tunnel.figures.outages == 0


def test_hello_decodes_as_it_was_said() -> None:
    hello = Script().tunnel.hello()
    assert Hello.decode(hello.encode()) == hello


def test_marked_streams_go_by_lanes_of_their_mark() -> None:
    """What has no lane of its mark goes by the least marked one, and by its own again when that comes."""
    script = Script()
    marked = script.tunnel.streams.open("array", "10.0.0.2", Share("marked", mark=18))
    plain = script.tunnel.streams.open("array", "10.0.0.2")
    assert (marked, plain) == (1, 3)
    assert sorted(script.take(1)) == ["OPEN 1#0 array", "OPEN 3#0 array"]
    script.another(2, mark=18)
    for stream in (marked, plain):
        script.tunnel.streams.send_miss(stream, [bytes(32)])
    assert script.take(1) == ["MISS 3#1 1"]
    assert script.take(2) == ["MISS 1#1 1"]
    script.tunnel.lane_down(2, script.now)
    assert "MISS 1#1 1" in script.take(1)


def test_bulk_of_a_mark_whose_own_lane_is_full_keeps_no_other_waiting() -> None:
    """Under a common cap, while the lane of that mark that is for what is urgent has room."""
    script = Script()
    for lane in (2, 3):
        script.another(lane, mark=10)
    assert script.tunnel.express == {3}
    script.tunnel.scheduler.set_rate(100e6, script.now)
    shares = [Share("full", guarantee=50e6, mark=10), Share("plain")]
    full, plain = [script.tunnel.streams.open("array", "10.0.0.2", share) for share in shares]
    script.take_all({3: ALL, 2: ALL, 1: ALL})
    for stream in (full, plain):
        script.give(FrameType.ACCEPT, stream, 0)
        script.credit(stream, 0, 1 << 40)
        for _ in range(2):
            script.send(stream, 60_000, 60_000)
    assert script.take_all({3: ALL, 1: 1}) == {3: [], 1: [f"DATA {plain}#1 60000"]}
    assert script.take_all({3: ALL, 2: 1, 1: 1}) == {3: [], 2: [f"DATA {full}#1 60000"], 1: [f"DATA {plain}#2 60000"]}


def test_what_comes_first_and_has_nothing_to_send_keeps_nothing_waiting() -> None:
    """Below a common cap a frame that is acknowledged while it waits to go again comes first, and does not go."""
    script = Script()
    tunnel = script.tunnel
    tunnel.scheduler.set_rate(1e6, script.now)
    for lane, mark in ((2, 0), (3, 10)):
        script.another(lane, mark)
    plain = tunnel.streams.open("array", "10.0.0.2", Share("plain"))
    assert script.take(2) == ["OPEN 1#0 array"]
    tunnel.lane_down(2, script.now)
    script.take(1, 1)
    script.acknowledge(plain, 1)
    tunnel.streams.open("array", "10.0.0.2", Share("marked", mark=10))
    assert script.take_all({3: ALL, 1: ALL}) == {3: ["OPEN 3#0 array"], 1: []}


def test_the_newest_of_several_lanes_is_kept_for_what_is_urgent() -> None:
    script, busy, idle = busy_and_idle()
    script.send(busy, 40_000, 40_000)
    assert script.take(2) == []
    assert 2 not in script.tunnel.wanting
    script.send(idle, 100, 100)
    assert 2 in script.tunnel.wanting
    assert script.take(2) == [f"DATA {idle}#1 100"]
    assert script.take(1) == [f"DATA {busy}#5 40000"]


def test_bulk_goes_by_the_lane_that_is_left() -> None:
    script, busy, _ = busy_and_idle()
    script.send(busy, 40_000, 40_000)
    script.tunnel.lane_down(1, script.now)
    assert f"DATA {busy}#5 40000" in script.take(2)


def test_a_silent_lane_is_not_counted_on() -> None:
    """Of two, the older one does not answer: the newer one carries bulk until it does."""
    script, busy, _ = busy_and_idle()
    script.take(1)
    script.tunnel.tick(script.now + 1)
    taken(script.tunnel, 1, 1 << 20, script.now + 1)
    script.tunnel.heard(2, script.now + 5)
    assert LaneSilent(1) in script.at(script.now + 6)
    script.send(busy, 40_000, 40_000)
    assert script.take(2) == [f"DATA {busy}#5 40000"]
    script.tunnel.heard(1, script.now)
    script.send(busy, 40_000, 40_000)
    assert script.take(2) == []
    assert script.take(1) == [f"DATA {busy}#6 40000"]
