"""A peer's part of each round of the loop: what one peer sends holds up nobody else.

A frame of twenty bytes may cost as much time as one of a hundred kilobytes, and a batch of forty bytes may stand for
thousands of PDUs. So it is time that is counted, of all lanes and streams of a peer together; who has more to do once
it is used up waits for the next round, in turn. Linux has the same for network cards (NAPI). Some legal frames take
more than that at once: then the peer's next rounds have passed, too.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

LONGEST = 0.005
"""Seconds of a round: some megabytes of an honest peer."""
_NOTED = LONGEST / 4
"""Less is carried over to the next round, so that who asks and answers costs none."""
_MOST = 1.0
"""Seconds that are carried over at most: who seems to have taken longer was stopped, or the host was."""


class Rounds:
    """Of one peer. Work on what it has sent is done within `with`, which may be nested. Loop thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: one that goes on within a round, as the loop's does not."""
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._depth = 0
        self._began = self._used = 0.0
        self._waiting: deque[Callable[[], None]] = deque()
        self._next: asyncio.Handle | None = None

    def __enter__(self) -> None:
        if not self._depth:
            self._began = self._clock()
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._used = min(self._used + self._clock() - self._began, _MOST)
            if self._used >= _NOTED:
                self._await_next()

    @property
    def over(self) -> bool:
        """The time is used up: who has more to do is to `wait`."""
        return self._used + (self._clock() - self._began if self._depth else 0.0) >= LONGEST

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call that in the next round, or when those have been called who wait already."""
        self._waiting.append(go_on)
        self._await_next()

    def _await_next(self) -> None:
        if self._next is None:
            self._next = self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._next = None
        self._used = max(0.0, self._used - LONGEST)
        if self._waiting or self._used:
            self._await_next()  # whatever becomes of those who go on
        for _ in range(len(self._waiting)):
            if self.over:
                break
            self._waiting.popleft()()
