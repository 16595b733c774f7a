"""A peer's part of each round of the event loop, so that what one peer sends holds up no other.

A frame of twenty bytes may cost as much time as one of a hundred kilobytes, and a batch of forty bytes may stand for
thousands of PDUs. So it is time that is counted, for all lanes and streams of a peer together. Once a peer has used up
its time, its other work waits for the next round, in turn, as with Linux's budget for network cards (NAPI). Some legal
frames alone take longer than that time: the excess is taken from the peer's next rounds.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType

LONGEST = 0.005
"""Seconds of a round that a peer may use: some megabytes of an honest peer."""
_NOTED = LONGEST / 4
"""Seconds of use from which on a next round is asked for: a peer that asks and answers little causes none."""
_MOST = 1.0
"""Seconds of use that are counted at most: if it seems to be more, the process was stopped, or the host."""


class Rounds:
    """One peer's part of the rounds. Work on what the peer has sent is done in a `with` block of this, which may be
    nested. Loop thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: not the loop's, which stands still within a round."""
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
            self._used += self._clock() - self._began
            if self._used >= _NOTED:
                self._used = min(self._used, _MOST)
                self._await_next()

    @property
    def now(self) -> float:
        """The time, as it is counted here."""
        return self._clock()

    def count_from(self, began: float) -> None:
        """The work of this `with` block, which is not nested, began at that time already."""
        self._began = began

    @property
    def over(self) -> bool:
        """True if the peer's time is used up: its other work has to `wait`."""
        return self._used + (self._clock() - self._began if self._depth else 0.0) >= LONGEST

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` in the next round that has time for it, after all calls that wait already."""
        self._waiting.append(go_on)
        self._await_next()

    def _await_next(self) -> None:
        if self._next is None:
            self._next = self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._next = None
        self._used = max(0.0, self._used - LONGEST)
        if self._waiting or self._used:
            self._await_next()  # now, for one of the calls below may raise
        for _ in range(len(self._waiting)):
            if self.over:
                break
            self._waiting.popleft()()
