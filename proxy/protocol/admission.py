"""Whether one more stream may begin, asked by us or by the peer, and with which number and memory."""

from proxy.protocol.codes import ResetCode
from proxy.protocol.credit import WindowBudget
from proxy.protocol.errors import OpenRefused, PeerError
from proxy.protocol.hello import Agreement
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.table import StreamTable

REFUSED_FACTOR = 4
"""RESETs of its streams that a peer may leave unacknowledged, as a multiple of the streams it may have."""


class Admission:
    """Both `admit_*` have the initial credit reserved from the budget when a stream may begin."""

    def __init__(self, settings: TunnelSettings, table: StreamTable, budget: WindowBudget) -> None:
        self.agreement: Agreement | None = None
        self.refusing = ""
        """Why no stream may begin, if so: we drain."""
        self.peer_refusing = ""
        """Why we may not open streams, if so: the peer drains."""
        self._streams = settings.streams
        self._initial = settings.offered_credit
        self._table = table
        self._budget = budget

    def admit_own(self) -> int:
        """The number of a stream that we may open. Raises OpenRefused."""
        agreement = self.agreement
        if agreement is None:
            raise OpenRefused(ResetCode.UNREACHABLE, "there is no tunnel yet")
        if reason := self.refusing or self.peer_refusing:
            raise OpenRefused(ResetCode.SHUTDOWN, reason)
        if self._table.own >= agreement.streams:
            raise OpenRefused(ResetCode.TOO_MANY_STREAMS, f"the peer allows no more than {agreement.streams} streams")
        number = self._table.next_number
        if number is None:
            raise OpenRefused(ResetCode.TOO_MANY_STREAMS, "all stream numbers have been used; restart a site")
        if not self._budget.reserve(self._initial):
            raise OpenRefused(ResetCode.TOO_MANY_STREAMS, "the tunnel's memory does not allow another stream")
        return number

    def admit_theirs(self) -> tuple[ResetCode, str] | None:
        """Why a stream of the peer has to be reset, or None. Raises PeerError if it ignores our resets."""
        if self._table.refused >= REFUSED_FACTOR * self._streams:
            raise PeerError("OPEN", f"{self._table.refused} resets of the peer's streams are not acknowledged yet")
        if self.refusing:
            return ResetCode.SHUTDOWN, self.refusing
        if self._table.theirs >= self._streams and self._table.theirs - self._ending() >= self._streams:
            return ResetCode.TOO_MANY_STREAMS, f"at most {self._streams} streams are allowed"
        if not self._budget.reserve(self._initial):
            return ResetCode.TOO_MANY_STREAMS, "the tunnel's memory does not allow another stream"
        return None

    def _ending(self) -> int:
        """Those of the peer's that it may have forgotten: OPEN of the next one may overtake the word of that."""
        return min(self._table.theirs_ending(), self._streams)
