"""How many lanes a tunnel needs where the congestion control takes loss for congestion. No I/O; time is an argument.

One connection then carries about MSS / (round trip x square root of the loss) however fast the line is (Mathis et al.,
Computer Communication Review 27(3), 1997); n connections carry n times that, up to the line's rate. The rate is not
known, so lanes are multiplied as long as that pays, and the number is kept that just about fills the line.
"""

from dataclasses import dataclass
from typing import NamedTuple

FACTOR = 4
"""Lanes are multiplied by that much at a time: a line is filled in three steps."""
PERIOD = 2.0
"""Seconds over which a rate is measured."""
SETTLE = 1.5
"""Seconds that new lanes have to come up and gather speed, before that."""
LOSS_MIN = 1e-4
"""Below, one connection fills what lines there are."""
BLOCKED = 0.6
"""Share of the time that data waited for the lanes, above which there may be too few of them."""
PAYS = 0.3
"""Part of the growth in lanes that the rate has to follow for a step to have paid."""
ROOM = 0.75
"""Part of it that shows that the line has room for more still: with less it is full, and lanes that come and go in vain
cost a third of the rate for some seconds. Of a single lane that says nothing: its rate may be that of a slow start.
Nor does it where no more is lost than before: lanes on a full line have less each because of that, and otherwise it was
their luck when they were fewer."""
SPARE = 2.0
"""Lanes kept for each that the rate calls for: loss is uneven, and a few lanes too many cost little."""
WORTH = 1.08
"""What more lanes have to multiply the rate by to be kept at all."""
REST_LEAST, REST_MOST = 5.0, 120.0
"""Seconds until it is tried again after it did not pay; twice as long each time: the first measurement may have had the
luck of a slow start that had lost nothing yet."""
REST_FULL = 30.0
"""Seconds until it is tried again on a line that has just been filled."""
FALLEN = 0.7
"""Part of the rate that was reached below which all begins anew: that was luck, or more is lost now."""
IDLE = 60.0
"""Seconds of little to do after which fewer lanes are tried."""


@dataclass(frozen=True, slots=True)
class LaneTotals:
    """Totals of all lanes since the tunnel began, of the direction that this side sends."""

    sent: int
    """Bytes, without those sent again."""
    retransmitted: int
    blocked: float
    """Seconds in which data waited and no lane took any."""


class _Trial(NamedTuple):
    """What there was before there were more lanes."""

    lanes: int
    rate: float
    """Bytes a second."""
    loss: float
    """Part of them that was sent again."""


class LaneCount:
    """`wanted` changes by `see`, to be called about once a second."""

    def __init__(self, most: int) -> None:
        self.wanted = 1
        self._most = most
        self._start_at = float("-inf")  # of the next period
        self._from: tuple[float, LaneTotals] | None = None  # the present period began there
        self._before: _Trial | None = None
        self._not_before = float("-inf")
        self._rest = REST_LEAST
        self._reached = 0.0  # bytes a second, when lanes were compared last
        self._idle_since = float("inf")

    def see(self, now: float, totals: LaneTotals) -> int:
        """What the lanes have done by now; how many there should be. `now` in seconds."""
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
        if followed >= PAYS and loss * gain > lost * growth:  # by Mathis the square of that; chance takes and gives
            self._rest = max(self._rest, REST_FULL)
        self.wanted = min(self.wanted, max(lanes, round(lanes * gain * SPARE))) if gain > WORTH else lanes
        self._not_before = now + self._rest
        self._rest = min(2 * self._rest, REST_MOST)

    def _fewer(self, now: float) -> None:
        """Data has not waited: after a while fewer lanes will do."""
        self._idle_since = min(self._idle_since, now)
        if now - self._idle_since >= IDLE and self.wanted > 1:
            self.wanted = -(-self.wanted // FACTOR)
            self._idle_since = now
