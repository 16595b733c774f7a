"""Credit for streams that are not open yet, so that the first round trip of a new one is not spent waiting for it.

Over a long line a stream whose bytes the far site knows could send tens of megabytes in that time.
"""

from proxy.protocol.frames import NUMBER_MAX
from proxy.protocol.window import WindowBudget

OPENING_SHARE = 2
"""What is foretold is at most the window that a stream is given when it is opened, divided by this."""
HEARD_MAX = 16
"""For how many streams that we have not opened yet foretold credit is remembered: an honest peer foretells for one."""


class Foretelling:
    """The credit beyond the initial one that we foretell for the peer's next stream. Taken from the budget."""

    def __init__(self, budget: WindowBudget, initial: int, most: int) -> None:
        """`initial`: the credit that each stream begins with; to foretell less than as much again is not worth while.
        `most`: the window of a stream that has just been opened."""
        self._budget = budget
        self._initial = initial
        self.allow(most)
        self._stream = 0  # the one for which credit is set aside; 0: none
        self.more = 0
        """Credit beyond the initial one that is set aside for that stream."""

    def allow(self, most: int) -> None:
        """The window of a stream that has just been opened is so large from now on."""
        self._most = most // OPENING_SHARE

    def speak(self, stream: int) -> bool:
        """Set credit aside for `stream`, the next one that the peer will open. False if there is nothing new to say."""
        more = min(self._budget.spare, self._most)
        if self._stream or stream > NUMBER_MAX or more < self._initial:
            return False
        self._budget.advance(more)
        self._stream, self.more = stream, more
        return True

    @property
    def entries(self) -> list[tuple[int, int, int]]:
        """What CREDIT says of that stream."""
        return [(self._stream, 0, self._initial + self.more)] if self._stream else []

    def met(self, stream: int) -> int:
        """The peer has opened the stream. Returns the credit that was set aside, for which the caller accounts now."""
        if stream != self._stream:
            return 0
        more, self._stream, self.more = self.more, 0, 0
        return more

    def never(self, stream: int) -> None:
        """The peer has given up the stream before its OPEN came: the credit goes back to the budget."""
        self._budget.withdraw(self.met(stream))


class Foretold:
    """The credit that the peer has foretold for streams that we have not opened."""

    def __init__(self) -> None:
        self._limits: dict[int, int] = {}

    def heard(self, stream: int, limit: int) -> None:
        """A CREDIT has named the stream: remember its limit. Beyond `HEARD_MAX` streams the limit is ignored."""
        if stream in self._limits or len(self._limits) < HEARD_MAX:
            self._limits[stream] = max(limit, self._limits.get(stream, 0))

    def opened(self, stream: int) -> int:
        """The limit that was foretold for the stream, which is forgotten; 0 if there was none."""
        return self._limits.pop(stream, 0)
