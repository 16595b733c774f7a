"""A line, a core and a source under a clock of their own, for streams that choose how hard to compress."""

from dataclasses import dataclass, field

from proxy.reduction.compression import Backoff
from proxy.reduction.drafts import GRAIN_MAX
from proxy.reduction.effort import STEPS, Effort
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.sparing import Sparing

BATCH = GRAIN_MAX
LANE = BATCH
"""Bytes that a lane takes before any has to wait."""
QUEUE = 3 * BATCH
"""Bytes that may be on their way to the line."""
OTHER_COST = 4e-9
"""Seconds a byte for all that the loop does beside compression."""
TYPICAL = (0.62, 0.52, 0.508, 0.50, 0.49, 0.48)
"""What each step leaves."""
LAST = len(STEPS) - 1
ENDLESS = 1e12


@dataclass
class Core:
    """One loop and one line that its streams share."""

    rate: float
    """Of the line, in bytes a second."""
    source: float = ENDLESS
    """Bytes a second that each stream's source has to give."""
    power: float = 1.0
    """How much faster than a middling core."""
    crowd: float = 1.0
    """How many times as long all takes because others use the machine."""
    ratios: tuple[float, ...] = TYPICAL
    costs: tuple[float, ...] = tuple(step.cost for step in STEPS)
    now: float = 0.0
    queued: float = 0.0
    sent: float = 0.0
    """Bytes that were on the line."""
    plain: float = 0.0
    spent: float = 0.0
    """Seconds in which the loop compressed."""
    backoffs: dict[Effort, Backoff] | None = None
    """Of each stream, if what does not compress passes as it is."""
    worked: float = 0.0
    """Seconds of CPU, with all else that the loop did."""
    sparing: Sparing = field(default_factory=lambda: Sparing(lambda: False))
    load: CompressionLoad = field(default_factory=CompressionLoad)

    def streams(self, count: int, round_trip: float = 0.0) -> list[Effort]:
        return [Effort(self.load, round_trip, self.sparing) for _ in range(count)]

    def run(self, seconds: float, *streams: Effort) -> None:
        """Each stream in turn brings a batch, as soon as source, core and line allow."""
        end = self.now + seconds
        while self.now < end:
            self._pass(len(streams) * BATCH / self.source)
            for stream in streams:
                self._batch(stream)

    def rest(self, seconds: float) -> None:
        """The loop has nothing to do for the line, which goes on."""
        self._pass(seconds)

    def _batch(self, stream: Effort) -> None:
        pressed = self.queued > LANE
        begun, used = self.now, self.worked
        if self.queued > QUEUE:
            self._pass((self.queued - QUEUE / 2) / self.rate)
        backoff = self.backoffs.setdefault(stream, Backoff()) if self.backoffs is not None else None
        if backoff is not None and backoff.passes():
            stream.passed(BATCH, self.now)
            self._send(BATCH)
            return
        stream.turn(used, begun)
        if stream.spare(BATCH, self.now):
            self._send(BATCH)
            return
        at = STEPS.index(stream.step)
        cost = BATCH * self.costs[at] / self.power
        self.spent += cost
        self._work(cost)
        encoded = int(BATCH * self.ratios[at])
        if backoff is not None:
            backoff.gains(BATCH, encoded)
        self._send(encoded)
        stream.note(Measured(BATCH, encoded, self.crowd * cost, cost), pressed=pressed, now=self.now)
        if stream.wanted is not None:
            stream.compared(self.ratios[STEPS.index(stream.wanted)] / self.ratios[at], self.now)

    def _send(self, encoded: int) -> None:
        self._work(BATCH * OTHER_COST / self.power)
        self.queued += encoded
        self.plain += BATCH

    def _work(self, seconds: float) -> None:
        self.worked += seconds
        self._pass(self.crowd * seconds)

    def _pass(self, seconds: float) -> None:
        gone = min(self.queued, self.rate * seconds)
        self.sent += gone
        self.queued -= gone
        self.now += seconds


class Hub:
    """One loop that has several lines."""

    def __init__(self, *rates: float) -> None:
        load = CompressionLoad()
        self.lines = [Core(rate, load=load) for rate in rates]

    def run(self, seconds: float, *streams: Effort | None) -> None:
        """One of each line, in turn; None: it has nothing to send. Where a line is full only its own one waits."""
        end = self.lines[0].now + seconds
        asking = [(line, stream) for line, stream in zip(self.lines, streams, strict=True) if stream is not None]
        while self.lines[0].now < end:
            free = [(line, stream) for line, stream in asking if line.queued <= QUEUE]
            for line, stream in free:
                line.run(1e-9, stream)
                self._follow(line)
            if not free:
                self.lines[0].rest(5e-4)
                self._follow(self.lines[0])

    def _follow(self, worked: Core) -> None:
        for line in self.lines:
            line.rest(worked.now - line.now)
            line.now, line.worked = worked.now, worked.worked


def at(stream: Effort) -> int:
    return STEPS.index(stream.step)
