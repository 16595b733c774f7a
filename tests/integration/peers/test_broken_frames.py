"""A peer with a valid certificate breaks the protocol on an open lane, in every way there is a rule for.

Each time it is told so: CLOSE 6, with a reason that names the frame, which the site logs as well. All its streams end
by a reset, and the array has received nothing but what was sent before. The other peer, a real site, never notices;
and the one that misbehaved may come back at once.
"""

import contextlib
from collections.abc import Callable

import pytest

from proxy.protocol.codes import CloseCode, FrameType, ResetCode
from proxy.protocol.credit import DATA_OVERHEAD
from proxy.protocol.frames import (
    OVER,
    encode_ack,
    encode_close,
    encode_credit,
    encode_end,
    encode_fill,
    encode_miss,
    encode_reset,
    encode_token,
)
from proxy.protocol.reader import PLAIN_MAX, encode, header
from proxy.reduction.batch import CODEC_NONE, assemble
from proxy.reduction.tokens import learn_token, literal_token, more_token
from tests.integration.bed.ends import END, RESET, Array, Arrival, full_backlog, receipt, swallow, whole
from tests.integration.bed.sites import Bed, eventually
from tests.integration.peers.scripted import ScriptedLane, data, hello, open_
from tests.integration.peers.stage import Hub, hub, peer_of, says
from tests.patience import until

NAME = bytes(32)
SENT = b"what the array may have"


def tunnel(kind: int, payload: bytes = b"", stream: int = 0, number: int = 0) -> bytes:
    return encode(kind, stream, number, payload)


def on_stream(kind: int, payload: bytes, number: int = 2) -> bytes:
    """The third frame of stream 1, on which OPEN and one DATA went before."""
    return encode(kind, 1, number, payload)


def batch(plain: int, tokens: bytes, content: bytes = b"", codec: int = CODEC_NONE) -> bytes:
    return on_stream(FrameType.DATA, assemble(plain, codec, tokens, len(content), [content]))


TUNNEL_FRAMES = {
    "a type that there is not": (header(0x99, 4, 0, 0) + b"none", "frame of type 0x99"),
    "a second HELLO": (tunnel(FrameType.HELLO, hello("rogue", "west").encode()), "HELLO"),
    "PING of seven bytes": (tunnel(FrameType.PING, bytes(7)), "PING"),
    "PONG that answers nothing": (tunnel(FrameType.PONG, encode_token(1 << 60)), "PONG"),
    "PINGs beyond measure": (b"".join(tunnel(FrameType.PING, encode_token(n)) for n in range(40)), "PING"),
    "PING of a stream": (tunnel(FrameType.PING, encode_token(1), stream=1), "PING 0 of stream 1"),
    "ACK of half an entry": (tunnel(FrameType.ACK, bytes(13)), "ACK"),
    "ACK of what was not sent": (tunnel(FrameType.ACK, encode_ack([(1, 9)])), "ACK"),
    "ACK of a stream that never was": (tunnel(FrameType.ACK, encode_ack([(2, 1)])), "ACK"),
    "ACK of the end of a live stream": (tunnel(FrameType.ACK, encode_ack([(1, OVER)])), "ACK"),
    "CREDIT beyond what was sent": (tunnel(FrameType.CREDIT, encode_credit([(1, 1000, 1 << 20)])), "CREDIT"),
    "CREDIT that contradicts itself": (tunnel(FrameType.CREDIT, encode_credit([(1, 0, 0), (1, 1, 0)])), "CREDIT"),
    "CREDIT of half an entry": (tunnel(FrameType.CREDIT, bytes(21)), "CREDIT"),
    "DRAIN that is not UTF-8": (tunnel(FrameType.DRAIN, b"\xff\xfe"), "DRAIN"),
    "CLOSE with an unknown code": (tunnel(FrameType.CLOSE, b"\x00\x63why"), "CLOSE"),
    "CLOSE without a code": (tunnel(FrameType.CLOSE, b"\x00"), "CLOSE"),
}

STREAM_FRAMES = {
    "OPEN of a live stream": (open_(1), "OPEN 0 of stream 1"),
    "OPEN of one of the site's own numbers": (open_(2), "OPEN 0 of stream 2"),
    "OPEN of stream 0": (open_(0), "OPEN"),
    "OPEN that skips too many": (open_(99_999), "OPEN 0 of stream 99999"),
    "OPEN without a name": (encode(FrameType.OPEN, 3, 0, b"\x00\x00"), "OPEN 0 of stream 3"),
    "OPEN that is cut": (encode(FrameType.OPEN, 3, 0, b"\x40array"), "OPEN 0 of stream 3"),
    "ACCEPT of a stream that was not asked for": (on_stream(FrameType.ACCEPT, b""), "ACCEPT 2 of stream 1"),
    "DATA of a stream that never was": (data(3, 0, SENT), "DATA 0 of stream 3"),
    "DATA again": (data(1, 1, SENT), "DATA 1 of stream 1"),
    "DATA of eleven bytes": (on_stream(FrameType.DATA, bytes(11)), "DATA 2 of stream 1"),
    "DATA that delivers nothing": (on_stream(FrameType.DATA, bytes(12)), "DATA 2 of stream 1"),
    "END with another total": (on_stream(FrameType.END, encode_end(7, b"")), "END 2 of stream 1"),
    "END without a total": (on_stream(FrameType.END, bytes(7)), "END 2 of stream 1"),
    "END that delivers": (on_stream(FrameType.END, encode_end(len(SENT), literal_token(1))), "stream 1"),
    "RESET with an unknown code": (on_stream(FrameType.RESET, b"\x00\x63"), "RESET 2 of stream 1"),
    "MISS of nothing": (on_stream(FrameType.MISS, b""), "MISS 2 of stream 1"),
    "MISS of what was not referred to": (on_stream(FrameType.MISS, encode_miss([NAME])), "MISS"),
    "FILL that nobody asked for": (on_stream(FrameType.FILL, encode_fill(NAME, 0, 1, b"x")), "stream 1"),
}

BATCHES = {
    "DATA beyond the credit": (batch(512 << 10, literal_token(1), b"x"), "DATA 2 of stream 1"),
    "a plain length of 4 GiB": (batch(0xFFFFFFFF, literal_token(1), b"x"), "DATA 2 of stream 1"),
    "a token that there is not": (batch(4, b"\x07" * 4), "DATA"),
    "literals that do not sum up": (batch(4, literal_token(3), b"four"), "DATA"),
    "a literal of no bytes": (batch(4, literal_token(0) + literal_token(4), b"four"), "DATA"),
    "less than was announced": (batch(5, literal_token(4), b"four"), "DATA"),
    "a codec that there is not": (batch(4, literal_token(4), b"four", codec=9), "DATA"),
    "MORE without a SLICE": (batch(4, more_token(4)), "DATA"),
    "LEARN of more than came": (batch(4, literal_token(4) + learn_token(4000, NAME), b"four"), "DATA"),
    "a varint of 2^35": (batch(4, b"\x01\xff\xff\xff\xff\x7f", b"four"), "DATA"),
    "a varint in a long form": (batch(4, b"\x01\x84\x00", b"four"), "DATA"),
    "tokens beyond the batch": (
        on_stream(FrameType.DATA, bytes((0, 0, 0, 4, 0, 0xFF, 0xFF, 0xFF, 0, 0, 0, 4)) + b"four"),
        "DATA",
    ),
}


END_FRAME = on_stream(FrameType.END, encode_end(len(SENT), b""))
AFTER_END = {
    "DATA": (END_FRAME + data(1, 3, SENT), "DATA 3 of stream 1"),
    "a second END": (END_FRAME + on_stream(FrameType.END, encode_end(len(SENT), b""), 3), "END 3 of stream 1"),
}


def wait_until_delivered(arrival: Arrival) -> None:
    """The array has what was sent before."""
    until(lambda: len(arrival.data) >= len(SENT), "nothing arrives")


def breach(stage: Hub, array: Array, frames: bytes, named: str, *, ended: str = RESET) -> None:
    """A good stream, then the frames: what the peer is told, what the log says, and what the array has seen."""
    arrivals = len(array.arrivals)
    with stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), data(1, 1, SENT))
        lane.expect(FrameType.ACCEPT)
        wait_until_delivered(array.arrival(arrivals))
        lane.send(frames)
        code, reason = lane.close_of()
        assert code == CloseCode.PROTOCOL_ERROR
        assert named in reason
        says(stage.west, "rogue", reason)
    arrival = array.arrival(arrivals).wait()
    whole(SENT, arrival, ended)


@pytest.mark.parametrize("cases", [TUNNEL_FRAMES, STREAM_FRAMES, BATCHES], ids=["tunnel", "stream", "batch"])
def test_frames_that_break_a_rule(bed: Bed, cases: dict[str, tuple[bytes, str]]) -> None:
    with Array(swallow) as array, hub(bed, array.address, memory="4MiB", window="512KiB") as stage:
        for case, (frames, named) in cases.items():
            try:
                breach(stage, array, frames, named)
            except Exception as error:
                error.add_note(f"the case: {case}")
                raise
        assert stage.west.status()["store"]["chunks"] == 0
        assert stage.east.status()["peers"][0]["outages"] == 0


def test_credit_to_the_last_byte(bed: Bed) -> None:
    """An array that is not there yet takes nothing: all credit may be used, and one byte more is a breach."""
    with contextlib.ExitStack() as stack:
        never = stack.enter_context(full_backlog())
        array = stack.enter_context(Array())
        stage = stack.enter_context(hub(bed, array.address, other=never, connect_timeout="1m"))
        lane = stack.enter_context(stage.dial())
        lane.come_up(hello("rogue", "west"))
        limit = lane.credit_of(1)
        count = -(-limit // PLAIN_MAX)
        sizes = [limit // count + (number < limit % count) - DATA_OVERHEAD for number in range(count)]
        lane.send(open_(1, "other"), *(data(1, number, bytes(size)) for number, size in enumerate(sizes, 1)))
        lane.send(tunnel(FrameType.PING, encode_token(1)))
        lane.expect(FrameType.PONG)
        lane.send(data(1, count + 1, b"x"))
        code, reason = lane.close_of()
        assert code == CloseCode.PROTOCOL_ERROR
        assert f"DATA {count + 1} of stream 1" in reason
        assert "credit" in reason
        stage.still_works(array)


def test_what_comes_after_the_end(bed: Bed) -> None:
    """The array has seen the end in order, for so it was sent; the tunnel ends nevertheless."""
    with Array(swallow) as array, hub(bed, array.address) as stage:
        for frames, named in AFTER_END.values():
            breach(stage, array, frames, named, ended=END)


def test_a_stream_that_ends_in_the_frame_that_breaks_a_rule_leaves_nothing(bed: Bed) -> None:
    """CREDIT for all of it, which nobody is told of any more, and behind it for a stream that never was."""
    with Array() as array, hub(bed, array.address) as stage:
        for _ in range(2):
            with stage.dial() as lane:
                lane.come_up(hello("rogue", "west"))
                lane.send(open_(1), data(1, 1, SENT), encode(FrameType.END, 1, 2, encode_end(len(SENT), b"")))
                lane.expect(FrameType.END)
                taken = len(receipt(SENT)) + DATA_OVERHEAD
                lane.send(tunnel(FrameType.ACK, encode_ack([(1, 3)])))
                assert peer_of(stage.west, "rogue")["streams"] == 1
                lane.send(tunnel(FrameType.CREDIT, encode_credit([(1, taken, 4 << 20), (3, 1, 1 << 20)])))
                assert "CREDIT" in lane.close_of()[1]
            eventually(stage.west, "peers.1.streams", 0)


def test_the_real_peer_and_the_reformed_one_work_right_after(bed: Bed) -> None:
    with Array() as array, hub(bed, array.address) as stage:
        with stage.dial() as lane:
            lane.come_up(hello("rogue", "west"))
            lane.send(open_(2))
            assert lane.close_of()[0] == CloseCode.PROTOCOL_ERROR
        stage.still_works(array)
        with stage.dial() as lane:
            lane.come_up(hello("rogue", "west"))
            lane.send(open_(1), data(1, 1, SENT), encode(FrameType.END, 1, 2, encode_end(len(SENT), b"")))
            assert bytes(lane.expect(FrameType.DATA).payload).endswith(receipt(SENT))
        whole(SENT, array.arrival(1).wait())


def test_frames_out_of_order_wait_for_their_turn(bed: Bed) -> None:
    """Lanes race, so a gap is no fault. What comes behind it is kept, and is not delivered before it closes."""
    parts = [bytes((n,)) * 1000 for n in range(8)]
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        frames = [data(1, number, part) for number, part in enumerate(parts, 1)]
        lane.send(*reversed(frames[1:]), open_(1), frames[0])
        lane.send(encode(FrameType.END, 1, 9, encode_end(8000, b"")))
        whole(b"".join(parts), array.arrival().wait())


def test_what_comes_behind_a_gap_is_never_delivered(bed: Bed) -> None:
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(open_(1), data(1, 1, SENT), data(1, 3, b"leaked"))
        lane.credit_of(1, consumed=len(SENT))
        lane.send(encode(FrameType.RESET, 1, 4, encode_reset(ResetCode.ORIGIN_RESET, "given up")))
        arrival = array.arrival().wait()
        whole(SENT, arrival, RESET)


def test_before_hello_nothing_is_believed(bed: Bed) -> None:
    """Whatever comes instead of HELLO ends the lane as a failed handshake; the tunnel's streams are not touched."""
    instead: dict[str, Callable[[ScriptedLane], None]] = {
        "PING": lambda lane: lane.send(tunnel(FrameType.PING, encode_token(1))),
        "OPEN": lambda lane: lane.send(open_(1)),
        "HELLO": lambda lane: lane.send(tunnel(FrameType.HELLO, b"ISTHMUS\0\0\1\0\1")),
        "HELLO 0 of stream 7": lambda lane: lane.send(
            tunnel(FrameType.HELLO, hello("rogue", "west").encode(), stream=7)
        ),
        "frame of type 0x47": lambda lane: lane.send(b"GET / HTTP/1.1\r\n\r\n"),
    }
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as good:
        good.come_up(hello("rogue", "west"))
        good.send(open_(1), data(1, 1, SENT))
        for named, speak in instead.items():
            with stage.dial() as lane:
                speak(lane)
                code, reason = lane.close_of()
                assert (code, named in reason) == (CloseCode.HANDSHAKE, True), reason
                says(stage.west, reason)
        good.send(data(1, 2, SENT), encode(FrameType.END, 1, 3, encode_end(2 * len(SENT), b"")))
        whole(2 * SENT, array.arrival().wait())


def test_the_reason_of_a_close_is_in_the_other_log_too(bed: Bed) -> None:
    """The peer that is told of its own breach writes it down in its own words of blame."""
    with Array(swallow) as array, hub(bed, array.address) as stage, stage.dial() as lane:
        lane.come_up(hello("rogue", "west"))
        lane.send(tunnel(FrameType.CLOSE, encode_close(CloseCode.PROTOCOL_ERROR, "DATA 17 of stream 4 broke it")))
        lane.ending()
        says(stage.west, "rogue", "DATA 17 of stream 4 broke it", "protocol")
