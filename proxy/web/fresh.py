"""Answers made when they are asked for, all of them together in a share of the loop's time, whoever asks how often.

While one more would cost more than the share, who asks waits, and all who wait for the same are given the same bytes.
Who has waited for long is given older ones if they are not too old, and is refused otherwise.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable

from proxy.observe.snapshot import Snapshot
from proxy.web.answering import Busy

SHARE = 0.1
"""Of the loop's time that may go into answers: snapshots, what is computed of them, and JSON."""
_PATIENCE = 0.5
"""Seconds that who asks waits at most where an older answer is kept."""
_PATIENCE_FOR_ANY = 5.0
"""The same where none is."""
_OLDEST = 30.0
"""Seconds; an older answer tells nothing."""
_KEPT_MAX = 16
"""Answers that are kept: each is asked for with parameters of its own."""


class Fresh:
    """Loop thread."""

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
        """When the time that was spent is back within the share."""
        self._kept: dict[Hashable, tuple[float, bytes]] = {}
        """Answers, and when each was begun; the newest last."""
        self._asked = 0.0  # when the answer that is being made was asked for
        self._taken = -1.0  # when the last snapshot was
        self._last: Snapshot

    async def __call__(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """An answer that is as new as may be. `make` may ask for the `snapshot`. Raises Busy, and what `make` does."""
        asked = self._clock()
        latest = asked + (_PATIENCE_FOR_ANY if self._since(key, asked - _OLDEST) is None else _PATIENCE)
        while (rest := min(self._until, latest) - self._clock()) > 0:
            await self._sleep(rest)
            if (made := self._since(key, asked)) is not None:  # for another one who waited
                return made
        if self._clock() >= self._until:
            return self._make(key, make, asked)
        older = self._since(key, asked - _OLDEST)
        if older is None:
            raise Busy
        return older

    def snapshot(self) -> Snapshot:
        """For an answer that is being made: taken after that was asked for."""
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
