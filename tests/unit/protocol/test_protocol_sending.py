"""What may be sent and when: room and Writable, whose turn it is, what is held."""

from typing import Any

import pytest

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.events import StreamAccepted, Writable
from proxy.protocol.frames import OVER
from proxy.protocol.notices import ACK_DELAY
from tests.unit.protocol.playbook import Script, batch, taken

KIB = 1 << 10


def rich(streams: int = 1, **settings: Any) -> Script:
    """Accepted streams 1, 3, ... with credit for anything."""
    script = Script(**settings)
    for index in range(streams):
        script.accepted(1 + 2 * index)
        script.credit(1 + 2 * index, 0, 1 << 40)
    script.events()
    return script


def fill(script: Script, stream: int, size: int) -> None:
    """Queue DATA of that many bytes altogether, in batches of 64 KiB."""
    for _ in range(size // (64 * KIB)):
        script.send_literal(stream, 64 * KIB)


def test_room_is_what_the_credit_allows() -> None:
    script = Script()
    script.accepted(1)
    assert script.tunnel.streams.sendable(1) == 64 * KIB - 256
    script.send(1, 60000)
    assert script.tunnel.streams.sendable(1) == 5024
    script.send(1, 1000)
    assert script.tunnel.streams.sendable(1) == 0, "too little to be worth a frame"


def test_room_is_at_most_one_batch() -> None:
    assert rich().tunnel.streams.sendable(1) == 512 * KIB


def test_a_stream_queues_512_kib_at_most() -> None:
    script = rich()
    fill(script, 1, 448 * KIB)
    assert script.tunnel.streams.sendable(1) == 64 * KIB
    fill(script, 1, 64 * KIB)
    assert script.tunnel.streams.sendable(1) == 0
    assert script.take(limit=1) == ["DATA 1#1 65536"]
    assert script.events() == []
    assert script.tunnel.streams.sendable(1) == 64 * KIB


def test_while_lanes_are_busy_a_stream_hears_of_room_when_little_waits() -> None:
    """Batch by batch it would stop and go on with each."""
    script = rich()
    for _ in range(8):
        fill(script, 1, 64 * KIB)
    assert script.room(1) == 0
    for _ in range(4):
        script.take(limit=1)
        assert script.events() == []
    script.take(limit=1)
    assert script.events() == [Writable(1)]
    assert script.room(1) == 320 * KIB


def test_a_stream_hears_of_any_room_once_nothing_waits() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 64000)
    assert script.room(1) == 0
    assert script.credit(1, 0, 72 * KIB) == []
    script.take()
    assert script.events() == [Writable(1)]


def test_writable_counts_from_what_was_sent_since() -> None:
    script = rich()
    assert script.room(1) == 512 * KIB
    fill(script, 1, 256 * KIB)
    script.take(limit=1)
    assert script.events() == [Writable(1)]


def test_all_streams_hold_unacked_max_and_each_a_little() -> None:
    script = rich(2, unacked_max=1 << 20)
    for _ in range(4):
        fill(script, 1, 256 * KIB)
        script.take()
    assert script.room(1) == 0
    assert script.room(3) == 16 * KIB
    assert script.tunnel.streams.sendable(3, 6 * KIB) == 10 * KIB, "beside what the peer knows"
    script.acknowledge(1, 5)
    assert script.room(1) > 200 * KIB


def test_who_may_send_little_because_of_others_hears_when_they_hold_less() -> None:
    script = rich(2, unacked_max=1 << 20)
    for size in (256, 256, 256, 192):
        fill(script, 1, size * KIB)
        script.take()
    assert 48 * KIB < script.room(3) < 64 * KIB
    assert Writable(3) in script.acknowledge(1, 5)


def test_writable_after_acknowledgements_made_room() -> None:
    script = rich(2, unacked_max=256 * KIB)
    fill(script, 1, 256 * KIB)
    assert script.room(1) == 0
    assert script.room(3) == 16 * KIB
    script.take()
    assert script.events() == []
    assert script.acknowledge(1, 3) == [Writable(1), Writable(3)]


def test_writable_after_another_stream_was_reset() -> None:
    script = rich(2, unacked_max=256 * KIB)
    fill(script, 1, 256 * KIB)
    assert script.room(3) == 16 * KIB
    script.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "")
    assert script.events() == [Writable(3)]


def test_writable_when_resets_have_crossed() -> None:
    """No ACK comes for a RESET that the peer's own one has answered; many of them may have held all that there was."""
    script = Script(allowed=101, unacked_max=64 * KIB)
    script.accepted(1)
    others = [script.accepted(stream) for stream in range(3, 203, 2)]
    for stream in others:
        script.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "x" * 512)
    script.send_literal(1, 16 * KIB)
    script.take()
    assert script.room(1) == 0
    assert [event for stream in others for event in script.reset(stream, 1)] == [Writable(1)]


def test_writable_after_credit_and_then_room() -> None:
    """Credit comes while all streams together hold too much: the stream is not forgotten when they no longer do."""
    script = rich(2, unacked_max=256 * KIB)
    third = script.accepted(5)
    fill(script, 1, 192 * KIB)
    script.send_literal(third, 64 * KIB - 256)
    assert script.room(third) == 0
    script.take()
    assert script.acknowledge(1, 1) == []
    assert script.credit(third, 0, 128 * KIB) == []
    assert script.acknowledge(1, 4) == [Writable(5)]


def test_writable_when_the_peer_accepts() -> None:
    script = Script()
    script.open(2)
    assert script.room(2) == 0
    script.tunnel.streams.accept(2)
    assert script.events() == [Writable(2)]


def test_data_may_be_sent_before_the_peer_accepts() -> None:
    script = Script()
    stream = script.tunnel.streams.open("array", "")
    assert script.room(stream) == 64 * KIB - 256
    assert script.give(FrameType.ACCEPT, 1, 0) == [StreamAccepted(1)]


def test_writable_is_said_once_for_each_answer() -> None:
    script = Script()
    script.accepted(1)
    script.room(1)
    assert script.credit(1, 0, 70000) == [Writable(1)]
    assert script.credit(1, 0, 80000) == []
    script.room(1)
    assert script.credit(1, 0, 80000) == []
    assert script.credit(1, 0, 90000) == [Writable(1)]


def test_nobody_is_told_who_did_not_ask_to_be() -> None:
    script = Script()
    script.accepted(1)
    assert script.tunnel.streams.sendable(1) < 70000
    assert script.credit(1, 0, 70000) == []
    script.tunnel.streams.await_room(1)
    script.send(1, 60000)
    script.take()
    assert script.credit(1, 0, 69000) == [], "it was told of more"
    assert script.credit(1, 0, 75000) == [Writable(1)]


def test_take_gives_about_what_is_asked_for() -> None:
    script = rich()
    fill(script, 1, 512 * KIB)
    assert len(script.take(limit=100_000)) == 2
    assert len(script.take(limit=1)) == 1
    assert len(script.take()) == 5


def test_pieces_are_not_copied_and_small_ones_are_whole() -> None:
    script = rich()
    large = batch(64 * KIB, filling=64 * KIB)
    script.tunnel.streams.send_data(1, large, 64 * KIB)
    script.send(1, 9)
    pieces = taken(script.tunnel, 1, 1 << 30, 0.0)
    assert [len(piece) for piece in pieces] == [16, len(large), 16 + 12]
    assert pieces[1] is large


def test_bulk_goes_round_robin() -> None:
    script = rich(3)
    for stream in (1, 3, 5):
        fill(script, stream, 192 * KIB)
    streams = [text.split("#")[0] for text in script.take()]
    for turn in range(0, 9, 3):
        assert sorted(streams[turn : turn + 3]) == ["DATA 1", "DATA 3", "DATA 5"]


def test_a_stream_that_sent_little_lately_goes_before_bulk() -> None:
    script = rich(2)
    fill(script, 1, 512 * KIB)
    script.take(limit=1)
    script.send(3, 48)
    assert script.take(limit=70_000) == ["DATA 3#1 48", "DATA 1#2 65536", "DATA 1#3 65536"]


def test_a_stream_that_sends_much_again_is_bulk_as_well() -> None:
    """Or who was busiest when a lane was lost would be first, with all that it had under way."""
    script = rich(2)
    fill(script, 1, 256 * KIB)
    script.take()
    script.another(2)
    script.now += 1.0
    fill(script, 3, 256 * KIB)
    script.tunnel.lane_down(1, script.now)
    streams = [text.split("#")[0] for text in script.take(2) if text.startswith("DATA")]
    assert {*streams[:4]} == {"DATA 1", "DATA 3"}


def test_what_is_not_data_goes_before_bulk() -> None:
    script = rich(2)
    fill(script, 1, 512 * KIB)
    fill(script, 3, 128 * KIB)
    script.take(limit=200_000)
    script.tunnel.streams.send_miss(3, [bytes(32)])
    script.tunnel.streams.open("array", "")
    assert script.take(limit=1)[0] == "MISS 3#3 1"
    assert script.take(limit=1)[0] == "OPEN 5#0 array"


def test_frames_of_the_tunnel_go_first() -> None:
    script = rich()
    fill(script, 1, 128 * KIB)
    script.open(2)
    script.at(script.now + ACK_DELAY)
    assert script.take(limit=1) == ["ACK 2:1"]


@pytest.mark.parametrize("frames", [10, 1000])
def test_a_stream_that_the_peer_never_acknowledges_does_not_grow(frames: int) -> None:
    script = rich()
    for _ in range(frames):
        if script.tunnel.streams.sendable(1):
            script.send(1, 4096, 4000)
    script.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "x" * 1000)
    script.take()
    assert script.tunnel.figures.unacked_bytes == 256 + 2 + 512
    script.acknowledge(1, OVER)
    assert script.tunnel.figures.unacked_bytes == 0
