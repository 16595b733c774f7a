"""Decides for each stream how hard to compress: as hard as the line leaves time for, and no harder.

A *step* (STEPS) is a level of zstd, with a context or without. A higher step pays only while batches wait for the line:
then it is the highest one whose cost, at the present rate of bytes, leaves the loop most of its time. A lower one is
due when the line runs dry while compression keeps the loop busy.

A change begins a new context, which has nothing to refer to yet; so changes are few. Before a context is given up, both
steps are compared on the side (`comparison`). Each raise is on trial; after one that did not pay, the next waits twice
as long. Over a long line a stream does not wait to be sure, since the line is slow as long as TCP gathers speed: it
begins with a context at once, and keeps it unless the line has time for a step that is two higher.

If a stream's data does not compress, only a batch now and then is tried. Judged by these alone, even the highest step
would look cheap on a fast line, while each try held up the loop and each stream had a window for nothing. So all
batches that pass untried count with what it would cost to compress them.
"""

from typing import NamedTuple

from proxy.reduction.compression import GAIN
from proxy.reduction.load import CompressionLoad, Measured
from proxy.reduction.sparing import BUSY, LITTLE, MUCH, Sparing


class Step(NamedTuple):
    """A level of zstd; `context`: as one frame through the whole stream, if there is a window for it."""

    level: int
    context: bool
    cost: float
    """CPU seconds a byte on an average core: the estimate before it is measured."""


STEPS = (
    Step(1, False, 1 / 450e6),
    Step(1, True, 1 / 310e6),
    Step(3, True, 1 / 170e6),
    Step(6, True, 1 / 90e6),
    Step(9, True, 1 / 50e6),
    Step(12, True, 1 / 25e6),
)
"""DECISIONS.md has what each brings. A line for which even the first is too slow is so fast that it needs no pair."""

_AFFORDABLE = 0.3
"""Share of the loop's time that all compression may take after a raise."""
_CROWDED = 3.0
"""Wall-clock time of a step divided by its CPU time is taken to be no more than this on a machine that others use as
well: for calls as short as the first step's, more is measured."""
_DRY = 0.4
_DRY_TIME = 0.65
"""Share of a core, and of the loop's time, above which compression takes too much if nothing waits for the line."""
_OVERLOAD = 0.85
"""A larger share of the loop's time is too much in any case: other streams wait for the loop."""
_GROWTH = 1.25
"""Factor by which the rate of bytes may grow once they compress better."""

_SURE = 1.0
"""Seconds that batches must have waited for the line before a raise."""
_FREE = 0.5
"""Seconds in which no batch waited for the line, after which the line is taken to wait for batches. Shorter gaps are
normal: as credit comes in pieces, batches come in bursts."""
_PAUSE = 10.0
"""Seconds without a batch after which nothing is known of the line any more."""
_SETTLED = 30.0
"""Seconds from one raise to the next, which would have to save more than its new context costs at first."""
_RECOVERED = 1.5
"""Seconds from any change until the load shows it."""
LONG = 0.02
"""Seconds of round trip from which on a line is long."""
_FIRST = 3
"""The step to begin with on a long line, at most."""
_FIRST_BYTES = 256 << 10
"""Bytes of literals before it is taken: a stream that sends less needs no window of its own."""
_LEARNED = 3.0
"""Seconds from then until the line's rate is known."""
_REST = 10.0
_LONGEST_REST = 640.0
"""Seconds without a raise after one that did not pay: after the first, and after many in a row."""
_STEADY = 60.0
"""A step that was kept for so long has paid."""

_IN_A_ROW = 32
"""Batches that are spared in a row, until one is compressed to see what that brings."""

_TRIAL_BYTES = 40 << 20
"""Bytes of literals until a raise is judged: the longest window is full by then."""
_WORTH = 0.99
"""A raise is kept if it brings the encoded bytes down to this share of what they were, or less."""
_WORTH_LOSING = 0.995
"""The same in a comparison, where both steps begin with empty windows, for a context to be given up: with a long window
the higher step leaves less, so the loss is made up for within a minute or so."""
_MEMORY_BYTES = 4 << 20
"""Bytes of literals over which ratio and cost are averaged."""


class Effort:
    """One stream's effort: it is told of each batch, and says by which step the next one is to be compressed.

    Loop thread. `now` in seconds, monotonic.
    """

    def __init__(self, load: CompressionLoad, round_trip: float, sparing: Sparing) -> None:
        """`load`: the loop's; `round_trip`: of the line, in seconds; 0 if it is unknown; `sparing`: the tunnel's."""
        self._load = load
        self._at = 0
        self._to_begin = round_trip >= LONG  # with a context, as soon as there is enough to send
        self._two_steps_until = float("-inf")  # until then, a raise has to be of two steps
        self._costs: dict[int, float] = {}
        self._ratio = 1.0
        self._crowding = 1.0  # wall-clock time divided by CPU time
        self._bytes = 0  # of literals, since the last change
        self._wanted: int | None = None
        self._before: tuple[int, float] | None = None  # step and ratio from which a raise on trial started
        self._pressed_since: float | None = None
        self._pressed_last = 0.0
        self._heard = 0.0
        self._changed = float("-inf")
        self._no_raise_before = float("-inf")
        self._rest = _REST
        self._sparing = sparing
        self._in_a_row = 0  # batches that were spared
        self.changes = 0
        """Changes of the step so far."""

    @property
    def spares(self) -> bool:
        """True while batches are sent as they are because the line is faster than compression."""
        return self._sparing.active and self._may_spare

    @property
    def step(self) -> Step:
        """The step for the next batch."""
        return STEPS[self._at]

    @property
    def wanted(self) -> Step | None:
        """A step that fits the line, and has to be compared with `step` first, since a context would be given up."""
        return None if self._wanted is None else STEPS[self._wanted]

    def compared(self, left: float, now: float) -> None:
        """A comparison is over. `left`: what the wanted step leaves of what the present one leaves."""
        step, self._wanted = self._wanted, None
        if step is None:
            return
        if left > _WORTH_LOSING:
            self._wait_longer(now)
        elif step <= self._affordable(now):
            self._try(step, now)

    def spend(self, seconds: float, cpu_seconds: float, now: float) -> None:
        """A comparison took the loop's time."""
        self._count(Measured(0, 0, seconds, cpu_seconds), now)

    def passed(self, length: int, now: float) -> None:
        """`length` bytes of literals were sent untried, since those before them did not compress."""
        self._load.passed(length, now)

    def turn(self, used: float, now: float) -> None:
        """The loop has come to a batch of the stream; `used`: CPU seconds that it has taken so far, for anything."""
        self._load.turn(used, now)

    def spare(self, length: int, now: float) -> bool:
        """Whether a batch with `length` bytes of literals is to be sent as it is because the line is faster.

        While that is so, a batch now and then is compressed all the same, to show what it would bring.
        """
        if not self.spares:
            return False
        self._heard, self._pressed_since = now, None  # the line is not what is waited for
        self._in_a_row += 1
        if self._in_a_row > _IN_A_ROW:
            self._in_a_row = 0
            return False
        cost = length * self._costs[0]
        for load in (self._load, self._sparing.load):
            load.spared(length, cost * self._stretch, cost, now)
        self._sparing.spared(length, needless=self._is_needless(now), now=now)
        return True

    def note(self, batch: Measured, *, pressed: bool, now: float) -> None:
        """A batch was compressed. `pressed`: the stream waits for the line, with this batch or earlier ones."""
        self._count(batch, now)
        self._measure(batch)
        self._watch(pressed, now)
        if self._may_spare:
            self._sparing.compressed(batch.length, held_up=self._is_held_up(now), now=now)
        if self._is_too_much(now):
            self._give_way(now)
        elif self._before is not None and self._bytes >= _TRIAL_BYTES:
            self._judge(now)
        elif self._may_begin():
            self._begin(now)
        elif self._may_raise(now):
            self._raise(now)

    def _count(self, batch: Measured, now: float) -> None:
        self._load.note(batch, now)
        self._sparing.load.note(batch, now)

    def _measure(self, batch: Measured) -> None:
        length = batch.length
        weight = min(1.0, length / max(min(self._bytes, _MEMORY_BYTES), length))
        self._bytes += length
        self._ratio += (batch.encoded / length - self._ratio) * weight
        crowding = max(batch.seconds / batch.cpu_seconds, 1.0) if batch.cpu_seconds > 0 else 1.0
        self._crowding += (crowding - self._crowding) * weight
        cost = self._costs.get(self._at, batch.cpu_seconds / length)
        self._costs[self._at] = cost + (batch.cpu_seconds / length - cost) * weight

    def _watch(self, pressed: bool, now: float) -> None:
        if now - self._heard > _PAUSE:
            self._pressed_since = None
        self._heard = now
        if pressed:
            self._pressed_since = now if self._pressed_since is None else self._pressed_since
            self._pressed_last = now
        elif now - self._pressed_last > _FREE:
            self._pressed_since = None

    @property
    def _stretch(self) -> float:
        return min(self._crowding, _CROWDED)

    @property
    def _may_spare(self) -> bool:
        """True if the stream's data compresses, its step is the fastest one, and the cost of that is known."""
        return not self._at and not self._in_vain and 0 in self._costs

    def _is_held_up(self, now: float) -> bool:
        """True if compression holds the tunnel up: the loop has no time left, and compression takes much of it.

        That of all streams counts, since each may send little; but this tunnel's own part must not be little.
        """
        busy, own = self._load.busy, self._sparing.load.cpu_share(now)
        stretch = min(self._load.stretch(now), _CROWDED)
        return busy * stretch > BUSY and self._load.cpu_share(now) > MUCH * busy and own > LITTLE * busy

    def _is_needless(self, now: float) -> bool:
        """True if the loop has time to compress all that is spared, or if compression would take little of its time.

        The latter is asked of all streams, and of this tunnel's. It includes what streams with a context compress all
        the same, as in `_is_held_up`: otherwise sparing would end here and be tried again at once.
        """
        busy, stretch = self._load.busy, min(self._load.stretch(now), _CROWDED)
        everything, own = self._load.spared_cpu_share(now), self._sparing.load.spared_cpu_share(now)
        if (busy + everything) * stretch < BUSY:
            return True
        everything += self._load.cpu_share(now)
        own += self._sparing.load.cpu_share(now)
        return everything < MUCH * busy or own < LITTLE * busy

    def _is_too_much(self, now: float) -> bool:
        if not self._at or now - self._changed < _RECOVERED:
            return False
        share = self._load.share(now)
        dry = self._pressed_since is None and (share > _DRY_TIME or self._load.cpu_share(now) > _DRY)
        return dry or share + self._passing(now) * self._costs[self._at] > _OVERLOAD

    def _give_way(self, now: float) -> None:
        step = min(self._affordable(now), self._at - 1)
        self._set_back(step, now)

    def _judge(self, now: float) -> None:
        assert self._before is not None
        step, ratio = self._before
        self._before = None
        if self._ratio > ratio * _WORTH:
            self._set_back(step, now)

    def _may_begin(self) -> bool:
        return self._to_begin and self._pressed_since is not None and self._bytes >= _FIRST_BYTES

    def _begin(self, now: float) -> None:
        """Take the first step of a long line. The line's rate is not known yet, so this is no trial."""
        self._to_begin = False
        step = min(self._affordable(now), _FIRST)
        if step:
            self._no_raise_before = now + _LEARNED
            self._two_steps_until = now + _SETTLED
            self._change(step, now)

    def _may_raise(self, now: float) -> bool:
        waited = self._pressed_since is not None and now - self._pressed_since >= _SURE
        return waited and self._wanted is None and now >= self._no_raise_before and self._at + 1 < len(STEPS)

    def _raise(self, now: float) -> None:
        step = self._affordable(now)
        if step <= self._at + (now < self._two_steps_until):
            self._no_raise_before = now + _RECOVERED
            return
        if self.step.context:
            self._wanted = step
        else:
            self._try(step, now)

    def _try(self, step: int, now: float) -> None:
        self._before = self._at, self._ratio
        self._no_raise_before = now + _SETTLED
        self._change(step, now)

    def _set_back(self, step: int, now: float) -> None:
        """Change to a lower step: the present one has not paid. The next raise waits."""
        if now - self._changed > _STEADY:
            self._rest = _REST
        self._wait_longer(now)
        self._before = None
        self._change(step, now)

    def _wait_longer(self, now: float) -> None:
        self._no_raise_before = now + self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST)

    def _change(self, step: int, now: float) -> None:
        self._costs = {self._at: self._costs[self._at]}  # others are estimated anew: the data may have changed
        self._at = step
        self._wanted = None
        self._to_begin = False
        self._bytes = 0
        self._changed = now
        self._pressed_since = None
        self.changes += 1

    @property
    def _in_vain(self) -> bool:
        """What the stream sends does not compress."""
        return self._ratio > GAIN

    def _passing(self, now: float) -> float:
        """Bytes a second that pass untried, and would have to be compressed as well if this data did compress."""
        return self._load.passing(now) if self._in_vain else 0.0

    def _affordable(self, now: float) -> int:
        """The highest step that would be affordable for all streams, at the present rate."""
        rate = (self._load.rate(now) + self._load.sparing(now) + self._passing(now)) * _GROWTH
        scale = self._costs[self._at] / STEPS[self._at].cost
        if self._in_vain:
            scale = max(scale, 1.0)  # the first step is quickly done with what does not compress, others are not
        costs = [self._costs.get(number, step.cost * scale) for number, step in enumerate(STEPS)]
        most = _AFFORDABLE / self._stretch
        return max((number for number, cost in enumerate(costs) if rate * cost <= most), default=0)
