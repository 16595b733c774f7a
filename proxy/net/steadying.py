"""Spares lanes that carry bulk BBR's pauses as well, which cost 0.3 s in ten, and more on longer lines.

BBR pauses to measure the round trip without its own queue, if it has seen no lower one for ten seconds (Linux,
tcp_bbr.c, PROBE_RTT). If BBR is begun anew, it takes instead the lowest round trip that the kernel has seen in some
minutes, and seeks the line's rate again. It would do so at nearly three times that rate, and fill the line's queue. So
until it has found the rate, which takes three round trips, BBR is given a ceiling at the rate that it knew before, and
sends on as it did. Where the round trip has become much longer BBR is not begun anew: it needs a pause to see that.

At the beginning, too, BBR may seek for long: round trips in which it ran out of data do not count, and on a fast line
it runs out in most of them, since nobody gives it three times the line's rate. Then a ceiling a little above the rate
that BBR knows keeps it busy: three round trips later it seeks no more, or it has found a higher rate.
"""

from enum import Enum, auto

from proxy.net.tcpinfo import PAUSED, Bbr, TcpInfo

EVERY = 6.0
"""Seconds after which BBR is begun anew. With the time in which BBR finds the rate again, and a loop that is late, that
is still less than the ten seconds after which it pauses."""
CEILING = 0.99
"""The ceiling when BBR is begun anew, as part of the rate that BBR knows: what it sends by itself between probes."""
SEEKING = 2.0
"""BBR counts as seeking the line's rate while it sends at so many times the rate that it knows, or more."""
ROOM = 1.35
"""The ceiling while BBR seeks in vain, in times the rate that it knows: growth by a quarter, upon which BBR goes on
seeking, fits below it."""
_GROWTH = 1.2
"""BBR does not seek in vain if the rate that it knows grows by that factor from one second to the next."""
_PATIENCE = 3.0
"""Seconds after which the ceiling is lifted though BBR still seeks, since the ceiling is of no use then."""
_BUSY = 0.8
"""A lane that sends less than this part of the rate that BBR knows may not be held up by the line, and BBR would seek
for long there."""
_LONGER = 1.5
"""A round trip of more than so many times the lowest one is not due to BBR's own queue."""


class Act(Enum):
    """What the caller is to do with the lane."""

    NOTHING = auto()
    BEGIN = auto()
    """Set the ceiling, and begin BBR anew."""
    LIMIT = auto()
    """Set a ceiling with some room."""
    LIFT = auto()
    """Take the ceiling away."""


class Steadying:
    """Decides for one lane. `act` is called once a second."""

    def __init__(self, now: float) -> None:
        self._since = now  # when BBR was begun, or had found the rate again
        self._under_ceiling = False
        self._until = float("inf")  # when the ceiling is lifted at the latest
        self._seeks_again = 0.0  # before that time no ceiling is set because BBR seeks
        self._known = 0  # the rate that BBR knew at the last call
        self._sent = 0
        self._asked = now

    def act(self, bbr: Bbr, info: TcpInfo, now: float, calm: bool) -> Act:
        """What the caller is to do now. `calm`: nothing but bulk waits in the line's queue."""
        sent = info.bytes_sent + info.bytes_retransmitted  # BBR that seeks has much to send again, but is busy
        rate = (sent - self._sent) / max(now - self._asked, 0.001)
        self._sent, self._asked = sent, now
        if self._under_ceiling:
            return self._lift(bbr, now)
        grows, self._known = bbr.rate > _GROWTH * self._known, bbr.rate
        if rate < _BUSY * bbr.rate:
            return Act.NOTHING
        if bbr.gain >= SEEKING:
            return Act.NOTHING if grows or now < self._seeks_again else self._ceiling(Act.LIMIT, now + _PATIENCE)
        if not calm or now < self._since + EVERY or not _settled(bbr, info):
            return Act.NOTHING
        return self._ceiling(Act.BEGIN, float("inf"))

    def _ceiling(self, act: Act, until: float) -> Act:
        self._under_ceiling, self._until = True, until
        return act

    def _lift(self, bbr: Bbr, now: float) -> Act:
        """Lift the ceiling when BBR has found the rate, which it does within three round trips if the ceiling keeps it
        busy; or when the rate grows, or the time is up, for then the ceiling is of no use."""
        if bbr.gain >= SEEKING and bbr.rate <= _GROWTH * self._known and now < self._until:
            return Act.NOTHING
        self._under_ceiling, self._since, self._seeks_again = False, now, now + EVERY
        return Act.LIFT


def _settled(bbr: Bbr, info: TcpInfo) -> bool:
    """True if BBR has found the line's rate, and the line is as it was."""
    pauses = info.congestion_window_segments <= PAUSED
    longer = info.round_trip_seconds > _LONGER * info.least_round_trip_seconds
    return bbr.gain < SEEKING and not pauses and not longer
