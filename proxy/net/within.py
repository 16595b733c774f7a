"""Limits in time that count only while the loop runs.

When a site that was stopped, or its host, goes on, timers come before what the kernel has to tell: an array that had
answered at once was said to be out of reach, and the stream was reset.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

_PARTS = 10
"""Of a limit, which is counted in these."""
_STILL = 0.5
"""Seconds: so late is no loop that works."""


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[Callable[[], float]]:
    """As `asyncio.timeout`; gives what says how many seconds have counted. None: as long as it takes."""
    async with asyncio.timeout(None) as limit:
        if seconds is None:
            yield lambda: 0.0
            return
        with _Count(limit, seconds / _PARTS) as count:
            yield count.passed


class _Count:
    """Ends a limit when all its parts have passed; one in which the loop stood still does not count."""

    def __init__(self, limit: asyncio.Timeout, part: float) -> None:
        self._limit = limit
        self._part = part
        self._left = _PARTS
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def passed(self) -> float:
        """Seconds that have counted."""
        present = self._loop.time() - self._due + self._part
        return (_PARTS - self._left) * self._part + (0.0 if self._stood_still else present)

    @property
    def _stood_still(self) -> bool:
        return self._loop.time() >= self._due + max(self._part, _STILL)

    def _begin(self) -> None:
        self._due = self._loop.time() + self._part
        self._timer = self._loop.call_later(self._part, self._end)

    def _end(self) -> None:
        """Of a part."""
        self._left -= not self._stood_still
        if self._left:
            self._begin()
        else:
            self._limit.reschedule(self._loop.time())
