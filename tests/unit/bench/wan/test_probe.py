"""What is concluded from the packets that came."""

import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bench.sites import free_port
from bench.wan import probe
from bench.wan.errors import WanFailure
from bench.wan.probe import Arrival, judge
from bench.wan.truth import Speed


def arrivals(numbers: list[int], delay: float = 0.05) -> list[Arrival]:
    """A packet each millisecond; these came."""
    return [Arrival(number, number * 0.001, number * 0.001 + delay) for number in numbers]


def test_losses_and_their_runs() -> None:
    found = judge(10, 1000, arrivals([1, 2, 5, 6, 7]))
    assert found.loss == 0.5
    assert found.burst == pytest.approx(5 / 3), "0, 3 to 4, 8 to 9"


def test_nothing_lost() -> None:
    found = judge(3, 1000, arrivals([0, 1, 2]))
    assert (found.loss, found.burst) == (0, 0)
    assert found.rate == pytest.approx(8e6)


def test_order_and_copies_do_not_matter() -> None:
    assert judge(4, 1000, arrivals([3, 0, 0, 2, 1])).loss == 0


def test_the_median_of_the_delays() -> None:
    found = judge(101, 1000, [*arrivals([*range(100)]), *arrivals([100], delay=0.5)])
    assert found.delay == pytest.approx(0.05)


def test_when_a_speed_is_true() -> None:
    good = Speed(rate=45e6, share=0.99, late=0.0005, overrun=0, cpu=0.5)
    assert good.true
    assert not any(
        worse.true for worse in (replace(good, share=0.9), replace(good, late=0.01), replace(good, overrun=1))
    )


@pytest.fixture
def loopback(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A line that has both its ends there."""
    monkeypatch.setattr(probe, "PORT", free_port())
    return SimpleNamespace(addresses={"west": "127.0.0.1"}, inside=lambda end: contextlib.nullcontext())


def test_who_stands_still_before_all_is_sent_has_lost_nothing(monkeypatch: pytest.MonkeyPatch, loopback: Any) -> None:
    """As on a busy machine. All that came later counted as lost, and of nothing nothing could be computed."""
    monkeypatch.setattr(probe, "SILENCE", 0.01)
    assert probe.train(loopback, packets=5, size=200, pause=0.1, delay=0.0).loss == 0


def test_a_line_that_takes_no_packets_is_told_so(monkeypatch: pytest.MonkeyPatch, loopback: Any) -> None:
    """What was not sent any more counted as lost, beside a traceback."""
    monkeypatch.setattr(probe, "SILENCE", 0.01)
    loopback.inside = unreachable
    with pytest.raises(WanFailure, match="the line cannot be measured: Network is unreachable"):
        probe.train(loopback, packets=5, size=200, pause=0.0, delay=0.0)


def test_a_line_that_loses_all_is_told_so(monkeypatch: pytest.MonkeyPatch, loopback: Any) -> None:
    """There is no median of nothing."""
    monkeypatch.setattr(probe, "SILENCE", 0.01)
    monkeypatch.setattr(probe, "_send", lambda *_: None)
    with pytest.raises(WanFailure, match="of 5 packets 0 came"):
        probe.train(loopback, packets=5, size=200, pause=0.0, delay=0.0)


def test_a_line_that_carries_nothing_is_told_so(monkeypatch: pytest.MonkeyPatch, loopback: Any) -> None:
    """`isthmus wan test` called it a defect."""
    monkeypatch.setattr(probe, "_fill", lambda near: None)
    monkeypatch.setattr(probe, "QUIET", 0.01)
    with pytest.raises(WanFailure, match="the line cannot be measured: timed out"):
        probe.tcp_rate(loopback, "cubic", settle=1.0, seconds=1.0)


@contextlib.contextmanager
def unreachable(end: str) -> Iterator[None]:
    """The system's words for who sends from east."""
    yield
    if end == "east":
        raise OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH))


def test_nobody_sends_after_an_interrupt(monkeypatch: pytest.MonkeyPatch, loopback: Any) -> None:
    """The line goes with it, and a traceback told that the network is unreachable."""

    def interrupted(sink: socket.socket, sending: "Future[None]") -> None:
        sink.recv(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(probe, "_arrivals", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        probe.train(loopback, packets=10_000, size=200, pause=0.01, delay=0.0)
    assert threading.active_count() == before
