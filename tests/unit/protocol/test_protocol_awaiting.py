"""Streams that wait for room: while all of them together hold as much as they may, each ACK looks for those."""

from collections import deque
from types import SimpleNamespace
from typing import Any

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
