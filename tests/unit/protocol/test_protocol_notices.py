"""When ACK and CREDIT are sent, and what they may say."""

from types import SimpleNamespace
from typing import Any

import pytest

from proxy.protocol.codes import FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.events import Consumed, Writable
from proxy.protocol.foretold import Foretelling
from proxy.protocol.hello import STREAMS_MAX
from proxy.protocol.notices import Notices
from proxy.protocol.stream import State
from proxy.protocol.window import WindowBudget
from tests.unit.protocol.playbook import Script, cut


def receiving(**settings: Any) -> Script:
    script = Script(**settings)
    script.open(2)
    script.flush()
    return script


def test_an_ack_waits_20_ms_for_more() -> None:
    script = receiving()
    script.now = 1.0
    script.data(2, 1, 10)
    assert 1 not in script.tunnel.wanting
    assert script.take() == []
    assert script.tunnel.next_deadline() == pytest.approx(1.02)
    script.at(1.019)
    assert script.take() == []
    script.at(1.02)
    assert 1 in script.tunnel.wanting
    assert script.take() == ["ACK 2:2"]
    assert 1 not in script.tunnel.wanting


def test_it_waits_no_longer_if_more_comes() -> None:
    script = receiving()
    script.now = 1.0
    script.data(2, 1, 10)
    script.at(1.015)
    script.data(2, 2, 10)
    script.at(1.02)
    assert script.take() == ["ACK 2:3"]


def test_what_has_come_again_is_acknowledged_again() -> None:
    """Its sender may not have heard that it did. That waits no longer than any ACK, however often it comes."""
    script = receiving()
    script.data(2, 1, 10)
    script.flush()
    script.another(2)
    began = script.now
    for seconds in (0.0, 0.015):
        script.at(began + seconds)
        script.data(2, 1, 10, lane=2)
    assert script.take() == []
    script.at(began + 0.02)
    assert script.take() == ["ACK 2:2"]


def test_or_for_32_frames() -> None:
    script = receiving()
    for number in range(1, 32):
        script.data(2, number, 10)
    assert script.take() == []
    script.data(2, 32, 10)
    assert script.take() == ["ACK 2:33"]


def test_each_ack_waits_anew() -> None:
    """What the last one was for counts no more."""
    script = receiving(initial_credit=1 << 20, streams=16)
    script.now = 1.0
    for number in range(1, 12):
        script.data(2, number, 50000, 49000)
    assert script.take() == ["ACK 2:12"]
    script.at(1.015)
    script.data(2, 12, 10)
    script.at(1.02)
    assert script.take() == []
    script.at(1.035)
    assert script.take() == ["ACK 2:13"]


def consumed(script: Script, number: int, plain: int, now: float) -> list[str]:
    """What is sent when that frame has come at that time, and was taken: CREDIT alone."""
    script.at(now)
    script.data(2, number, plain)
    script.tunnel.streams.consumed(2)
    return [text for text in script.take() if text.startswith("CREDIT")]


def test_credit_for_little_waits_200_ms_for_more_and_no_longer() -> None:
    script = receiving()
    assert consumed(script, 1, 10, 1.0) == consumed(script, 2, 10, 1.15) == []
    script.at(1.199)
    assert "CREDIT" not in str(script.take())
    script.at(1.2)
    assert script.take() == ["CREDIT 2:532/66068"]


def test_each_credit_waits_anew() -> None:
    script = receiving()
    assert consumed(script, 1, 10, 1.0) == []
    assert consumed(script, 2, 20000, 1.1) == ["CREDIT 2:20522/86058"]
    assert consumed(script, 3, 10, 1.15) == []
    script.at(1.2)
    assert "CREDIT" not in str(script.take())
    script.at(1.35)
    assert script.take() == ["CREDIT 2:20788/86324"]


def test_or_for_512_kib() -> None:
    script = receiving(initial_credit=1 << 20, streams=16)
    for number in range(1, 11):
        script.data(2, number, 50000, 49000)
    assert script.take() == []
    script.data(2, 11, 50000, 49000)
    assert script.take() == ["ACK 2:12"]


def test_a_credit_takes_the_ack_along_that_waits() -> None:
    script = receiving()
    script.now = 1.0
    script.data(2, 1, 20000)
    script.tunnel.streams.consumed(2)
    assert script.take() == ["ACK 2:2", "CREDIT 2:20256/85792"]
    script.at(1.02)
    assert script.take() == []


@pytest.mark.parametrize("greeting", [False, True])
def test_frames_about_as_many_streams_as_there_may_be_are_no_longer_than_frames_are(greeting: bool) -> None:
    """As many as each side may open."""
    window = SimpleNamespace(tell=lambda: (0, 0))
    one: Any = SimpleNamespace(number=1, state=State.OPEN, incoming=SimpleNamespace(expected=1, window=window))
    streams = dict.fromkeys(range(1, 2 * STREAMS_MAX + 1), one)
    notices = Notices(Foretelling(WindowBudget(0), 0, 0))
    notices.repeat_all(streams)
    found = cut(notices.greeting(streams) if greeting else notices.frames(streams))
    for kind, size in ((FrameType.ACK, 12), (FrameType.CREDIT, 20)):
        lengths = [len(frame.payload) for frame in found if frame.type == kind]
        assert sum(lengths) == size * len(streams)


def test_an_ack_takes_no_credit_along() -> None:
    """With many streams that would be as many entries, each of little."""
    script = receiving()
    script.now = 1.0
    script.data(2, 1, 10)
    script.tunnel.streams.consumed(2)
    script.at(1.02)
    assert script.take() == ["ACK 2:2"]


def test_an_ack_is_for_all_streams() -> None:
    script = receiving()
    script.open(4)
    script.data(2, 1, 10)
    assert script.flush() == ["ACK 2:2 4:1"]


def test_what_is_kept_is_not_acknowledged() -> None:
    script = receiving()
    script.data(2, 2, 10)
    assert script.flush() == ["ACK 2:1"]


def test_credit_after_a_quarter_of_the_window() -> None:
    script = receiving()
    script.data(2, 1, 16127)
    script.data(2, 2, 1)
    script.flush()
    script.tunnel.streams.consumed(2)
    assert script.take() == []
    script.tunnel.streams.consumed(2)
    assert script.take() == ["CREDIT 2:16640/82176"]


def test_less_is_told_after_200_ms() -> None:
    script = receiving()
    script.data(2, 1, 10)
    script.flush()
    script.at(1.0)
    script.tunnel.streams.consumed(2)
    assert script.tunnel.next_deadline() == pytest.approx(1.2)
    script.at(1.2)
    assert script.take() == ["CREDIT 2:266/65802"]


@pytest.mark.parametrize(("granted", "heard"), [(256 << 10, 1.005), ((256 << 10) + 4, 1.2)])
def test_a_quarter_of_what_the_peer_grants_itself_is_told_after_5_ms(granted: int, heard: float) -> None:
    """If its own window is no larger it has to rest, however large ours is."""
    script = receiving(initial_credit=1 << 20, streams=16)
    script.credit(1, 0, granted)
    script.data(2, 1, 10)
    script.data(2, 2, (64 << 10) - 266 - 256)
    script.flush()
    script.at(1.0)
    script.tunnel.streams.consumed(2)
    assert script.tunnel.next_deadline() == pytest.approx(1.2)
    script.tunnel.streams.consumed(2)
    assert script.tunnel.next_deadline() == pytest.approx(heard)
    assert script.take() == []
    script.at(heard)
    assert script.take() == [f"CREDIT 2:{64 << 10}/{(64 << 10) + (1 << 20)}"]


def test_that_waits_no_longer_if_more_comes() -> None:
    """A peer that sends on and on would hear of nothing until a quarter of our window was consumed."""
    script = receiving(initial_credit=1 << 20, streams=16)
    assert consumed(script, 1, 16 << 10, 1.0) == consumed(script, 2, 10, 1.004) == []
    script.at(1.005)
    assert [text for text in script.take() if text.startswith("CREDIT")] == [f"CREDIT 2:16906/{16906 + (1 << 20)}"]


@pytest.mark.parametrize(("granted", "heard"), [((64 << 10) + 1024, 1.005), ((64 << 10) + 1028, 1.2)])
def test_what_it_grants_itself_is_the_most_that_it_grants_at_a_time(granted: int, heard: float) -> None:
    """Beyond what it has consumed; and what it has granted once tells of its settings whatever it grants later."""
    script = receiving(initial_credit=1 << 20, streams=16)
    script.accepted(1)
    script.send(1, 10000)
    script.take()
    script.credit(1, 10256, 10256 + granted)
    script.credit(3, 0, 64 << 10)
    script.data(2, 1, 16 << 10)
    script.flush()
    script.at(1.0)
    script.tunnel.streams.consumed(2)
    assert script.tunnel.next_deadline() == pytest.approx(heard)


@pytest.mark.parametrize("next_", [0, 1])
def test_late_acks_are_ignored(next_: int) -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 9)
    script.take()
    script.acknowledge(1, 2)
    assert script.acknowledge(1, next_) == []
    assert script.tunnel.figures.unacked_bytes == 0


def test_an_ack_for_what_was_not_sent() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 9)
    with pytest.raises(PeerError, match="ACK broke the protocol: frames below 2 are acknowledged, but only 1 were"):
        script.acknowledge(1, 2)


def test_an_ack_frees_memory() -> None:
    script = Script()
    script.accepted(1)
    for _ in range(3):
        script.send(1, 100)
    assert script.tunnel.figures.unacked_bytes == 3 * (12 + 256)
    script.take()
    assert script.tunnel.figures.unacked_bytes == 3 * (12 + 256)
    script.acknowledge(1, 3)
    assert script.tunnel.figures.unacked_bytes == 12 + 256


def test_credit_tells_what_was_consumed_and_late_ones_are_ignored() -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 100)
    script.send(1, 100)
    assert script.credit(1, 712, 70000) == [Consumed(1, 712)]
    assert script.credit(1, 356, 69000) == []
    assert script.room(1) == 70000 - 712 - 256
    script.take()
    assert script.credit(1, 712, 75000) == [Writable(1)]


@pytest.mark.parametrize(
    ("consumed", "limit", "sentence"),
    [(357, 65536, "357 consumed, but only 356 were sent"), (300, 299, "limit 299 is below consumed 300")],
)
def test_credit_that_cannot_be(consumed: int, limit: int, sentence: str) -> None:
    script = Script()
    script.accepted(1)
    script.send(1, 100)
    with pytest.raises(PeerError, match=sentence):
        script.credit(1, consumed, limit)
