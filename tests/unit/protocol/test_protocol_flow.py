"""Why a stream may send no more: the line, the window, the far array, or what all hold; and when that may change."""

from typing import Any

import pytest

from proxy.protocol.codes import ResetCode
from proxy.protocol.events import Arrived, Event
from proxy.protocol.flow import Flow, Obstacle
from tests.unit.protocol.playbook import Script

KIB = 1 << 10
COST = 10_000 + 256


def script(credit: int, **settings: Any) -> Script:
    """Accepted stream 1 with that much credit."""
    found = Script(**settings)
    found.accepted(1)
    found.credit(1, 0, credit)
    found.events()
    return found


def send(script: Script, count: int) -> None:
    for _ in range(count):
        script.send_literal(1, 10_000)


def flow(script: Script) -> Flow:
    found = script.tunnel.streams.flow(1)
    assert found is not None
    return found


def arrived(events: list[Event]) -> bool:
    return Arrived(1) in events


def test_the_window_is_on_its_way() -> None:
    it = script(100_000)
    send(it, 9)
    queued = 9 * 10_000
    assert flow(it) == Flow(Obstacle.WINDOW, 100_000, 0, 0.0, queued)
    it.take()
    it.acknowledge(1, 1 + 4)
    assert flow(it) == Flow(Obstacle.WINDOW, 100_000, 4 * COST, 0.0, 0)


def test_the_far_array_has_not_taken_the_window() -> None:
    it = script(100_000)
    send(it, 9)
    it.take()
    it.acknowledge(1, 1 + 5)
    assert flow(it) == Flow(Obstacle.FAR, 100_000, 5 * COST, 0.0, 0)
    it.credit(1, 3 * COST, 100_000 + 1)
    assert flow(it) == Flow(Obstacle.WINDOW, 100_001 - 3 * COST, 2 * COST, 0.0, 0)


@pytest.mark.parametrize(
    ("credit", "sent", "due"),
    [(100_000, 7, False), (100_000, 8, True), (500_000, 42, False), (500_000, 43, True)],
    ids=["a quarter is left", "less", "64 KiB are left", "less than that"],
)
def test_credit_is_due_when_little_is_left_and_most_has_arrived(credit: int, sent: int, due: bool) -> None:
    """As much as every window has, or as is told of at once, is used without waiting."""
    it = script(credit)
    streams = it.tunnel.streams
    send(it, sent)
    it.take()
    it.acknowledge(1, 1 + sent // 2)
    assert not streams.credit_due(1), "it comes a round trip later"
    it.acknowledge(1, 1 + sent // 2 + 1)
    assert streams.credit_due(1) == due
    it.acknowledge(1, 1 + sent)
    assert streams.credit_due(1) == due
    it.credit(1, sent * COST, credit)
    assert not streams.credit_due(1), "nothing is left of which the peer could tell"


def test_the_lanes_take_no_more() -> None:
    it = script(1 << 40)
    send(it, 50)
    assert flow(it).obstacle is Obstacle.LINE
    assert it.tunnel.streams.backlog
    it.take()
    assert not it.tunnel.streams.backlog


def test_who_only_looks_is_not_told_what_arrives() -> None:
    it = script(100_000)
    send(it, 9)
    it.take()
    assert flow(it).obstacle is Obstacle.WINDOW
    assert not arrived(it.acknowledge(1, 2))


def test_all_streams_hold_what_they_may() -> None:
    it = script(1 << 40, unacked_max=256 * KIB)
    for _ in range(24):
        send(it, 1)
        it.take()
    assert flow(it).obstacle is Obstacle.UNACKED


def test_it_is_told_once_that_something_has_arrived() -> None:
    it = script(100_000)
    send(it, 9)
    it.take()
    assert not arrived(it.acknowledge(1, 2))
    it.tunnel.streams.await_ack(1)
    assert arrived(it.acknowledge(1, 3))
    assert not arrived(it.acknowledge(1, 4))


def test_what_was_sent_twice_arrives_once() -> None:
    it = script(100_000)
    send(it, 3)
    it.take()
    it.tunnel.lane_down(1, it.now)
    it.another(2)
    it.acknowledge(1, 1 + 3, lane=2)
    it.acknowledge(1, 1 + 3, lane=2)
    assert flow(it).arrived == 3 * COST


def test_a_stream_that_has_ended_has_no_flow() -> None:
    it = script(100_000)
    send(it, 3)
    it.tunnel.streams.reset(1, ResetCode.ORIGIN_RESET, "enough")
    assert it.tunnel.streams.flow(1) is None
    it.tunnel.streams.await_ack(1)  # which has no effect


def test_nor_has_one_that_was_lost_with_the_tunnel() -> None:
    it = script(100_000)
    send(it, 3)
    it.tunnel.abandon(ResetCode.GRACE_EXPIRED, "gone", it.now)
    assert it.tunnel.streams.flow(1) is None
