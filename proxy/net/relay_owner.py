"""What a relay needs of its peer; implemented by `Relays`."""

from typing import TYPE_CHECKING, Protocol

from proxy.net.fills import Fills
from proxy.net.misses import Misses
from proxy.net.reading import Reading
from proxy.net.rounds import Rounds
from proxy.net.turns import Turns
from proxy.net.waits import WaitsOwner
from proxy.reduction.holdings import Holdings

if TYPE_CHECKING:
    from proxy.net.relay import Relay


class RelayOwner(WaitsOwner, Protocol):
    """Loop thread."""

    fills: Fills
    misses: Misses
    reading: Reading
    turns: Turns
    rounds: Rounds

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most, so that none keeps a lane busy for long."""

    @property
    def holdings(self) -> Holdings:
        """What the peer's store is believed to hold."""

    def pump(self) -> None:
        """Write to the lanes what the tunnel wants sent."""

    def breach(self, reason: str) -> None:
        """The peer broke the protocol: end the tunnel."""

    def gone(self, relay: "Relay") -> None:
        """The relay has ended; it, or its caller, calls `pump` soon. If it ended in order, its array may still have to
        take the last bytes; `left` follows."""

    def left(self, relay: "Relay") -> None:
        """The array's connection is closed."""
