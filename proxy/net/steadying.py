"""Begins BBR anew on lanes that carry bulk, under a ceiling, where it pauses, forgets, or seeks in vain.

BBR pauses to measure the round trip without its own queue, if it has seen no lower one for ten seconds (Linux,
tcp_bbr.c, PROBE_RTT). That costs 0.3 s in ten, and more on longer lines. If BBR is begun anew, it takes instead the
lowest round trip that the kernel has seen in some minutes, and seeks the line's rate again. It would do so at nearly
three times that rate, and fill the line's queue. So until it has found the rate, which takes three round trips, BBR is
given a ceiling at the rate that it knew before, and sends on as it did. Where the round trip has become much longer BBR
is not begun anew: it needs a pause to see that.

BBR forgets the rate if there is little to send and packets are lost: what it sends in the round trip after a loss
counts as all that the line takes, three times suffice if it seeks, and later it regains no more than a quarter in eight
round trips. So this remembers the rate, and when BBR knows less than half of it, begins it anew under a ceiling at the
rate that is remembered. If BBR finds as little again though there was more to send, the line has become slower.

At the beginning, too, BBR may seek for long: round trips in which it ran out of data do not count, and on a fast line
it runs out in most of them, since nobody gives it three times the line's rate. Then a ceiling a little above the rate
that BBR knows keeps it busy: three round trips later it seeks no more, or it has found a higher rate. On a long line
even that may fill the line's queue, and what is under way the send buffer, before these are over, so that it runs out
of data again. Then no more can be found, and a ceiling at the rate itself ends the search. But if it is the source that
has no more to send, such a ceiling would have BBR take the source's rate for the line's.
"""

from enum import Enum, auto
from typing import NamedTuple

from proxy.net.tcpinfo import PAUSED, Bbr, TcpInfo

EVERY = 7.0
"""Seconds after which BBR is begun anew. If the loop is late, that is still less than the ten after which it pauses."""
CEILING = 0.99
"""The ceiling when BBR is begun anew, as part of the rate that it has known: what it sends by itself between probes."""
SEEKING = 2.0
"""BBR counts as seeking the line's rate while it sends at so many times the rate that it knows, or more."""
ROOM = 1.35
"""The ceiling while BBR seeks in vain, in times the rate that it knows: growth by a quarter, upon which BBR goes on
seeking, fits below it."""
_GROWTH = 1.2
"""BBR does not seek in vain if the rate that it knows grows by that factor from one second to the next."""
_PATIENCE, _TRIPS = 3.0, 8
"""Seconds, and round trips, after which a ceiling is of no use if BBR still seeks."""
_BUSY = 0.8
"""A lane that sends less than this part of the rate that BBR knows may not be held up by the line, and BBR would seek
for long there."""
_FORGOTTEN = 0.5
"""BBR has forgotten the rate if it knows less than this part of it."""
_IDLE = 64 << 10
"""Who sends fewer bytes in a second finds no rate, unless something has to wait."""
_LONGER = 1.5
"""A round trip of more than so many times the lowest one is not due to BBR's own queue."""


class Act(Enum):
    """What the caller is to do with the lane."""

    NOTHING = auto()
    BEGIN = auto()
    """Set the ceiling, or take it away if there is none, and begin BBR anew."""
    LIMIT = auto()
    """Set the ceiling."""
    LIFT = auto()
    """Take the ceiling away."""


class Use(NamedTuple):
    """How the lane has been used since the last call."""

    calm: bool
    """Nothing but bulk waits in the line's queue."""
    held: bool
    """For half of the time at least, the line held up what there was to send."""
    renews: bool
    """BBR is to be begun anew whatever it knows."""


class Steadying:
    """Decides for one lane. `act` is called once a second."""

    def __init__(self, now: float) -> None:
        self.ceiling: int | None = None
        """Bytes a second that the lane may send at most; None: there is no ceiling."""
        self._since = now  # when BBR was begun; or had found the rate, when it sought in vain
        self._until = float("inf")  # when the ceiling is lifted at the latest
        self._seeks_again = 0.0  # before that time no ceiling is set because BBR seeks
        self._line = 0  # the rate that the line takes, as far as BBR has ever found; 0: it has not
        self._sought = True  # BBR had not found the rate when last seen
        self._known = 0  # the rate that BBR knew at the last call
        self._sent = 0
        self._asked = now

    def act(self, bbr: Bbr, info: TcpInfo, now: float, use: Use) -> Act:
        """What the caller is to do now."""
        sent = info.bytes_sent + info.bytes_retransmitted  # BBR that seeks has much to send again, but is busy
        moved, seconds = sent - self._sent, max(now - self._asked, 0.001)
        self._sent, self._asked = sent, now
        if info.congestion_window_segments <= PAUSED and not use.renews:
            return Act.NOTHING  # what BBR was about before the pause it is about after it
        seeks = bbr.gain >= SEEKING
        if not seeks and (self._line or use.held or moved >= _IDLE * seconds):
            self._learn(bbr.rate, use.held)
        self._sought = seeks
        if use.renews or (not seeks and self._forgotten(bbr.rate) and not _longer(info)):
            return self._begin(self._line, now)
        if self.ceiling is not None:
            return self._lift(bbr, info, now, use.held)
        grows, self._known = bbr.rate > _GROWTH * self._known, bbr.rate
        if not bbr.rate or moved < _BUSY * bbr.rate * seconds:
            return Act.NOTHING
        if seeks:
            if grows or now < self._seeks_again:
                return Act.NOTHING
            return self._limit(ROOM, bbr, info, now)
        if not use.calm or now < self._since + EVERY or _longer(info):
            return Act.NOTHING
        return self._begin(bbr.rate, now)

    def _learn(self, rate: int, held: bool) -> None:
        """BBR has found that rate. It has found less than before only if there was more to send."""
        self._line = rate if self._sought and held else max(self._line, rate)

    def _forgotten(self, rate: int) -> bool:
        """True if BBR has settled for less than the line takes, or before it can have found that."""
        return rate < _FORGOTTEN * self._line or not self._line

    def _begin(self, rate: int, now: float) -> Act:
        self.ceiling, self._until = int(CEILING * rate) or None, float("inf")
        self._since, self._known, self._sought = now, rate, True
        return Act.BEGIN

    def _limit(self, part: float, bbr: Bbr, info: TcpInfo, now: float) -> Act:
        self.ceiling, self._known = int(part * bbr.rate), bbr.rate
        self._until = now + max(_PATIENCE, _TRIPS * info.round_trip_seconds)
        return Act.LIMIT

    def _lift(self, bbr: Bbr, info: TcpInfo, now: float, held: bool) -> Act:
        """Lift the ceiling when BBR has found the rate, which it does within three round trips if the ceiling keeps it
        busy; or when the rate grows. When the time is up, lower the ceiling once, then lift it.

        It is lowered only if the line holds up the lane, and BBR has not forgotten the rate. Else it may know but the
        rate of the source, or of a few packets, and would be content with that.
        """
        if bbr.gain >= SEEKING and bbr.rate <= _GROWTH * self._known:
            if now < self._until:
                return Act.NOTHING
            has_room = self.ceiling is not None and self.ceiling > self._known
            if has_room and held and bbr.rate > _FORGOTTEN * self._known:
                return self._limit(CEILING, bbr, info, now)
            self._seeks_again = now + EVERY
        if self._until < float("inf"):
            self._since = now
        self.ceiling, self._known = None, bbr.rate
        return Act.LIFT


def _longer(info: TcpInfo) -> bool:
    """True if the line has become longer: then BBR has to see that in a pause."""
    return info.round_trip_seconds > _LONGER * info.least_round_trip_seconds
