"""Connections that cannot be made: of which forwards and exports, and why, until one of them can be made again."""

from collections.abc import Callable
from dataclasses import dataclass

from proxy.observe.snapshot import RefusalStatus

UNREACHABLE, NOT_EXPORTED = "unreachable", "not_exported"
"""Reasons, as codes of RESET name them."""
REFUSALS_MAX = 16
"""Refusals that are remembered of a peer; the one that was repeated least recently is forgotten first."""
WORDS_MAX = 200
"""Characters of the words that are kept: for a forward they are the peer's own."""


@dataclass(slots=True)
class _Refusal:
    reason: str
    words: str
    count: int
    last: float


class Refusals:
    """The refusals of one peer."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock`: seconds, monotonic."""
        self.counts = dict.fromkeys((UNREACHABLE, NOT_EXPORTED), 0)
        """Since the site started, by reason."""
        self._clock = clock
        self._last: dict[tuple[str, str], _Refusal] = {}

    def refused(self, share: str, asked: str, reason: str, words: str) -> None:
        """A connection could not be made; arguments as in RefusalStatus. Other reasons than those two are ignored: such
        a connection ended otherwise."""
        if reason not in self.counts:
            return
        self.counts[reason] += 1
        former = self._last.pop((share, asked), None)
        count = former.count + 1 if former else 1
        self._last[share, asked] = _Refusal(reason, words[:WORDS_MAX], count, self._clock())
        if len(self._last) > REFUSALS_MAX:
            del self._last[next(iter(self._last))]

    def connected(self, share: str, asked: str) -> None:
        """A connection has been made: what was refused before is over."""
        self._last.pop((share, asked), None)

    def forget(self, share: str) -> None:
        """What that forward or export ("": none that a peer may have) was, is no more: its refusals are over."""
        self._last = {key: each for key, each in self._last.items() if key[0] != share}

    def status(self) -> list[RefusalStatus]:
        """The refusals that are not over, the latest last."""
        now = self._clock()
        return [
            RefusalStatus(share, asked, each.reason, each.words, each.count, round(now - each.last, 1))
            for (share, asked), each in self._last.items()
        ]
