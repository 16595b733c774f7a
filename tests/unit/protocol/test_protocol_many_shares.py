"""What a frame costs the scheduler while hundreds of shares have something to send, in calls of functions."""

from types import SimpleNamespace
from typing import Any

import pytest

from proxy.protocol.scheduler import Scheduler
from proxy.protocol.share import Share
from tests.effort import calls

MANY = 200
KIB = 1 << 10


def bulk(scheduler: Scheduler, number: int, maximum: float | None) -> None:
    """One more share, whose stream always has bulk to send."""
    outgoing = SimpleNamespace(light=lambda now: False, waiting=True)
    account = scheduler.account(Share(f"forward {number}", maximum=maximum))
    stream: Any = SimpleNamespace(
        number=number, account=account, outgoing=outgoing, urgent=False, bulk=False, turn=0.0, frame=0.0
    )
    scheduler.add(stream, 0.0)


def frame(scheduler: Scheduler, now: float) -> None:
    stream = scheduler.next(now)
    assert stream is not None
    scheduler.sent(stream, 64 * KIB, now)


def cost(shares: int, maximum: float | None) -> int:
    scheduler = Scheduler()
    for number in range(shares):
        bulk(scheduler, number, maximum)
    for now in range(2 * shares):
        frame(scheduler, float(now))
    return calls(lambda: frame(scheduler, 1000.0))


@pytest.mark.parametrize(("maximum", "most"), [(None, 0.1), (1e9, 5)])
def test_a_frame_takes_few_calls_for_each_share_that_waits(maximum: float | None, most: float) -> None:
    """It was one where all are alike, and seven where each has a maximum."""
    assert (cost(10 + MANY, maximum) - cost(10, maximum)) / MANY <= most
