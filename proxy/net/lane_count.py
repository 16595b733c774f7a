"""How many lanes a tunnel needs where the congestion control takes loss for congestion. No I/O; time is an argument.

One connection then carries about MSS / (round trip x square root of the loss) however fast the line is (Mathis et al.,
Computer Communication Review 27(3), 1997); n connections carry n times that, up to the line's rate. The rate is not
known, so lanes are multiplied as long as that pays, and the number is kept that just about fills the line. Each such
step is a *trial*: the rate before it is compared with that after it.
"""

from dataclasses import dataclass
from typing import NamedTuple

FACTOR = 4
"""A trial multiplies the lanes by that much: a line is filled in three steps."""
PERIOD = 2.0
"""Seconds over which a rate is measured."""
SETTLE = 1.5
"""Seconds between a multiplication and the measuring of the rate, in which new lanes come up and gather speed."""
LOSS_MIN = 1e-4
"""Share of the bytes that is lost; with less loss one connection fills such lines as there are."""
BLOCKED = 0.6
"""Share of a period in which data waited for the lanes. From this share on there may be too few lanes."""
PAYS = 0.3
"""A trial has paid if the rate grew by at least this part of what the number of lanes grew by."""
ROOM = 0.75
"""If the rate grew by at least this part, the line has room for still more, and the next trial follows at once. If the
trial paid but the rate grew by less, the line is full, and no trial follows for `REST_FULL`, since lanes that come and
go in vain cost a third of the rate for some seconds. There are two exceptions. A trial that began with a single lane
needs only `PAYS`: the rate before it may have been that of a slow start. And if loss has not grown enough, the line is
not full, since on a full line each lane gets less because more is lost: then the rate before was good luck."""
SPARE = 2.0
"""Lanes that are kept for each lane that the rate calls for: loss is uneven, and a few lanes too many cost little."""
WORTH = 1.08
"""More lanes are kept only if they have multiplied the rate by more than this."""
REST_LEAST, REST_MOST = 5.0, 120.0
"""Seconds until the next trial after one that did not pay: the least at first, doubled each time, the most at last. The
least is short because the rate before the trial may have been that of a slow start that had lost nothing yet."""
REST_FULL = 30.0
"""Seconds until the next trial on a line that has just been filled, at least."""
FALLEN = 0.7
"""If the rate falls below this part of the rate that was reached, trials begin anew: that one was good luck, or more is
lost now."""
IDLE = 60.0
"""Seconds after which fewer lanes are tried, if data has not waited for lanes meanwhile."""


@dataclass(frozen=True, slots=True)
class LaneTotals:
    """Totals of all lanes since the tunnel began, in the direction in which this side sends."""

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
    """Finds the number of lanes, `wanted`, from the totals that `see` is given about once a second."""

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
        """Return how many lanes there should be, given what they have done so far. `now` in seconds."""
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
        if followed >= PAYS and loss * gain > lost * growth:  # full: by Mathis loss grew by about (growth / gain)^2
            self._rest = max(self._rest, REST_FULL)
        self.wanted = min(self.wanted, max(lanes, round(lanes * gain * SPARE))) if gain > WORTH else lanes
        self._not_before = now + self._rest
        self._rest = min(2 * self._rest, REST_MOST)

    def _fewer(self, now: float) -> None:
        """Data has not waited for lanes: after `IDLE` try fewer."""
        self._idle_since = min(self._idle_since, now)
        if now - self._idle_since >= IDLE and self.wanted > 1:
            self.wanted = -(-self.wanted // FACTOR)
            self._idle_since = now
