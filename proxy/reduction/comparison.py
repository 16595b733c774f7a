"""Whether another level saves enough to give up a context for it: tried on the side, and not sent.

Both levels compress the same literals, each beginning with an empty window: the stream's own context, which knows what
came before, would look better than any that begins. Windows are short; with longer ones levels differ more, not less.
"""

from proxy.reduction.contexts import ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN

BYTES = 4 << 20
"""Literals after which it is known."""

AT_ONCE = 4
"""Streams of a tunnel that compare: each holds 5.4 MiB for that beside its context, and dozens may wish to at once."""

PATIENCE = 2 * BYTES
"""Literals that a stream has let pass while it waited, and nobody began meanwhile: then a place becomes its own."""


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
        self._held: dict[object, Comparison] = {}
        """By stream, the one that began first first."""
        self._passed: dict[object, int] = {}
        """Literals of each that waits, since one began last."""

    def of(self, stream: object, levels: tuple[int, int], length: int) -> Comparison | None:
        """The stream's own, of these levels, for so many literals; None while others have all the places."""
        comparison = self._held.get(stream)
        if comparison is not None and comparison.levels == levels:
            return comparison
        if comparison is None and not self._has_place(stream, length):
            return None
        self.end(stream)
        self._passed.clear()
        self._held[stream] = Comparison(*levels)
        return self._held[stream]

    def end(self, stream: object) -> None:
        """It is over, or not wanted any more."""
        self._held.pop(stream, None)
        self._passed.pop(stream, None)

    def _has_place(self, stream: object, length: int) -> bool:
        """Whether there is a place for one more stream, if need be that of the one that began first.

        That may have paused, or bring little now and then; it has to begin anew.
        """
        if len(self._held) < AT_ONCE:
            return True
        self._passed[stream] = self._passed.get(stream, 0) + length
        if self._passed[stream] < PATIENCE:
            return False
        del self._held[next(iter(self._held))]
        return True
