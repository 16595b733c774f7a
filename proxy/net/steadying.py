"""A lane that carries bulk is spared BBR's pauses, too, which cost it 0.3 s in ten, and more on longer lines.

BBR pauses to see the round trip without its own queue, if it has seen no lower one for ten seconds (Linux, tcp_bbr.c,
PROBE_RTT). Begun anew it takes the lowest of some minutes for that. It then seeks the line's rate, which it would do at
nearly three times that rate, and fill the line's queue: so until it has found it, which takes three round trips, it has
a ceiling at the rate that it knew before, and sends on as it did. Where the round trip has become much longer the pause
is what it needs to see that, and it has it.

At the beginning, too, BBR may seek for long: rounds in which it ran dry do not count, and on a fast line it runs dry in
most of them, since nobody gives it three times the line's rate. Then a ceiling a little above the rate that it knows
keeps it busy: three round trips later it is content, or it has found more.
"""

from enum import Enum, auto

from proxy.net.tcpinfo import PAUSED, Bbr, TcpInfo

EVERY = 6.0
"""Seconds with as many as it takes to find the rate again, and for a loop that is late, less than BBR's ten."""
CEILING = 0.99
"""Of the rate that BBR knows: what it sends itself when it does not probe."""
SEEKING = 2.0
"""Times its rate: who sends so fast seeks."""
ROOM = 1.35
"""Times the rate that BBR knows, while it seeks in vain: growth by a quarter is what BBR goes on for."""
_GROWTH = 1.2
_PATIENCE = 3.0
"""Seconds after which it is not the ceiling that holds it up."""
_BUSY = 0.8
"""Of its rate: who sends less may not be held up by the line, and would seek for long."""
_LONGER = 1.5
"""Times the lowest round trip: a longer one is not that of BBR's own queue."""


class Act(Enum):
    """What is to be done with the lane."""

    NOTHING = auto()
    BEGIN = auto()
    """Set the ceiling, and begin BBR anew."""
    LIMIT = auto()
    """Set a ceiling with some room."""
    LIFT = auto()
    """Take the ceiling away."""


class Steadying:
    """One lane's. To be asked once a second."""

    def __init__(self, now: float) -> None:
        self._since = now  # BBR was begun, or has found the rate again
        self._under_ceiling = False
        self._until = float("inf")  # the ceiling, at most
        self._seeks_again = 0.0  # no ceiling for who seeks before that
        self._known = 0  # the rate, when it was last asked
        self._sent = 0
        self._asked = now

    def act(self, bbr: Bbr, info: TcpInfo, now: float, calm: bool) -> Act:
        """What is to be done now; whoever asks does it. `calm`: nobody waits in the line's queue but bulk."""
        sent = info.bytes_sent + info.bytes_retransmitted  # who seeks loses much, and is no less busy
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
        """While the ceiling is what holds it up, it finds the rate within three round trips; else it needs none."""
        if bbr.gain >= SEEKING and bbr.rate <= _GROWTH * self._known and now < self._until:
            return Act.NOTHING
        self._under_ceiling, self._since, self._seeks_again = False, now, now + EVERY
        return Act.LIFT


def _settled(bbr: Bbr, info: TcpInfo) -> bool:
    """BBR knows the line, which is as it was."""
    pauses = info.congestion_window_segments <= PAUSED
    longer = info.round_trip_seconds > _LONGER * info.least_round_trip_seconds
    return bbr.gain < SEEKING and not pauses and not longer
