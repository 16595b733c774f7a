"""How many lanes a tunnel needs where the congestion control takes loss for congestion. No I/O; time is an argument.

One connection then carries about MSS / (round trip x square root of the loss) however fast the line is (Mathis et al.,
Computer Communication Review 27(3), 1997); n connections carry n times that, up to the line's rate. The rate is not
known, so lanes are multiplied as long as that pays, and the number is kept that just about fills the line. Each such
step is a *trial*: the rate before it is compared with that after it.
"""

from dataclasses import dataclass
from typing import NamedTuple

FACTOR = 4
"""Lanes are multiplied by that much at a time: a line is filled in three steps."""
PERIOD = 2.0
"""Seconds over which a rate is measured."""
SETTLE = 1.5
"""Seconds before that, in which new lanes come up and gather speed."""
LOSS_MIN = 1e-4
"""Share of the bytes; with less loss one connection fills such lines as there are."""
BLOCKED = 0.6
"""Share of the time for which data waited for the lanes, from which on there may be too few of them."""
PAYS = 0.3
"""A trial has paid if the rate grew by so much of what the lanes grew by, at least."""
ROOM = 0.75
"""If it grew by so much of it the line has room for still more, and the next trial follows at once. If by less the line
is full, and no trial follows for `REST_FULL`, since lanes that come and go in vain cost a third of the rate for some
seconds. There are two exceptions. A trial that began with a single lane needs `PAYS` only: the rate before it may have
been that of a slow start. And where no more is lost than before the line is not full, for lanes on a full line get less
each because more is lost: then the rate before was good luck."""
SPARE = 2.0
"""Lanes kept for each that the rate calls for: loss is uneven, and a few lanes too many cost little."""
WORTH = 1.08
"""More lanes are kept only if they have multiplied the rate by so much."""
REST_LEAST, REST_MOST = 5.0, 120.0
"""Seconds until the next trial after one that did not pay, doubled each time. The first is soon: the rate before may
have been that of a slow start that had lost nothing yet."""
REST_FULL = 30.0
"""Seconds until the next trial on a line that has just been filled, at least."""
FALLEN = 0.7
"""Below so much of the rate that was reached, trials begin anew: that rate was good luck, or more is lost now."""
IDLE = 60.0
"""Seconds in which data has not waited for lanes, after which fewer are tried."""


@dataclass(frozen=True, slots=True)
class LaneTotals:
    """Totals of all lanes since the tunnel began, of the direction that this side sends."""

    sent: int
    """Bytes, without those sent again."""
    retransmitted: int
    blocked: float
    """Seconds in which data waited and no lane took any."""


class _Trial(NamedTuple):
    """The state before the lanes were multiplied."""

    lanes: int
    rate: float
    """Bytes a second."""
    loss: float
    """Share of the bytes that was sent again."""


class LaneCount:
    """Finds the number of lanes, `wanted`, from what `see` is told about once a second."""

    def __init__(self, most: int) -> None:
        self.wanted = 1
        self._most = most
        self._start_at = float("-inf")  # when the next period begins
        self._from: tuple[float, LaneTotals] | None = None  # when the present period began, and the totals then
        self._before: _Trial | None = None  # if a trial is under way
        self._not_before = float("-inf")  # no trial begins earlier
        self._rest = REST_LEAST  # after the next trial that does not pay
        self._reached = 0.0  # the better rate of the last trial, bytes a second
        self._idle_since = float("inf")

    def see(self, now: float, totals: LaneTotals) -> int:
        """How many lanes there should be, given what they have done so far. `now` in seconds."""
        if self._from is None:
            if now >= self._start_at:
                self._from = now, totals
            return self.wanted
        since, before = self._from
        if now - since >= PERIOD:
            self._from, self._start_at = None, now
            self._judge(now, now - since, before, totals)
            self.see(now, totals)
        return self.wanted

    def _judge(self, now: float, seconds: float, before: LaneTotals, totals: LaneTotals) -> None:
        sent, lost = totals.sent - before.sent, totals.retransmitted - before.retransmitted
        blocked = (totals.blocked - before.blocked) / seconds
        if blocked < BLOCKED:
            self._before = None
            self._fewer(now)
            return
        self._idle_since = float("inf")
        rate, loss = sent / seconds, lost / max(sent, 1)
        if self._before is not None:
            self._compare(now, rate, loss)
            return
        if rate < FALLEN * self._reached:
            self._reached, self._rest, self._not_before = rate, REST_LEAST, now
        if now >= self._not_before and loss > LOSS_MIN:
            self._more(now, rate, loss)

    def _more(self, now: float, rate: float, loss: float) -> None:
        if self.wanted < self._most:
            self._before = _Trial(self.wanted, rate, loss)
            self.wanted = min(self._most, self.wanted * FACTOR)
            self._start_at = now + SETTLE

    def _compare(self, now: float, rate: float, loss: float) -> None:
        assert self._before is not None
        lanes, before, lost = self._before
        self._before = None
        self._reached = max(before, rate)
        gain, growth = rate / max(before, 1.0), self.wanted / lanes
        followed = (gain - 1) / (growth - 1)
        if followed >= (ROOM if lanes > 1 else PAYS):
            self._rest = REST_LEAST
            self._more(now, rate, loss)
            return
        if followed >= PAYS and loss * gain > lost * growth:  # by Mathis it is (growth / gain) squared, give or take
            self._rest = max(self._rest, REST_FULL)
        self.wanted = min(self.wanted, max(lanes, round(lanes * gain * SPARE))) if gain > WORTH else lanes
        self._not_before = now + self._rest
        self._rest = min(2 * self._rest, REST_MOST)

    def _fewer(self, now: float) -> None:
        """Data has not waited for lanes: after a while try fewer."""
        self._idle_since = min(self._idle_since, now)
        if now - self._idle_since >= IDLE and self.wanted > 1:
            self.wanted = -(-self.wanted // FACTOR)
            self._idle_since = now
