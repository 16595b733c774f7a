"""A lane gives its owner frames as long as there is time for them, and leaves none behind."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import MagicMock, call

import pytest

from proxy.bounded_tls import Idle
from proxy.net import lane as lanes
from proxy.net.lane import LONG, READ_OVER, Lane
from proxy.net.rounds import LONGEST, Rounds
from proxy.net.sockets import BBR
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.frames import encode_close
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, encode
from tests.unit.net.loop import Clock, Loop
from tests.unit.protocol.playbook import Script

EACH = LONGEST / 2.99
"""So three frames are a round's."""


@dataclass
class Owner:
    """Frames that take their time."""

    clock: Clock
    numbers: list[int] = field(default_factory=list)
    bursts: int = 0
    parts: int = 0
    broken: str = ""
    reason: str = ""
    needless: bool | None = None
    flood: str = ""
    barred: bool = False
    congestion_control: str = ""
    then: Callable[[], None] = field(default=lambda: None)
    hello: Callable[[Lane, Hello], None] = field(default_factory=MagicMock)

    def frame(self, lane: Lane, frame: Frame) -> None:
        self.clock.now += EACH
        if frame.type == FrameType.ACK:
            raise PeerError.of(frame, "is unwanted")
        self.numbers.append(frame.number)
        self.then()

    def burst(self, lane: Lane) -> None:
        self.bursts += 1

    def heard(self, lane: Lane) -> None:
        self.parts += 1

    def breach(self, reason: str) -> None:
        self.broken = reason

    def lost(self, lane: Lane, reason: str) -> None:
        self.reason, self.needless = reason, lane.needless

    def bars(self, lane: Lane) -> bool:
        return self.barred

    def flooded(self, lane: Lane, reason: str) -> None:
        self.flood = reason


@dataclass
class Stage:
    lane: Lane
    owner: Owner
    transport: Any
    loop: Loop

    def brings(self, *frames: bytes) -> None:
        """One read's bytes."""
        data = b"".join(frames)
        self.lane.get_buffer(0)[: len(data)] = data
        self.lane.buffer_updated(len(data))

    @property
    def reading(self) -> bool:
        calls = [name for name, _, _ in self.transport.method_calls if name.endswith("_reading")]
        return calls[-1:] != ["pause_reading"]


@pytest.fixture
def silent(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A lane that was dialled, and has not heard HELLO."""
    for name in ("Outlet", "Unpaused", "choose_congestion_control", "tcp_info"):
        monkeypatch.setattr(lanes, name, MagicMock())
    owner, transport = Owner(Clock()), MagicMock(spec=asyncio.Transport)
    transport.get_extra_info.side_effect = lambda name: ("192.0.2.1", 4500) if name == "peername" else MagicMock()
    lane = Lane(owner, dialler=True)
    lane.connection_made(transport)
    return Stage(lane, owner, transport, loop)


@pytest.mark.parametrize("kind", [FrameType.HELLO, FrameType.CLOSE])
@pytest.mark.parametrize(("stream", "number"), [(7, 0), (0, 1)])
def test_what_comes_first_belongs_to_no_stream_either(silent: Stage, kind: FrameType, stream: int, number: int) -> None:
    payload = Script().peer.encode() if kind is FrameType.HELLO else encode_close(CloseCode.SURPLUS, "")
    silent.brings(encode(kind, stream, number, payload))
    assert silent.owner.reason.startswith(
        f"{kind.name} {number} of stream {stream} broke the protocol: it belongs to no"
    )


@pytest.fixture
def stage(silent: Stage) -> Stage:
    """A lane that is up."""
    silent.lane.start(silent.owner, Rounds(silent.owner.clock))  # type: ignore[arg-type]
    return silent


def ping(number: int) -> bytes:
    return encode(FrameType.PING, 0, number, bytes(8))


def test_only_what_comes_up_is_numbered(silent: Stage) -> None:
    """A peer that is away for an hour is dialled thousands of times: the next lane looked as if so many had come and
    gone."""
    numbers = []
    for lane in (silent.lane, Lane(silent.owner, dialler=True)):
        for _ in range(5):
            assert Lane(silent.owner, dialler=True).number == 0
        lane.connection_made(silent.transport)
        lane.start(silent.owner, Rounds(silent.owner.clock))  # type: ignore[arg-type]
        numbers.append(lane.number)
    assert numbers[1] == numbers[0] + 1 > 1


def test_few_frames_are_given_at_once(stage: Stage) -> None:
    stage.brings(ping(1), ping(2))
    assert (stage.owner.numbers, stage.owner.bursts) == ([1, 2], 1)
    stage.transport.pause_reading.assert_not_called()


def test_many_are_given_in_rounds_and_nothing_is_read_meanwhile(stage: Stage) -> None:
    stage.brings(*map(ping, range(8)))
    seen = [(len(stage.owner.numbers), stage.reading)]
    for _ in range(3):
        stage.loop.next_round()
        seen.append((len(stage.owner.numbers), stage.reading))
    assert seen == [(3, False), (6, False), (8, True), (8, True)]
    assert stage.owner.numbers == list(range(8))
    assert stage.owner.bursts == 3


def test_half_a_frame_is_kept_until_the_rest_comes(stage: Stage) -> None:
    whole = ping(3)
    stage.brings(*map(ping, range(3)), whole[:5])
    stage.loop.next_round()
    assert (stage.owner.numbers, stage.reading) == ([0, 1, 2], True)
    stage.brings(whole[5:])
    assert stage.owner.numbers == [0, 1, 2, 3]


def test_bytes_of_a_frame_that_is_not_whole_are_told_as_a_sign_of_life(stage: Stage) -> None:
    whole = ping(1)
    stage.brings(whole[:5])
    assert (stage.owner.numbers, stage.owner.bursts, stage.owner.parts) == ([], 0, 1)
    stage.brings(whole[5:])
    assert (stage.owner.numbers, stage.owner.bursts, stage.owner.parts) == ([1], 1, 1)


def test_a_lane_that_ends_meanwhile_gives_nothing_more(stage: Stage) -> None:
    stage.brings(*map(ping, range(8)))
    stage.lane.connection_lost(None)
    stage.loop.next_round()
    assert stage.owner.numbers == [0, 1, 2]
    assert stage.owner.reason == "the other side closed the connection"


def test_nor_one_that_its_owner_ends(stage: Stage) -> None:
    stage.owner.then = lambda: stage.lane.abort("enough")
    stage.brings(*map(ping, range(8)))
    stage.loop.next_round()
    assert stage.owner.numbers == [0]
    stage.transport.resume_reading.assert_not_called()


@pytest.mark.parametrize("needless", [False, True])
def test_who_is_told_of_an_end_knows_whether_it_is_a_failure(stage: Stage, needless: bool) -> None:
    stage.lane.close(CloseCode.SURPLUS, "enough", needless=needless)
    assert stage.owner.needless is needless


@pytest.mark.parametrize("code", [CloseCode.SURPLUS, CloseCode.NOT_A_PEER])
def test_a_visitor_that_only_looked_is_no_failure(silent: Stage, code: CloseCode) -> None:
    silent.lane.dialler = False
    silent.brings(encode(FrameType.CLOSE, 0, 0, encode_close(code, "seen")))
    assert silent.owner.needless is (code is CloseCode.SURPLUS)


def test_a_breach_in_a_later_round_is_one(stage: Stage) -> None:
    stage.brings(*map(ping, range(4)), encode(FrameType.ACK, 0, 0))
    assert not stage.owner.broken
    stage.loop.next_round()
    assert "is unwanted" in stage.owner.broken


def test_after_a_defect_in_a_later_round_the_lane_is_gone(stage: Stage) -> None:
    """Nobody would read it any more, nor notice for long."""
    stage.brings(*map(ping, range(8)))
    stage.owner.then = MagicMock(side_effect=KeyError)
    with pytest.raises(KeyError):
        stage.loop.next_round()
    assert stage.owner.reason == "a defect: KeyError"
    stage.transport.abort.assert_called_once_with()


def test_what_comes_when_other_lanes_have_used_up_the_round_waits_for_the_next(silent: Stage) -> None:
    """128 lanes, each with a frame that takes 0.1 s, had the site stand still for 11 s."""
    rounds = Rounds(silent.owner.clock)
    silent.lane.start(silent.owner, rounds)  # type: ignore[arg-type]
    with rounds:
        silent.owner.clock.now += LONGEST
    silent.brings(ping(1))
    assert (silent.owner.numbers, silent.reading) == ([], False)
    silent.loop.next_round()
    assert (silent.owner.numbers, silent.reading) == ([1], True)


def test_what_tls_takes_is_of_the_round(stage: Stage) -> None:
    """Records of one byte: 256 KiB of them take 30 ms, and 8 MiB may come at once."""
    frame = ping(1)
    stage.lane.get_buffer(0)[: len(frame)] = frame
    stage.owner.clock.now += LONGEST
    stage.lane.buffer_updated(len(frame))
    assert (stage.owner.numbers, stage.reading) == ([], False)
    stage.loop.next_round()
    assert (stage.owner.numbers, stage.reading) == ([1], True)


def test_what_comes_with_hello_is_of_the_peers_round(silent: Stage) -> None:
    """Each of 200 lanes that came up at once had a round of its own for it, which took 1.3 s."""
    rounds = Rounds(silent.owner.clock)
    silent.owner.hello = lambda lane, _: lane.start(silent.owner, rounds)  # type: ignore[arg-type]
    with rounds:
        silent.owner.clock.now += LONGEST
    silent.brings(encode(FrameType.HELLO, 0, 0, Script().peer.encode()), ping(1))
    assert (silent.owner.numbers, silent.reading) == ([], False)
    silent.loop.next_round()
    assert (silent.owner.numbers, silent.reading) == ([1], True)


def test_who_is_barred_is_not_read(silent: Stage) -> None:
    silent.owner.barred = True
    silent.lane.connection_made(silent.transport)
    silent.transport.abort.assert_called_once_with()
    assert "no data" in silent.owner.reason


def test_its_owner_hears_of_messages_of_tls_that_are_no_data(stage: Stage) -> None:
    stage.lane.connection_lost(Idle(ssl.SSL_ERROR_SSL, "too many"))
    assert stage.owner.flood == "too many"


def test_one_that_answers_nothing_is_closed_ten_seconds_after_it_was_connected(silent: Stage) -> None:
    reasons = []
    for seconds in (9.9, 0.2):
        silent.loop.run(seconds)
        reasons.append(silent.owner.reason)
    assert reasons == ["", "no HELLO within 10 s"]
    assert silent.lane.late


def test_one_that_is_up_has_no_such_limit(stage: Stage) -> None:
    stage.loop.run(100)
    assert not stage.owner.reason


def test_who_have_both_said_close_do_not_wait_for_each_other(stage: Stage) -> None:
    stage.lane.close(CloseCode.SHUTDOWN, "enough")
    stage.brings(ping(1), ping(2))
    stage.transport.abort.assert_not_called()
    stage.brings(encode(FrameType.CLOSE, 0, 0, encode_close(CloseCode.SHUTDOWN, "here, too")))
    stage.transport.abort.assert_called_once_with()
    assert (stage.owner.numbers, stage.owner.reason) == ([], "enough")


def test_one_that_waits_for_its_round_is_read_again_once_it_is_closed(stage: Stage) -> None:
    """To see that the other side ends it."""
    stage.brings(*map(ping, range(8)))
    reading = [stage.reading]
    stage.lane.close(CloseCode.SHUTDOWN, "enough")
    reading.append(stage.reading)
    stage.loop.next_round()
    assert [*reading, stage.reading] == [False, True, True]
    assert stage.owner.numbers == [0, 1, 2]


def test_no_more_is_read_over_than_a_lane_may_have_under_way(stage: Stage) -> None:
    """126 lanes full of frames of 16 bytes, and one more that broke the protocol, had the site stand still for 12 s."""
    stage.lane.close(CloseCode.PROTOCOL_ERROR, "enough")
    stage.brings(*map(ping, range(READ_OVER - 1)))
    reading = [stage.reading]
    stage.brings(ping(READ_OVER), encode(FrameType.CLOSE, 0, 0, encode_close(CloseCode.SHUTDOWN, "unseen")))
    reading.append(stage.reading)
    assert reading == [True, False]
    stage.transport.abort.assert_not_called()
    stage.loop.run(1.1)
    stage.transport.abort.assert_called_once_with()


@pytest.mark.parametrize("data", [b"\xff" * 64, b"x" * 4096])
def test_what_makes_no_sense_is_not_read_over(stage: Stage, data: bytes) -> None:
    """But the lane is left for a second, or its sender might not hear why it ends."""
    stage.lane.close(CloseCode.PROTOCOL_ERROR, "enough")
    for _ in range(100):
        stage.brings(data)
    assert not stage.reading
    stage.transport.abort.assert_not_called()
    stage.loop.run(1.1)
    stage.transport.abort.assert_called_once_with()


def test_what_cannot_be_said_within_a_second_is_given_up(stage: Stage) -> None:
    """The transport waits for a peer that reads nothing, and for its part of the end of TLS."""
    stage.lane.close(CloseCode.PROTOCOL_ERROR, "enough")
    stage.transport.abort.assert_not_called()
    stage.loop.run(1.1)
    stage.transport.abort.assert_called_once()


def test_long_pieces_are_not_copied_and_short_ones_are_no_record_each(stage: Stage) -> None:
    stage.transport.is_closing.return_value = False
    head, payload, short = bytes(16), b"p" * LONG, b"s" * (LONG - 1)
    stage.lane.write([head, payload, head, short, head, payload])
    (given,) = stage.transport.writelines.call_args.args
    assert given == [head, payload, head + short + head, payload]
    assert given[1] is payload
    assert given[3] is payload


@pytest.mark.parametrize("light", [True, False])
def test_what_keeps_bbr_from_pausing_is_told_how_the_lane_is_used(stage: Stage, light: bool) -> None:
    lane: Any = stage.lane
    lane.congestion_control = BBR
    lane.unpause(5.0, light=light, calm=False, capped=True)
    told = lane._unpaused.light if light else lane._unpaused.bulk
    assert lane.congestion_control is told.return_value
    if not light:
        held = lane._outlet.held.return_value
        assert told.call_args == call(lane._last_info, 5.0, calm=False, capped=True, held=held)


@pytest.mark.parametrize(("wanted", "changes"), [("reno", True), (BBR, False), ("", False)])
def test_another_congestion_control_begins_without_what_the_former_one_was_told(
    stage: Stage, wanted: str, changes: bool
) -> None:
    lane: Any = stage.lane
    lane.congestion_control, former = BBR, lane._unpaused
    lanes.Unpaused.return_value = MagicMock()  # type: ignore[attr-defined]
    lane.congest(wanted)
    assert former.end.called == changes
    assert (lane._unpaused is not former) == changes
    assert (lane.congestion_control != BBR) == changes


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize(
    ("late", "limited", "found"),
    [(True, False, True), (False, True, True), (True, True, True), (False, False, False)],
)
def test_under_a_ceiling_any_delay_counts(stage: Stage, apart: bool, late: bool, limited: bool, found: bool) -> None:
    lane: Any = stage.lane
    lane._unpaused.limited = limited
    lane.stand_apart(apart, late=late)
    assert (lane._outlet.portion.apart, lane._outlet.portion.late) == (apart, found)


def test_one_whose_connection_has_failed_takes_nothing_before_it_hears_of_that(stage: Stage) -> None:
    """That is told a turn of the loop later; what was given to such a lane meanwhile was given to no other."""
    stage.transport.is_closing.return_value = True
    assert stage.lane.room() == 0
    stage.lane.write([b"frame"])
    stage.transport.writelines.assert_not_called()
