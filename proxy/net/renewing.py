"""Spares the lane for urgent frames BBR's pauses: for 200 ms in ten seconds BBR sends next to nothing.

BBR pauses to measure the round trip without the queue that it makes itself (Linux, tcp_bbr.c, PROBE_RTT). Four packets
may be under way then, which is less than the questions, answers and acknowledgements of one round trip, so whatever is
asked in those 200 ms takes up to one round trip longer. A lane that is hardly used makes no queue, and its BBR needs to
know no rate: there BBR is begun anew before the ten seconds are over. The same is done on a lane under a cap, which
would send less than the cap during a pause, and more afterwards. But where the line has become much longer BBR needs
a pause to see that. If it is begun anew it takes the lowest round trip that the kernel has seen in five minutes, and
keeps no more under way than a line as short as that takes, which is little for a cap (`is_much_longer`).
"""

from proxy.net.tcpinfo import TcpInfo

EVERY = 4.0
"""Seconds after which BBR is begun anew: less than the ten after which it pauses, as the loop may be seconds late."""
HARDLY = 0.25
"""Share of the congestion window in use, on average, up to which a lane is hardly used. A connection that fills a line
with BBR uses half of it."""
_MUCH_LONGER = 2.5
"""Times the lowest round trip. BBR keeps two or, while it seeks, 2.9 times as much under way as it takes the line to
hold, so a line that is less longer does little harm; and mostly it only seems longer, for a queue."""


class Renewing:
    """Says when BBR is to begin anew on one lane."""

    def __init__(self, now: float) -> None:
        self._at = now
        self._sent = 0

    def due(self, info: TcpInfo, now: float) -> bool:
        """To be called each second. True at most once in `EVERY` seconds, and only if little was sent meanwhile."""
        if now < self._at + EVERY:
            return False
        under_way = (info.bytes_sent - self._sent) / (now - self._at) * info.round_trip_seconds
        self._at, self._sent = now, info.bytes_sent
        return under_way <= HARDLY * info.congestion_window_segments * info.segment_bytes


def is_much_longer(info: TcpInfo) -> bool:
    """True if BBR that is begun anew would take the line to be much shorter than it is now."""
    return info.round_trip_seconds > _MUCH_LONGER * info.least_round_trip_seconds
