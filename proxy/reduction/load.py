"""Measures what compression of all streams together costs the event loop, or would cost it."""

from math import exp
from typing import NamedTuple

_BUSY = 0.1
"""Share of the loop's time above which it compresses one batch after the other."""


class Measured(NamedTuple):
    """The result of compressing a batch's literals: bytes before and after, and the time that it took."""

    length: int
    encoded: int
    seconds: float
    """By the wall clock: on a machine that others use as well, more than `cpu_seconds`."""
    cpu_seconds: float


class CompressionLoad:
    """What all streams of a loop, or of a tunnel, compress, over about the last 0.4 s. `now` in seconds, monotonic."""

    _SPAN = 0.4
    """Seconds in which what was counted fades to 1/e."""
    _LONGEST = 0.25
    """Seconds of a pause in which counts fade, at most: what comes after a pause is taken to be as before."""

    def __init__(self) -> None:
        self._bytes = self._passed = self._seconds = self._cpu_seconds = self._at = 0.0
        self._spared = self._spared_seconds = self._spared_cpu_seconds = 0.0
        self._turned = self._used = 0.0
        self.busy = 0.0
        """Share of a core that the loop takes for everything it does, as of the last `turn`."""

    def turn(self, used: float, now: float) -> None:
        """The loop has come to another batch; `used`: CPU seconds that it has taken so far, for anything."""
        passed = now - self._turned
        if passed > 0:
            self.busy += ((used - self._used) / passed - self.busy) * (1 - exp(-passed / self._SPAN))
            self._turned, self._used = now, used

    def note(self, batch: Measured, now: float) -> None:
        """A batch was compressed."""
        self._age(now)
        self._bytes += batch.length
        self._seconds += batch.seconds
        self._cpu_seconds += batch.cpu_seconds

    def passed(self, length: int, now: float) -> None:
        """`length` bytes were sent untried, since those before them did not compress."""
        self._age(now)
        self._passed += length

    def spared(self, length: int, seconds: float, cpu_seconds: float, now: float) -> None:
        """`length` bytes were sent as they are, since the line is faster; compressing them would have taken so long."""
        self._age(now)
        self._spared += length
        self._spared_seconds += seconds
        self._spared_cpu_seconds += cpu_seconds

    def sparing(self, now: float) -> float:
        """Bytes a second that are spared compression."""
        self._age(now)
        return self._spared / self._SPAN

    def rate(self, now: float) -> float:
        """Bytes a second that are compressed."""
        self._age(now)
        return self._bytes / self._SPAN

    def passing(self, now: float) -> float:
        """Bytes a second that are sent untried, since they do not compress."""
        self._age(now)
        return self._passed / self._SPAN

    def share(self, now: float) -> float:
        """Share of the loop's time that compression takes."""
        self._age(now)
        return self._seconds / self._SPAN

    def compresses(self, now: float) -> bool:
        """True while `share` is so large that the loop compresses batch after batch, with nothing else in between."""
        return self.share(now) > _BUSY

    def cpu_share(self, now: float) -> float:
        """Share of a core that compression takes; less than `share` on a machine that others use as well."""
        self._age(now)
        return self._cpu_seconds / self._SPAN

    def spared_cpu_share(self, now: float) -> float:
        """Share of a core that it would take to compress what is spared."""
        self._age(now)
        return self._spared_cpu_seconds / self._SPAN

    def stretch(self, now: float) -> float:
        """Wall-clock time of compression, also of what is spared, divided by its CPU time; 1 at least.

        It is more where others use the machine as well.
        """
        self._age(now)
        cost = self._cpu_seconds + self._spared_cpu_seconds
        return max((self._seconds + self._spared_seconds) / cost, 1.0) if cost > 0 else 1.0

    def _age(self, now: float) -> None:
        if now == self._at:  # each batch asks several things
            return
        fading = exp(-min(max(now - self._at, 0.0), self._LONGEST) / self._SPAN)
        self._bytes *= fading
        self._passed *= fading
        self._spared *= fading
        self._spared_seconds *= fading
        self._spared_cpu_seconds *= fading
        self._seconds *= fading
        self._cpu_seconds *= fading
        self._at = now
