"""What a tunnel counts: counters since it was made, and sizes as of now."""

from dataclasses import dataclass


@dataclass(slots=True)
class TunnelFigures:
    """Bytes of frames are those of their payloads, except for copies."""

    retransmitted: int = 0
    """Frames sent again because their lane died."""
    retransmitted_bytes: int = 0
    copies: int = 0
    """Frames that went by another lane as well, because packets are lost."""
    copied_bytes: int = 0
    """Bytes of these copies, headers included."""
    duplicates: int = 0
    """Frames that arrived again."""
    late: int = 0
    """Frames that arrived for streams that were over."""
    outages: int = 0
    """How often the last lane was lost."""
    round_trip: float | None = None
    """Seconds, a moving average over pings; None until the first is answered."""
    streams: int = 0
    """Live streams, and those whose reset the peer has not acknowledged."""
    unacked_bytes: int = 0
    """Frames of streams that wait to be sent or acknowledged, counting 256 bytes for each beside its payload."""
    kept_bytes: int = 0
    """Received frames that are kept because they came ahead of a gap."""
    credit_bytes: int = 0
    """What the peer may send, or has sent and our arrays have not taken: at most the tunnel's memory."""
    foretold_bytes: int = 0
    """The part of `credit_bytes` that is set aside for the next stream that the peer opens."""
