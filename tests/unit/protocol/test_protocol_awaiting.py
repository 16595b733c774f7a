"""Streams that wait for room: while all of them together hold as much as they may, each ACK looks for those."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.protocol.awaiting import Awaiting
from proxy.protocol.events import Event, Writable
from tests.effort import calls


def stream(number: int) -> Any:
    return SimpleNamespace(number=number, awaits_room=False, room=0, outgoing=SimpleNamespace(queued=0))


def test_those_that_rest_cost_next_to_nothing_where_one_waits() -> None:
    """Where one stream of a thousand filled the line each ACK made a thousand calls."""
    live = {number: stream(number) for number in range(1, 1001)}
    events: deque[Event] = deque()
    ledger: Any = SimpleNamespace(crowded=True)
    awaiting = Awaiting(ledger, live, events)
    awaiting.begin(live[7])
    assert calls(awaiting.released) < 10
    assert not events
    live[7].room = 1 << 20
    awaiting.released()
    assert list(events) == [Writable(7)]


@pytest.mark.parametrize("crowded", [False, True])
def test_those_that_do_not_wait_for_others_are_not_looked_for(crowded: bool) -> None:
    """Each ACK would, for as long as the tunnel lasts."""
    one, events = stream(1), deque[Event]()
    ledger: Any = SimpleNamespace(crowded=crowded)
    awaiting = Awaiting(ledger, {1: one}, events)
    awaiting.begin(one)
    ledger.crowded = False
    if crowded:
        awaiting.released()
    one.room = 1 << 20
    awaiting.released()
    assert not events
    awaiting.look(one)
    assert list(events) == [Writable(1)]


def test_room_that_came_while_lanes_were_busy_is_told_when_they_are_not() -> None:
    """Though the stream has used some of it meanwhile. Taken for what it had begun with, that would never be told."""
    one, events = stream(1), deque[Event]()
    ledger: Any = SimpleNamespace(crowded=False)
    awaiting = Awaiting(ledger, {1: one}, events)
    awaiting.begin(one)
    one.room, one.outgoing.queued = 100 << 10, 300 << 10
    awaiting.look(one)
    assert not events
    one.room = 90 << 10
    awaiting.sent(one)
    one.outgoing.queued = 0
    awaiting.look(one)
    assert list(events) == [Writable(1)]
