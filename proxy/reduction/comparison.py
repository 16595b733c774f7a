"""Measures whether another level would save enough to give up a context for it, by compressing on the side.

Both levels compress the same literals, and nothing of it is sent. Both begin with an empty window: the stream's own
context knows what came before, and would look better than any new one. Windows are short here; with longer ones levels
differ more, not less.
"""

from proxy.reduction.contexts import ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN

BYTES = 4 << 20
"""Bytes of literals after which a comparison is over."""

AT_ONCE = 4
"""Streams of a tunnel that may compare at once: each holds 5.4 MiB for that beside its context, and dozens may want to.
"""

PATIENCE = 2 * BYTES
"""Bytes of literals that a waiting stream sends, while no other stream begins a comparison, before it takes a place."""


class Comparison:
    """A comparison of two levels of zstd on one stream's literals. Holds two windows of 1 MiB and their tables."""

    def __init__(self, level: int, wanted: int) -> None:
        self.levels = level, wanted
        self._present = ContextWriter(level, WINDOW_LOG_MIN)
        self._wanted = ContextWriter(wanted, WINDOW_LOG_MIN)
        self._bytes = self._present_bytes = self._wanted_bytes = 0

    def see(self, literals: bytes) -> float | None:
        """Compress with both; returns the wanted level's bytes divided by the other's, None until enough was seen."""
        self._bytes += len(literals)
        self._present_bytes += len(self._present.encode(literals))
        self._wanted_bytes += len(self._wanted.encode(literals))
        return self._wanted_bytes / self._present_bytes if self._bytes >= BYTES else None


class Comparisons:
    """The comparisons of one tunnel: AT_ONCE at once, other streams wait for their turn. Loop thread."""

    def __init__(self) -> None:
        self._held: dict[object, Comparison] = {}
        """By stream, the oldest first."""
        self._passed: dict[object, int] = {}
        """By waiting stream: bytes of literals that it has sent since a comparison last began."""

    def of(self, stream: object, levels: tuple[int, int], length: int) -> Comparison | None:
        """The stream's comparison of these levels; None while others have all places. `length`: bytes to compress."""
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
        """The stream's comparison is over, or not wanted any more."""
        self._held.pop(stream, None)
        self._passed.pop(stream, None)

    def _has_place(self, stream: object, length: int) -> bool:
        """Whether the stream may begin: a place is free, or it has waited for PATIENCE bytes and takes the oldest's.

        The stream of the oldest may have paused, or send little now and then; it has to begin anew.
        """
        if len(self._held) < AT_ONCE:
            return True
        self._passed[stream] = self._passed.get(stream, 0) + length
        if self._passed[stream] < PATIENCE:
            return False
        del self._held[next(iter(self._held))]
        return True
