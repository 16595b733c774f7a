"""How much that the peer is believed to know may be under way at once: little, until it was found that it does.

Known data is under way up to eight times as long as new data. Should the stores have gone out of step each of these
batches has to ask for what it lacks, a round trip after the one before it.
"""

from collections.abc import Callable

PROVEN = 32 << 20
"""Bytes found from which no bound is called for but that of credit."""
REMEMBERED = 1 << 30
"""Bytes found that count, at most: a few misses are no flood, for each halves the sum."""
UNPROVEN_MAX = 16 << 20
"""Bytes under way, on all streams together, before that."""


class Trial:
    """One a peer. Loop thread."""

    def __init__(self) -> None:
        self._under_way = 0
        self._found = 0
        self._resting: dict[Callable[[], None], None] = {}

    @property
    def crowded(self) -> bool:
        """True if no more should be sent for now."""
        return self._under_way >= UNPROVEN_MAX and self._found < PROVEN

    def send(self, known: int) -> None:
        """A batch is on its way of which the peer is believed to know so many bytes."""
        self._under_way += known

    def end(self, known: int, *, found: bool) -> None:
        """It is consumed, or given up; `found`: nothing of it was missed."""
        self._under_way -= known
        if found:
            self._found = min(self._found + known, REMEMBERED)

    def miss(self) -> None:
        """A batch lacked something."""
        self._found //= 2

    def when_relieved(self, call: Callable[[], None]) -> None:
        """Call once, out of `relieve`, when more may be sent, however often that is asked for."""
        self._resting[call] = None

    def relieve(self) -> None:
        """Batches have ended: call whom that lets go on."""
        if self._resting and not self.crowded:
            resting, self._resting = self._resting, {}
            for call in resting:
                call()
