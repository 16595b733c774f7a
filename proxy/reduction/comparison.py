"""Whether another level leaves enough less to give up a context for it: found on the side, and not sent.

Both levels compress the same literals from nothing on, with short windows: what a context knows already would make any
level look better than one that begins, and a long window shows more of a difference, not less.
"""

from proxy.reduction.contexts import ContextWriter
from proxy.reduction.windows import WINDOW_LOG_MIN

BYTES = 4 << 20
"""Literals after which it is known."""


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
