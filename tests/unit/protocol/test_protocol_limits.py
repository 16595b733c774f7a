"""How many streams there may be: ours at the peer, the peer's here, and what refused ones may leave behind."""

from collections.abc import Callable

import pytest

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.errors import Misuse, OpenRefused, PeerError
from proxy.protocol.events import StreamOffered
from proxy.protocol.frames import OVER, encode_ack
from proxy.protocol.outgoing import UNCREDITED_BYTES
from proxy.protocol.reader import CHUNK_MAX, REASON_MAX
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.window import WindowBudget
from tests.unit.protocol.playbook import Script, tunnel
from tests.unit.protocol.windows import use_up, window


def test_nothing_is_opened_before_a_lane_was_up() -> None:
    with pytest.raises(OpenRefused, match="there is no tunnel to right"):
        tunnel("left", "right").streams.open("array", "")


def test_an_outage_does_not_keep_streams_from_being_opened() -> None:
    script = Script()
    script.tunnel.lane_down(1, 0.0)
    script.tunnel.streams.open("array", "")
    script.join(2)
    assert script.take(2)[-1] == "OPEN 1#0 array"


def test_we_open_no_more_than_the_peer_allows() -> None:
    script = Script()
    streams = [script.tunnel.streams.open("array", "") for _ in range(4)]
    with pytest.raises(OpenRefused, match="the peer allows no more than 4 streams"):
        script.tunnel.streams.open("array", "")
    script.tunnel.streams.reset(streams[0], ResetCode.ORIGIN_RESET, "")
    with pytest.raises(OpenRefused):
        script.tunnel.streams.open("array", "")
    script.take()
    script.acknowledge(streams[0], OVER)
    assert script.tunnel.streams.open("array", "") == 9


def test_the_peers_streams_beyond_the_limit_are_refused() -> None:
    script = Script(streams=2)
    script.open(2)
    script.open(4)
    assert script.open(6) == []
    assert script.data(6, 1, 60000) == []
    assert script.flush() == ["ACK 2:1 4:1", "RESET 6#0 TOO_MANY_STREAMS"]
    assert script.reset(2, 1) != []
    assert script.open(8) == [StreamOffered(8, "array", "10.0.0.1")]


def test_streams_beyond_the_memory_are_refused() -> None:
    script = Script(memory=3 << 16)
    for stream in (2, 4, 6):
        assert len(script.open(stream)) == 1
    assert script.open(8) == []
    assert "RESET 8#0 TOO_MANY_STREAMS" in script.flush()
    assert script.tunnel.figures.credit_bytes == 3 << 16
    with pytest.raises(OpenRefused, match="memory does not allow another stream"):
        script.tunnel.streams.open("array", "")
    script.reset(2, 1)
    assert script.tunnel.figures.credit_bytes == 2 << 16
    script.tunnel.streams.open("array", "")


@pytest.mark.parametrize(("streams", "most"), [(2, 1024), (300, 1200)])
def test_a_peer_that_ignores_its_resets(streams: int, most: int) -> None:
    script = Script(streams=streams, memory=1 << 26)
    last = 2 * (streams + most)
    for stream in range(2, last + 2, 2):
        script.open(stream)
    assert script.tunnel.figures.streams == streams + most
    with pytest.raises(PeerError, match=f"{most} resets of the peer's streams are not acknowledged yet"):
        script.open(last + 2)


def test_a_peer_that_may_have_one_stream_and_whose_words_lag() -> None:
    """Its array tries a dozen times, and is refused, while all that it says of that stands still in one of its lanes:
    it has done nothing wrong, and the tunnel ended with all streams."""
    script = Script(streams=1)
    for stream in range(2, 26, 2):
        assert script.open(stream) == [StreamOffered(stream, "array", "10.0.0.1")]
        script.tunnel.streams.reset(stream, ResetCode.UNREACHABLE, "no answer")
        assert f"RESET {stream}#0 UNREACHABLE" in script.flush()
    script.give(FrameType.ACK, 0, 0, encode_ack([(stream, OVER) for stream in range(2, 26, 2)]))
    assert script.tunnel.figures.streams == 0


def test_a_peer_that_acknowledges_its_resets_may_go_on_for_ever() -> None:
    script = Script(streams=2)
    script.open(2)
    script.open(4)
    for stream in range(6, 2006, 2):
        assert script.open(stream) == []
        assert f"RESET {stream}#0 TOO_MANY_STREAMS" in script.flush()
        script.give(FrameType.ACK, 0, 0, encode_ack([(stream, OVER)]))
    assert script.tunnel.figures.streams == 2


def fill_up(script: Script, stream: int, each: Callable[[], object] = lambda: None) -> int:
    """Send one FILL after the other for as long as another one fits; how many that were."""
    for count in range(2 * UNCREDITED_BYTES // CHUNK_MAX):
        if not script.tunnel.streams.fill_fits:
            return count
        script.tunnel.streams.send_fill(stream, bytes(32), bytes(CHUNK_MAX))
        each()
    raise AssertionError("they fit without end")


def test_what_a_reset_discards_counts_until_the_peer_has_it() -> None:
    """The peer keeps it until then, and others must not fill the room for it anew."""
    script = Script()
    stream, other = script.accepted(1), script.accepted(3)

    def room() -> bool:
        return script.tunnel.streams.fill_fits

    fill_up(script, stream, script.take)
    assert not room()
    script.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "")
    assert not room()
    assert ["RESET" in taken for taken in script.take()] == [True]
    assert not room()
    script.acknowledge(stream, OVER)
    assert room()
    assert script.tunnel.streams.may_fill(other)


def test_what_a_reset_discards_before_it_was_sent_counts_no_more() -> None:
    """Or after some such resets no stream of the tunnel would be answered what it lacks."""
    script = Script()
    fill_up(script, script.accepted(1))
    script.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "")
    assert script.tunnel.streams.fill_fits


def test_ends_make_no_room_for_what_others_have_unacknowledged() -> None:
    """They wait behind DATA, and were not counted when they came: thousands of them would have made room for much."""
    script, fresh = Script(), Script()
    for stream in range(1, 601, 2):
        script.accepted(stream)
        script.tunnel.streams.send_end(stream, 0, bytes(1000))
        script.take()
        script.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "")
        script.take()
        script.acknowledge(stream, OVER)
    assert fill_up(script, script.accepted(601)) == fill_up(fresh, fresh.accepted(1))


@pytest.mark.parametrize("number", [OVER, 2], ids=["that it is over", "a number"])
def test_nor_do_resets_whatever_acknowledges_them(number: int) -> None:
    """They cost no credit either, but wait for nothing, and so are not counted."""
    script, fresh = Script(), Script()
    for stream in range(1, 201, 2):
        script.accepted(stream)
        script.tunnel.streams.reset(stream, ResetCode.ORIGIN_RESET, "x" * REASON_MAX)
        script.take()
        script.acknowledge(stream, number)
        script.acknowledge(stream, OVER)
    assert script.tunnel.figures.streams == 0
    assert fill_up(script, script.accepted(201)) == fill_up(fresh, fresh.accepted(1))


def test_what_comes_for_a_refused_stream_is_dropped_unanswered() -> None:
    script = Script(streams=1)
    script.open(2)
    script.open(4)
    script.flush()
    assert script.data(4, 1, 100) == []
    assert script.data(4, 1, 100) == []
    assert script.flush() == []


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"initial_credit": 65535}, "initial_credit is 65536 to 16777216 bytes, not 65535"),
        ({"streams": 0}, "streams is 1 to 65536, not 0"),
        ({"memory": 1}, "memory and unacked_max are at least 65536 bytes"),
        ({"unacked_max": 1}, "memory and unacked_max are at least"),
        ({"keepalive": 0}, "keepalive is more than 0 and less than dead_after"),
        ({"keepalive": 20}, "keepalive is more than 0 and less than dead_after"),
        ({"grace": -1}, "grace at least 0"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, int], sentence: str) -> None:
    with pytest.raises(Misuse, match=sentence):
        TunnelSettings(**wrong)


@pytest.mark.parametrize(
    ("settings", "offered"),
    [
        (TunnelSettings(), 96 << 10),
        (TunnelSettings(streams=128), 256 << 10),
        (TunnelSettings(memory=1 << 20), 64 << 10),
        (TunnelSettings(window_max=80 << 10), 80 << 10),
        (TunnelSettings(initial_credit=1 << 20, streams=64), 1 << 20),
        (TunnelSettings(initial_credit=16 << 20, streams=1), 6 << 20),
    ],
)
def test_the_initial_credit_fits_the_memory(settings: TunnelSettings, offered: int) -> None:
    assert settings.offered_credit == offered


def test_as_many_streams_fit_as_may_be_open() -> None:
    """However many of them were given all that there was to spare when they began."""
    settings = TunnelSettings()
    budget = WindowBudget(settings.memory)
    for _ in range(settings.streams):
        one = window(budget, settings.offered_credit, settings.window_max)
        one.widen(settings.opening_window)
        one.tell()
    assert budget.streams == settings.streams


def test_as_many_streams_fit_however_much_others_have_grown() -> None:
    """Grown by use, and by what is foretold of the next."""
    settings = TunnelSettings()
    budget = WindowBudget(settings.memory)
    for _ in range(2):
        use_up(window(budget, settings.offered_credit, settings.window_max), 20)
        budget.advance(budget.spare)
    assert budget.grown > settings.memory // 4
    for _ in range(settings.streams - 2):
        assert budget.reserve(settings.offered_credit)
