"""Makes answers when they are asked for, all of them within a share of the loop's time, however many requests come.

While the share is used up, requests wait, and all that wait for the same answer are given the same bytes. A request
that has waited for long is given an older answer if there is one that is not too old; otherwise it is refused.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable

from proxy.observe.snapshot import Snapshot
from proxy.web.answering import Busy

SHARE = 0.1
"""Share of the loop's time that may go into answers: snapshots, what is computed from them, and JSON."""
_PATIENCE = 0.5
"""Seconds that a request waits at most if an older answer is kept."""
_PATIENCE_FOR_ANY = 5.0
"""The same if none is kept."""
_OLDEST = 30.0
"""Seconds; an answer that is older is not given."""
_KEPT_MAX = 16
"""Answers that are kept: one for each route and its parameters, the newest ones."""


class Fresh:
    """Makes and keeps answers. Loop thread."""

    def __init__(
        self,
        take: Callable[[], Snapshot],
        clock: Callable[[], float] = time.monotonic,
        cost: Callable[[], float] = time.thread_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._take = take
        self._clock = clock
        self._cost = cost
        self._sleep = sleep
        self._until = 0.0
        """When the time spent so far will be within the share again."""
        self._kept: dict[Hashable, tuple[float, bytes]] = {}
        """Answers, and when each was begun; the newest last."""
        self._asked = 0.0  # when the answer that is being made was asked for
        self._taken = -1.0  # when the last snapshot was
        self._last: Snapshot

    async def __call__(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """The newest answer with that key that there is time for. `make` makes one, and may ask for the `snapshot`.

        Raises Busy, and what `make` raises.
        """
        asked = self._clock()
        latest = asked + (_PATIENCE_FOR_ANY if self._since(key, asked - _OLDEST) is None else _PATIENCE)
        while (rest := min(self._until, latest) - self._clock()) > 0:
            await self._sleep(rest)
            if (made := self._since(key, asked)) is not None:  # for another request that waited
                return made
        if self._clock() >= self._until:
            return self._make(key, make, asked)
        older = self._since(key, asked - _OLDEST)
        if older is None:
            raise Busy
        return older

    def snapshot(self) -> Snapshot:
        """A snapshot for the answer that is being made: taken after that answer was asked for."""
        if self._taken <= self._asked:
            self._taken = self._clock()
            self._last = self._take()
        return self._last

    def _make(self, key: Hashable, make: Callable[[], bytes], asked: float) -> bytes:
        self._asked = asked
        begun, before = self._clock(), self._cost()
        try:
            made = make()
        finally:
            self._until = self._clock() + (self._cost() - before) / SHARE
        self._kept.pop(key, None)
        self._kept[key] = begun, made
        if len(self._kept) > _KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return made

    def _since(self, key: Hashable, moment: float) -> bytes | None:
        """The answer that is kept, if it was begun later than that."""
        begun, found = self._kept.get(key, (0.0, b""))
        return found if key in self._kept and begun > moment else None
