"""States of a stream: the table of PROTOCOL.md, walked frame by frame; whatever it does not list is an error."""

from collections.abc import Callable

import pytest

from proxy.protocol.codes import Capability, FrameType, ResetCode
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.events import (
    DataReceived,
    FillReceived,
    MissReceived,
    StreamAccepted,
    StreamEnded,
    StreamOffered,
    StreamReset,
)
from proxy.protocol.frames import encode_end, encode_fill, encode_miss, encode_open, encode_reset, encode_waive
from proxy.protocol.stream import TRANSITIONS, State
from tests.unit.protocol.playbook import Script, batch

NAME = bytes(range(32))

PAYLOADS = {
    FrameType.OPEN: encode_open("array", "10.0.0.1"),
    FrameType.ACCEPT: b"",
    FrameType.DATA: batch(10),
    FrameType.END: encode_end(0, b""),
    FrameType.MISS: encode_miss([NAME]),
    FrameType.FILL: encode_fill(NAME, 0, 1, b"x"),
    FrameType.WAIVE: encode_waive(1),
    FrameType.RESET: encode_reset(ResetCode.ORIGIN_RESET, "why"),
}


def idle(script: Script) -> tuple[int, int]:
    """Stream, and the number of the next frame."""
    return 2, 0


def opening(script: Script) -> tuple[int, int]:
    return script.tunnel.streams.open("array", ""), 0


def offered(script: Script) -> tuple[int, int]:
    script.open(2)
    return 2, 1


def offered_ended(script: Script) -> tuple[int, int]:
    script.open(2)
    script.end(2, 1)
    return 2, 2


def accepted_by_peer(script: Script) -> tuple[int, int]:
    return script.accepted(1), 1


def accepted_by_us(script: Script) -> tuple[int, int]:
    script.open(2)
    script.tunnel.streams.accept(2)
    return 2, 1


def open_ended(script: Script) -> tuple[int, int]:
    script.accepted(1)
    script.end(1, 1)
    return 1, 2


def ended_before_accepted(script: Script) -> tuple[int, int]:
    stream, number = offered_ended(script)
    script.tunnel.streams.accept(stream)
    return stream, number


REACHED: list[tuple[Callable[[Script], tuple[int, int]], State]] = [
    (idle, State.IDLE),
    (opening, State.OPENING),
    (offered, State.OFFERED),
    (offered_ended, State.OFFERED_ENDED),
    (accepted_by_peer, State.OPEN),
    (accepted_by_us, State.OPEN),
    (open_ended, State.OPEN_ENDED),
    (ended_before_accepted, State.OPEN_ENDED),
]


@pytest.mark.parametrize(("reach", "state"), REACHED)
@pytest.mark.parametrize("kind", sorted(set(PAYLOADS) - {FrameType.RESET}))
def test_the_table(reach: Callable[[Script], tuple[int, int]], state: State, kind: FrameType) -> None:
    script = Script(capabilities=[Capability.WAIVERS])
    stream, number = reach(script)
    script.take()
    if stream == 1:
        script.acknowledge(stream, 1)
    if (state, kind) in TRANSITIONS:
        assert bool(script.give(kind, stream, number, PAYLOADS[kind])) is (kind is not FrameType.WAIVE)
    else:
        words = state.name.lower().replace("_", " ")
        with pytest.raises(PeerError, match=f"{kind.name} {number} of stream {stream}.*not allowed in state {words}$"):
            script.give(kind, stream, number, PAYLOADS[kind])


@pytest.mark.parametrize("reach", [reach for reach, _ in REACHED[1:]])
def test_reset_ends_every_state(reach: Callable[[Script], tuple[int, int]]) -> None:
    script = Script()
    stream, number = reach(script)
    script.events()
    assert script.reset(stream, number) == [StreamReset(stream, ResetCode.ORIGIN_RESET, "why", remote=True)]
    assert script.tunnel.figures.streams == 0


def test_a_stream_that_we_open() -> None:
    script = Script()
    stream = script.tunnel.streams.open("array", "10.0.0.2")
    script.send(stream, 500)
    assert script.take() == ["OPEN 1#0 array", "DATA 1#1 500"]
    assert script.give(FrameType.MISS, 1, 0, PAYLOADS[FrameType.MISS]) == [MissReceived(1, (NAME,))]
    script.tunnel.streams.send_fill(1, NAME, b"abc")
    assert script.take() == ["FILL 1#2 3"]
    assert script.give(FrameType.ACCEPT, 1, 1) == [StreamAccepted(1)]
    assert script.data(1, 2, 70) == [DataReceived(1, 70, batch(70))]
    script.tunnel.streams.consumed(1)
    assert script.give(FrameType.END, 1, 3, encode_end(70, b"learn")) == [StreamEnded(1, 70, b"learn")]
    script.tunnel.streams.send_end(1, 500, b"learn")
    assert script.flush() == ["ACK 1:4", "CREDIT 1:326/65536", "END 1#3 500"]


def test_a_stream_that_the_peer_opens() -> None:
    script = Script()
    assert script.open(2) == [StreamOffered(2, "array", "10.0.0.1")]
    assert script.data(2, 1, 70) == [DataReceived(2, 70, batch(70))]
    script.tunnel.streams.send_miss(2, [NAME])
    assert script.flush() == ["ACK 2:2", "MISS 2#0 1"]
    fill = script.give(FrameType.FILL, 2, 2, PAYLOADS[FrameType.FILL])
    assert fill == [FillReceived(2, NAME, 0, 1, b"x")]
    script.tunnel.streams.accept(2)
    script.send(2, 5)
    assert script.flush() == ["ACK 2:3", "ACCEPT 2#1", "DATA 2#2 5"]


def test_the_acceptor_does_not_send_before_it_has_accepted() -> None:
    script = Script()
    script.open(2)
    assert script.tunnel.streams.sendable(2) == 0
    with pytest.raises(Misuse, match="stream 2 is offered: it cannot send yet"):
        script.send(2, 5)
    with pytest.raises(Misuse, match="stream 2 is offered"):
        script.tunnel.streams.send_end(2, 0, b"")


@pytest.mark.parametrize("total", [69, 71])
def test_an_end_after_another_total(total: int) -> None:
    script = Script()
    script.accepted(1)
    script.data(1, 1, 70)
    with pytest.raises(PeerError, match=f"END 2 of stream 1.*the end after {total} bytes, but 70 came"):
        script.end(1, 2, total)


def test_ends_that_we_must_not_send() -> None:
    script = Script()
    script.accepted(1)
    with pytest.raises(Misuse, match="END of stream 1 after 5 bytes, but 0 were sent"):
        script.tunnel.streams.send_end(1, 5, b"")
    script.tunnel.streams.send_end(1, 0, b"")
    assert script.tunnel.streams.sendable(1) == 0
    with pytest.raises(Misuse, match="DATA after END"):
        script.send(1, 5)
    with pytest.raises(Misuse, match="END after END"):
        script.tunnel.streams.send_end(1, 0, b"")


def test_streams_that_never_were() -> None:
    tunnel = Script().tunnel
    with pytest.raises(Misuse, match="there never was a stream 5"):
        tunnel.streams.sendable(5)
    with pytest.raises(Misuse, match="there never was a stream 6"):
        tunnel.streams.reset(6, ResetCode.INTERNAL, "")


def test_streams_that_have_just_ended_take_everything_and_do_nothing() -> None:
    script = Script()
    script.accepted(1)
    script.reset(1, 1)
    script.flush()
    tunnel = script.tunnel
    tunnel.streams.accept(1)
    tunnel.streams.send_data(1, batch(5), 5)
    tunnel.streams.send_end(1, 0, b"")
    tunnel.streams.send_miss(1, [NAME])
    tunnel.streams.send_fill(1, NAME, b"")
    tunnel.streams.consumed(1)
    tunnel.streams.reset(1, ResetCode.INTERNAL, "")
    assert tunnel.streams.sendable(1) == 0
    assert script.take() == []


def test_accept_twice_says_it_once() -> None:
    script = Script()
    script.open(2)
    script.tunnel.streams.accept(2)
    script.tunnel.streams.accept(2)
    assert script.flush() == ["ACK 2:1", "ACCEPT 2#0"]
