"""Why a stream may send no more now, and the figures that say so."""

from dataclasses import dataclass
from enum import Enum, auto


class Obstacle(Enum):
    """Which limit leaves a stream the least room to send."""

    LINE = auto()
    """The limit on queued bytes: the lanes take no more."""
    WINDOW = auto()
    """The peer's credit. Most of what used it up is not acknowledged: it is on its way."""
    FAR = auto()
    """The peer's credit. Most of what used it up has arrived, but the far array has not taken it."""
    UNACKED = auto()
    """The limit on what all streams of the tunnel hold together until it is acknowledged."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One stream's sending direction, in costs (credit.py)."""

    obstacle: Obstacle
    window: int
    """What the peer allows beyond what its array has taken."""
    arrived: int
    """The part of `window` that is acknowledged, and not taken by the far array as far as we know."""
    held: float
    """Seconds for which caps have held the stream's share back, since the share began."""
    queued: int
    """Bytes that wait for a lane."""
