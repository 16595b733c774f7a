"""How long a test waits for what has to happen, in one place.

Tests run beside each other, on machines that others use as well: everything may take several times as long as alone,
and stand still for seconds at any moment. So a test waits for a condition, not for a time, and gives up late; waiting
long costs nothing where all is well. What must *not* happen, or not before its time, is judged by what sites say.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE = 90.0
"""Seconds after which anything is overdue. The time limit of a whole test (pyproject.toml) is larger."""
TRIES = 4
_PAUSE = 0.05


def until(condition: Callable[[], bool], otherwise: str = "it never came to that") -> None:
    """Wait until that holds. AssertionError, with those words, if it is overdue."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(_PAUSE)


async def eventually(condition: Callable[[], bool], pause: float = 0.01) -> None:
    """As `until`, while the loop goes on; TimeoutError. `pause`: 0.0 to look in each round of the loop."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 (nothing tells)
            await asyncio.sleep(pause)


def at_best(measure: Callable[[], T], good: Callable[[T], bool]) -> T:
    """Measure a few times, until it is good; what came out last.

    For what shows that something is possible, such as an answer at once, and that a stall at the wrong moment hides.
    """
    found = measure()
    for _ in range(TRIES - 1):
        if good(found):
            break
        found = measure()
    return found
