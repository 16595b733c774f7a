"""Time limits that count only while the event loop runs.

When a process that was stopped goes on (SIGCONT, or its host resumes), the loop runs its timers before it reads what
the kernel has for it. With ordinary limits an array that had answered at once would be called unreachable, and its
stream be reset.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

_PARTS = 10
"""Parts in which a limit is counted."""
_STILL = 0.5
"""The loop stood still if the end of a part comes so many seconds late, or late by a part if that is longer."""


class Within:
    """As `asyncio.timeout`; on entry it gives a function that says how many seconds have counted.

    The time is up when all its parts have passed; a part in which the loop stood still does not count.
    """

    def __init__(self, seconds: float) -> None:
        self._part = seconds / _PARTS
        self._left = _PARTS
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)

    async def __aenter__(self) -> Callable[[], float]:
        await self._limit.__aenter__()
        self._begin()
        return self._passed

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        await self._limit.__aexit__(kind, error, traceback)

    def _passed(self) -> float:
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
