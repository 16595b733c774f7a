"""What may be set about a tunnel."""

from dataclasses import dataclass

from proxy.protocol.errors import Misuse
from proxy.protocol.hello import CREDIT_MAX, CREDIT_MIN, STREAMS_MAX
from proxy.protocol.window import GROWTH_PART


@dataclass(frozen=True)
class TunnelSettings:
    """Bytes and seconds. Raises Misuse for what PROTOCOL.md does not allow.

    A site's file sets all but `initial_credit`, `opening_window` and `rest`.
    """

    initial_credit: int = 256 << 10
    """What the peer may send on each stream before the first CREDIT, in costs; windows grow from here. If `memory` is
    small, less is offered (`offered_credit`)."""
    opening_window: int = 24 << 20
    """What a stream's window grows to as soon as the stream is open, in costs, as far as there is credit to spare."""
    window_max: int = 96 << 20
    """What one stream may have under way towards us, in costs."""
    memory: int = 192 << 20
    """What all streams together may have under way towards us, in costs; a stream that does not fit is refused."""
    unacked_max: int = 64 << 20
    """Bytes that all streams together may have waiting or unacknowledged towards the peer."""
    streams: int = 1024
    """Live streams that the peer may have opened."""
    keepalive: float = 5.0
    """A PING goes at least that often."""
    dead_after: float = 20.0
    """Silence after which a lane is dropped."""
    rest: float = 2.0
    """While a stream is denied growth, others that used next to nothing for so long are asked for credit."""
    grace: float = 120.0
    """How long streams survive without any lane."""

    def __post_init__(self) -> None:
        if not CREDIT_MIN <= self.initial_credit <= CREDIT_MAX:
            raise Misuse(f"initial_credit is {CREDIT_MIN} to {CREDIT_MAX} bytes, not {self.initial_credit}")
        if not 1 <= self.streams <= STREAMS_MAX:
            raise Misuse(f"streams is 1 to {STREAMS_MAX}, not {self.streams}")
        if self.memory < CREDIT_MIN or self.unacked_max < CREDIT_MIN:
            raise Misuse(f"memory and unacked_max are at least {CREDIT_MIN} bytes")
        if not 0 < self.keepalive < self.dead_after or self.grace < 0:
            raise Misuse("keepalive is more than 0 and less than dead_after, grace at least 0")

    @property
    def opening_max(self) -> int:
        """The largest window of a stream that has just been opened, in costs."""
        return min(self.opening_window, self.window_max)

    @property
    def offered_credit(self) -> int:
        """The initial credit that HELLO offers, in costs.

        It is small enough for all streams that may be open to fit into the memory, however much windows have grown. But
        it is never below CREDIT_MIN: so at least sixteen streams fit into 2 MiB, and eight into 1 MiB.
        """
        each = (self.memory - self.memory // GROWTH_PART) // max(16, self.streams)
        return max(CREDIT_MIN, min(self.initial_credit, self.window_max, each))
