"""Judges whether a line loses so many packets that sending short frames by several lanes is worth while. No I/O."""

from math import exp

LOSSY = 0.002
"""Share of lost packets. Below it less than one question in a hundred is held up, its answer included."""
MEMORY = 700
"""Packets over which that share is an average. They are few, so that a line that carries little is judged soon; a wrong
judgement by chance costs two lanes, and copies that nobody needs."""
AGAIN = 3.0, 60.0
"""The least and the most seconds between a first loss and another one that makes the line count as lossy: a queue that
overflows once, as when a connection seeks the line's rate, is over sooner."""
HOLD = 120.0
"""Seconds for which the line then counts as lossy."""


class Loss:
    """Judges the line of one tunnel by the totals that `see` is given about once a second."""

    def __init__(self) -> None:
        self._before = 0, 0  # totals at the last call
        self._sent = self._lost = 0.0  # packets, of which those of long ago fade
        self._first = float("-inf")  # when a first loss was noted
        self._until = float("-inf")  # until then the line counts as lossy

    def see(self, now: float, sent: int, lost: int) -> bool:
        """True if the line is lossy. `sent`, `lost`: totals of packets on all lanes together; `now` in seconds.

        `lost` may fall: a packet that was taken to be lost may be known a round trip later not to have been.
        """
        newly_sent, newly_lost = max(0, sent - self._before[0]), lost - self._before[1]
        self._before = sent, lost
        kept = exp(-newly_sent / MEMORY)
        self._sent = self._sent * kept + newly_sent
        self._lost = max(0.0, self._lost * kept + newly_lost)
        if newly_lost > 0 and self._lost > LOSSY * self._sent:
            self._note(now)
        return now < self._until

    def _note(self, now: float) -> None:
        soonest, latest = (self._first + seconds for seconds in AGAIN)
        if soonest <= now <= latest:
            self._until = now + HOLD
        elif now > latest:
            self._first = now
