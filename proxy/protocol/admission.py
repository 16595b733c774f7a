"""Whether one more stream may begin, ours or the peer's."""

from proxy.protocol.announcements import Announcements
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import OpenRefused, PeerError
from proxy.protocol.table import StreamTable
from proxy.protocol.window import WindowBudget

REFUSED_FACTOR = 4
"""RESETs of its streams that a peer may leave unacknowledged, as a multiple of the streams it may have."""
REFUSED_MIN = 1024
"""The same where it may have few: its words may all stand still in one lane for seconds, while what it opens, and we
refuse, goes by another."""


class Admission:
    """The limits for new streams. When a stream is admitted, its initial credit is reserved."""

    def __init__(
        self, streams: int, initial: int, table: StreamTable, budget: WindowBudget, announcements: Announcements
    ) -> None:
        """`streams`: live ones that the peer may have opened; `initial`: what each begins with. `announcements`: ours,
        which say whether this side drains."""
        self.peer_refusing = ""
        """Why we may open no stream: the peer drains. Empty if it does not."""
        self._streams = streams
        self._initial = initial
        self._table = table
        self._budget = budget
        self._announcements = announcements

    def admit_own(self, allowed: int) -> int:
        """Admit a stream that we open. Returns its number, or raises OpenRefused. `allowed`: how many we may have."""
        if reason := self._announcements.draining or self.peer_refusing:
            raise OpenRefused(reason)
        if self._table.own >= allowed:
            raise OpenRefused(f"the peer allows no more than {allowed} streams")
        number = self._table.next_number
        if number is None:
            raise OpenRefused("all stream numbers have been used; restart a site")
        if not self._budget.reserve(self._initial):
            raise OpenRefused("the tunnel's memory does not allow another stream")
        return number

    def admit_theirs(self) -> tuple[ResetCode, str] | None:
        """Admit a stream that the peer opens. Returns None, or why the stream has to be reset.

        Raises PeerError if the peer does not acknowledge that we reset its streams.
        """
        if self._table.refused >= max(REFUSED_FACTOR * self._streams, REFUSED_MIN):
            raise PeerError("OPEN", f"{self._table.refused} resets of the peer's streams are not acknowledged yet")
        if reason := self._announcements.draining:
            return ResetCode.SHUTDOWN, reason
        if self._table.theirs >= self._streams and self._table.theirs - self._ending() >= self._streams:
            return ResetCode.TOO_MANY_STREAMS, f"at most {self._streams} streams are allowed"
        if not self._budget.reserve(self._initial):
            return ResetCode.TOO_MANY_STREAMS, "the tunnel's memory does not allow another stream"
        return None

    def _ending(self) -> int:
        """How many of the peer's streams do not count: the peer may have forgotten them, and its next OPEN may have
        overtaken the ACK that says so."""
        return min(self._table.theirs_ending(), self._streams)
