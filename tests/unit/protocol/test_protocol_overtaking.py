"""When something urgent last went before the bulk of others: bulk is sent in another way then (net/steadying.py)."""

import pytest

from proxy.protocol.share import Share
from tests.unit.protocol.line import MBIT, Line

NEVER = float("-inf")


@pytest.mark.parametrize("frame", [4 << 10, 64 << 10])
def test_a_stream_does_not_overtake_itself(frame: int) -> None:
    line = Line(45 * MBIT)
    line.open(frame=frame)
    line.run(3)
    assert line.tunnel.scheduler.overtaken_at == NEVER


def test_streams_that_are_all_bulk_do_so_in_their_beginning_only() -> None:
    line = Line(45 * MBIT)
    for _ in range(5):
        line.open()
    line.run(5)
    assert line.tunnel.scheduler.overtaken_at < 1.0


def test_questions_do_as_long_as_they_are_asked() -> None:
    line = Line(45 * MBIT)
    line.open()
    asking = line.open(frame=512, frames=0)
    line.run(1)
    for _ in range(20):
        line.sources[asking].left = 1
        line.run(0.05)
        assert line.now - line.tunnel.scheduler.overtaken_at < 0.06
    line.run(3)
    assert line.now - line.tunnel.scheduler.overtaken_at > 2.9


def test_questions_alone_overtake_nobody() -> None:
    line = Line(45 * MBIT)
    for _ in range(2):
        line.open(frame=512, frames=20)
    line.run(3)
    assert line.tunnel.scheduler.overtaken_at == NEVER


def test_a_cap_is_a_rule() -> None:
    line = Line(45 * MBIT)
    scheduler, found = line.tunnel.scheduler, []
    for rate in (None, 20 * MBIT, None):
        scheduler.set_rate(rate, line.now)
        found.append((scheduler.ruled, scheduler.capped))
    assert found == [(False, False), (True, True), (False, False)]


def test_a_guarantee_is_a_rule_and_no_cap() -> None:
    scheduler = Line(45 * MBIT).tunnel.scheduler
    scheduler.account(Share("a", guarantee=MBIT))
    assert (scheduler.ruled, scheduler.capped) == (True, False)
    scheduler.account(Share("b", maximum=MBIT))
    assert (scheduler.ruled, scheduler.capped) == (True, True)
