"""A lane that carries bulk is spared BBR's pauses, too, which cost it 0.3 s in ten, and more on longer lines.

BBR pauses to see the round trip without its own queue, if it has seen no lower one for ten seconds (Linux, tcp_bbr.c,
PROBE_RTT). Begun anew it takes the lowest of some minutes for that. It then seeks the line's rate, which it would do at
nearly three times that rate, and fill the line's queue: so until it has found it, which takes three round trips, it has
a ceiling at the rate that it knew before, and sends on as it did. Where the round trip has become much longer the pause
is what it needs to see that, and it has it.
"""

from enum import Enum, auto

from proxy.net.tcpinfo import PAUSED, Bbr, TcpInfo

EVERY = 6.0
"""Seconds with as many as it takes to find the rate again, and for a loop that is late, less than BBR's ten."""
CEILING = 0.99
"""Of the rate that BBR knows: what it sends itself when it does not probe."""
SEEKING = 2.0
"""Times its rate: who sends so fast seeks."""
_BUSY = 0.8
"""Of its rate: who sends less may not be held up by the line, and would seek for long."""
_LONGER = 1.5
"""Times the lowest round trip: a longer one is not that of BBR's own queue."""


class Act(Enum):
    """What is to be done with the lane."""

    NOTHING = auto()
    BEGIN = auto()
    """Set the ceiling, and begin BBR anew."""
    LIFT = auto()
    """Take the ceiling away."""


class Steadying:
    """One lane's. To be asked once a second."""

    def __init__(self, now: float) -> None:
        self._since = now  # BBR was begun, or has found the rate again
        self._under_ceiling = False
        self._sent = 0
        self._asked = now

    def act(self, bbr: Bbr, info: TcpInfo, now: float, calm: bool) -> Act:
        """What is to be done now; whoever asks does it. `calm`: nobody waits in the line's queue but bulk."""
        rate = (info.bytes_sent - self._sent) / max(now - self._asked, 0.001)
        self._sent, self._asked = info.bytes_sent, now
        if self._under_ceiling:
            return self._lift(bbr, now)
        if not calm or now < self._since + EVERY or not _settled(bbr, info) or rate < _BUSY * bbr.rate:
            return Act.NOTHING
        self._under_ceiling = True
        return Act.BEGIN

    def _lift(self, bbr: Bbr, now: float) -> Act:
        """While the ceiling is what holds it up, it finds the rate within three round trips; else it needs none."""
        if bbr.gain >= SEEKING:
            return Act.NOTHING
        self._under_ceiling, self._since = False, now
        return Act.LIFT


def _settled(bbr: Bbr, info: TcpInfo) -> bool:
    """BBR knows the line, which is as it was."""
    pauses = info.congestion_window_segments <= PAUSED
    longer = info.round_trip_seconds > _LONGER * info.least_round_trip_seconds
    return bbr.gain < SEEKING and not pauses and not longer
