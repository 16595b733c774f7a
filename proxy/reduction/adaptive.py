"""Literals compressed as hard as the stream's `Effort` says: in frames of their own, or as part of one long frame."""

from collections.abc import Callable, Sequence
from functools import cache
from time import monotonic, thread_time

from proxy.reduction.batch import CODEC_CONTEXT, CODEC_NONE, CODEC_ZSTD
from proxy.reduction.comparison import Comparisons
from proxy.reduction.compression import WORTH_TRYING, Backoff, zstd
from proxy.reduction.contexts import ContextWriter
from proxy.reduction.effort import Effort
from proxy.reduction.load import Measured

SPARED = "none, for speed"
"""What operators are shown while the line is faster than compression."""
_frames = cache(zstd)  # one compressor for each level, shared by all streams of the loop


class AdaptiveCompression:
    """One stream's compression. Literals that do not compress are sent as they are, as with a fixed level."""

    def __init__(
        self,
        effort: Effort,
        pressed: Callable[[], bool],
        claim: Callable[[], int],
        comparisons: Comparisons,
        clock: Callable[[], float] = monotonic,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        """`pressed`: whether the stream waits for the line; `claim`: log2 of a new context's window, 0 if none is left.

        `comparisons`: the tunnel's.
        """
        self.seconds = 0.0
        self.spared = 0
        self._effort = effort
        self._pressed = pressed
        self._claim = claim
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._backoff = Backoff()
        self._context: ContextWriter | None = None
        self._comparisons = comparisons
        self._level = 0  # the level for which a context was last wanted

    @property
    def in_words(self) -> str:
        """What compression does at the moment, as shown to operators."""
        if self._backoff.resting:
            return "none"
        if self._effort.spares:
            return SPARED
        context = self._context
        return f"zstd {context.level}, {context.window >> 20} MiB" if context else f"zstd {self._effort.step.level}"

    @property
    def ratio(self) -> float:
        """Encoded bytes divided by literal bytes, over the last few batches; 1 while nothing is gained."""
        return 1.0 if self._effort.spares else self._backoff.ratio

    def close(self) -> None:
        """The stream is over: drop its context and its comparison."""
        self._context = None
        self._comparisons.end(self)

    def encode(self, literals: Sequence[bytes], length: int) -> tuple[int, Sequence[bytes]]:
        """Return codec and encoded bytes. The batch has to be sent: later ones may refer to it."""
        if length < WORTH_TRYING:
            return CODEC_NONE, literals
        if self._backoff.passes():
            self._effort.passed(length, self._clock())
            return CODEC_NONE, literals
        begun, cpu = self._clock(), self._cpu_clock()
        self._effort.turn(cpu, begun)
        if self._effort.spare(length, begun):
            self.spared += length
            return CODEC_NONE, literals
        pressed = self._pressed()
        joined = b"".join(literals)
        codec, encoded = self._compress(joined)
        now, cpu = self._clock(), self._cpu_clock() - cpu
        self.seconds += cpu
        self._effort.note(Measured(length, len(encoded), now - begun, cpu), pressed=pressed, now=now)
        self._compare(joined)
        gains = self._backoff.gains(length, len(encoded))
        return (codec, (encoded,)) if gains or codec == CODEC_CONTEXT else (CODEC_NONE, literals)

    def _compress(self, literals: bytes) -> tuple[int, bytes]:
        level, wants_context, _ = self._effort.step
        if not wants_context:
            self._context, self._level = None, 0
        elif level != self._level:
            self._begin(level)
        if self._context is not None:
            return CODEC_CONTEXT, self._context.encode(literals)
        return CODEC_ZSTD, _frames(level)(literals)

    def _compare(self, literals: bytes) -> None:
        """If the effort wants another step, compare both on these literals: is the step worth a new context?"""
        wanted = self._effort.wanted
        if wanted is None:
            self._comparisons.end(self)
            return
        if self._context is None:
            self._effort.compared(0.0, self._clock())
            return
        begun, cpu = self._clock(), self._cpu_clock()
        comparison = self._comparisons.of(self, (self._context.level, wanted.level), len(literals))
        if comparison is None:
            return
        left = comparison.see(literals)
        now, cpu = self._clock(), self._cpu_clock() - cpu
        self.seconds += cpu
        self._effort.spend(now - begun, cpu, now)
        if left is not None:
            self._comparisons.end(self)
            self._effort.compared(left, now)

    def _begin(self, level: int) -> None:
        """Begin a new context if there is a window for it; it cannot refer to what the former one has sent."""
        window_log = self._claim()
        self._context = ContextWriter(level, window_log) if window_log else None
        self._level = level
