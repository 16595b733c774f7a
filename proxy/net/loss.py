"""Whether a line loses packets, so that it is worth while to send short frames by several lanes. No I/O."""

from math import exp

LOSSY = 0.002
"""Share of the packets that is lost: below, less than one question in a hundred is held up, there and back."""
MEMORY = 700
"""Packets over which the share is an average, so that a line that carries little is judged soon: to be wrong by chance
costs a lane, and copies that nobody needs."""
AGAIN = 3.0, 60.0
"""Seconds within which it has to lose packets a second time: a queue that overflows once, as when a connection seeks
the line's rate, is done with it sooner, and is no loss that goes on."""
HOLD = 120.0
"""Seconds for which a line that has lost packets is taken to lose more."""


class Loss:
    """`see` is to be called about once a second."""

    def __init__(self) -> None:
        self._before = 0, 0
        self._sent = self._lost = 0.0  # of late
        self._first = self._until = float("-inf")

    def see(self, now: float, sent: int, lost: int) -> bool:
        """Totals in packets, all lanes together; whether copies are worth while. `now` in seconds."""
        newly_sent, newly_lost = max(0, sent - self._before[0]), max(0, lost - self._before[1])
        self._before = sent, lost
        kept = exp(-newly_sent / MEMORY)
        self._sent = self._sent * kept + newly_sent
        self._lost = self._lost * kept + newly_lost
        if newly_lost and self._lost > LOSSY * self._sent:
            self._note(now)
        return now < self._until

    def _note(self, now: float) -> None:
        soonest, latest = (self._first + seconds for seconds in AGAIN)
        if soonest <= now <= latest:
            self._until = now + HOLD
        elif now > latest:
            self._first = now
