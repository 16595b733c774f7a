"""Credit for streams that are not open yet, so that the first round trip of a new one is not spent waiting for it.

Over a long line a stream whose bytes the far site knows could send tens of megabytes in that time.
"""

from proxy.protocol.credit import WindowBudget
from proxy.protocol.frames import NUMBER_MAX

OPENING_SHARE = 2
"""One part in so many of what a stream's window grows to once it is open is foretold."""
HEARD_MAX = 16
"""Streams of ours, not open yet, whose credit is remembered: an honest peer speaks of one at a time."""


class Foretelling:
    """What the peer may send on the stream that it opens next, beyond the initial credit: out of the same budget."""

    def __init__(self, budget: WindowBudget, initial: int, most: int) -> None:
        """`initial`: what each stream begins with, less is not worth saying; `most`: what it may have when open."""
        self._budget = budget
        self._initial = initial
        self._most = most // OPENING_SHARE
        self._stream = 0  # of which something was said, if any
        self.more = 0
        """Bytes beyond the initial credit that wait for that stream."""

    def speak(self, stream: int) -> bool:
        """Decide what the peer's next stream may begin with; False if there is nothing new to say."""
        more = min(self._budget.spare, self._most)
        if self._stream or stream > NUMBER_MAX or more < self._initial or not self._budget.foretell(more):
            return False
        self._stream, self.more = stream, more
        return True

    @property
    def entries(self) -> list[tuple[int, int, int]]:
        """What CREDIT says of it."""
        return [(self._stream, 0, self._initial + self.more)] if self._stream else []

    def met(self, stream: int) -> int:
        """The peer has opened that stream: what it may send beyond the initial credit, which is the caller's now."""
        if stream != self._stream:
            return 0
        more, self._stream, self.more = self.more, 0, 0
        return more

    def never(self, stream: int) -> None:
        """The peer has given that number up before it opened a stream of it."""
        self._budget.withdraw(self.met(stream))


class Foretold:
    """What the peer has said of streams that we have not opened."""

    def __init__(self) -> None:
        self._limits: dict[int, int] = {}

    def heard(self, stream: int, limit: int) -> None:
        """Limits only rise. What is beyond the bound is forgotten: the stream begins with less then."""
        if stream in self._limits or len(self._limits) < HEARD_MAX:
            self._limits[stream] = max(limit, self._limits.get(stream, 0))

    def opened(self, stream: int) -> int:
        """The limit that the stream begins with; 0 if nothing was said."""
        return self._limits.pop(stream, 0)
