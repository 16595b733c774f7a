"""Memory for contexts: what all streams of a tunnel may have as zstd windows, on either side (PROTOCOL.md, "Contexts").

The sender counts a window until the peer has forgotten the stream, the receiver until the stream's last batch is
decoded: so an honest sender never asks for more than its receiver has.
"""

from collections.abc import Callable

from proxy.reduction.errors import BatchError

WINDOW_LOG_MAX = 25
WINDOW_LOG_MIN = 20
"""Windows from 1 to 32 MiB: shorter ones would find little, longer ones would be too few."""

WINDOWS_MAX = 64 << 20
"""Bytes of all windows of one tunnel and direction, at most; a window below 1 MiB counts as 1 MiB."""


def cost_of(window: int) -> int:
    """How many bytes a window of `window` bytes counts as."""
    return max(window, 1 << WINDOW_LOG_MIN)


class ContextMemory:
    """The receiver's account."""

    def __init__(self) -> None:
        self.used = 0

    def take(self, size: int) -> None:
        """A frame begins. Raises BatchError beyond the maximum."""
        if self.used + size > WINDOWS_MAX:
            raise BatchError(f"zstd windows of more than {WINDOWS_MAX} bytes on all streams together")
        self.used += size

    def give(self, size: int) -> None:
        """A frame has ended."""
        self.used -= size


class ContextClaims:
    """The sender's account."""

    def __init__(self, remembered: Callable[[int], bool]) -> None:
        """`remembered`: False of a stream once the peer has forgotten it."""
        self._remembered = remembered
        self._claims: dict[int, int] = {}

    def claim(self, stream: int, streams: int) -> int:
        """Log2 of the window that a new frame of the stream may have; 0 if none is left.

        It is a fair share of WINDOWS_MAX for `streams` (those that may want a window, this one included), the shortest
        window at least, but never more than half of what is left, so that something remains for streams to come. A
        stream keeps what it once got.
        """
        self._claims = {number: size for number, size in self._claims.items() if self._remembered(number)}
        own = self._claims.get(stream, 0)
        left = WINDOWS_MAX - sum(self._claims.values()) + own
        fair = min(max(WINDOWS_MAX // max(streams, 1), 1 << WINDOW_LOG_MIN), left // 2)
        window_log = min(max(fair, own).bit_length() - 1, WINDOW_LOG_MAX)
        if window_log < WINDOW_LOG_MIN:
            return 0
        self._claims[stream] = 1 << window_log
        return window_log
