"""Time limits that count only while the event loop runs.

When a process that was stopped goes on (SIGCONT, or its host resumes), the loop runs its timers before it reads what
the kernel has for it. With ordinary limits an array that had answered at once would be called unreachable, and its
stream be reset.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Self

_PARTS = 10
"""Parts in which a limit is counted."""
_STILL = 0.5
"""Seconds, or a part if that is longer, by which the end of a part comes late only if the loop stood still."""


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[Callable[[], float]]:
    """As `asyncio.timeout`, but yields a function that says how many seconds have counted. None: no limit."""
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
        """A part is over."""
        self._left -= not self._stood_still
        if self._left:
            self._begin()
        else:
            self._limit.reschedule(self._loop.time())
