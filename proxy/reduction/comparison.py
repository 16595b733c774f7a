"""Whether another level leaves enough less to give up a context for it: found on the side, and not sent.

Both levels compress the same literals from nothing on, with short windows: what a context knows already would make any
level look better than one that begins, and a long window shows more of a difference, not less.
"""

from proxy.reduction.contexts import ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN

BYTES = 4 << 20
"""Literals after which it is known."""

AT_ONCE = 4
"""Streams of a tunnel that compare: each holds 5.4 MiB for that beside its context, and dozens may wish to at once."""

SILENT = 10.0
"""Seconds without literals after which a stream's place is another one's, if that wants it."""


class Comparison:
    """Of two levels of zstd, on one stream's literals. Holds two windows of 1 MiB and their tables."""

    def __init__(self, level: int, wanted: int) -> None:
        self.levels = level, wanted
        self._present = ContextWriter(level, WINDOW_LOG_MIN)
        self._wanted = ContextWriter(wanted, WINDOW_LOG_MIN)
        self._bytes = self._present_bytes = self._wanted_bytes = 0

    def see(self, literals: bytes) -> float | None:
        """What the wanted level leaves of what the other one leaves; None until enough was seen."""
        self._bytes += len(literals)
        self._present_bytes += len(self._present.encode(literals))
        self._wanted_bytes += len(self._wanted.encode(literals))
        return self._wanted_bytes / self._present_bytes if self._bytes >= BYTES else None


class Comparisons:
    """Those under way in one tunnel: a few at once, the others wait for their turn. Loop thread."""

    def __init__(self) -> None:
        self._held: dict[object, tuple[Comparison, float]] = {}
        """By stream, with the time when it was asked for last; the one for which that is longest ago first."""

    def of(self, stream: object, levels: tuple[int, int], now: float) -> Comparison | None:
        """The stream's own, of these levels; None while others have all the places."""
        comparison, _ = self._held.pop(stream, (None, 0.0))
        if comparison is None and not self._has_place(now):
            return None
        if comparison is None or comparison.levels != levels:
            comparison = Comparison(*levels)
        self._held[stream] = comparison, now
        return comparison

    def end(self, stream: object) -> None:
        """It is over, or not wanted any more."""
        self._held.pop(stream, None)

    def _has_place(self, now: float) -> bool:
        """Of those that have paused within theirs one may have to begin anew."""
        if len(self._held) < AT_ONCE:
            return True
        stream, (_, asked) = next(iter(self._held.items()))
        if now - asked < SILENT:
            return False
        del self._held[stream]
        return True
