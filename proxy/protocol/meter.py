"""Token buckets: each keeps the time at which its rate will have paid for all that was sent.

Sizes are bytes of the wire, times seconds, rates bytes of the wire a second.
"""

NEVER = float("inf")
"""A time that does not come."""
LATE_SECONDS = 0.05
"""Burst of a tunnel's rate, in seconds of the rate: timers and the event loop are late by milliseconds, and that must
not cost any of the rate."""
URGENT_SECONDS = 0.1
"""Burst of urgent frames, in seconds of the rate: so much may go at once although bulk has used up the rate. Bulk then
waits for them."""
UNASKED_SECONDS = 1.0
"""Seconds by which the next frame is delayed at most for what is sent without asking a cap, such as TCP's
acknowledgements: these may exceed a slow cap for hours, if much comes on a fast line."""
GRAIN_SECONDS = 0.02
GRAIN_MIN = 4 << 10
"""A frame under a cap should be no longer than what the rate brings in GRAIN_SECONDS, but may always have GRAIN_MIN
bytes."""


class Meter:
    """A token bucket. One more frame, however long, may go as soon as `paid` has passed.

    So any period brings at most rate x period + burst + one frame.
    """

    __slots__ = ("_depth", "paid", "rate")

    def __init__(self, rate: float, burst: float) -> None:
        """The bucket is full at first."""
        self.rate = rate
        self.paid = float("-inf")
        self._depth = burst / rate

    def charge(self, size: float, now: float) -> None:
        """`size` bytes were sent. What was saved beyond the burst is lost."""
        oldest = now - self._depth
        self.paid = (self.paid if self.paid > oldest else oldest) + size / self.rate

    def charge_within(self, seconds: float, size: float, now: float) -> float:
        """As `charge`, but raises the debt to no more than so many seconds. Returns the bytes that were not charged."""
        before = self.paid
        self.charge(size, now)
        beyond = max(0.0, self.paid - max(before, now + seconds))
        self.paid -= beyond
        return beyond * self.rate

    def change(self, rate: float, burst: float, now: float) -> None:
        """Another rate from now on; debts stay what they are in bytes."""
        if self.paid > now:
            self.paid = now + (self.paid - now) * self.rate / rate
        self.rate, self._depth = rate, burst / rate


class Cap:
    """A rate that nothing exceeds for long. Urgent frames do not wait for what bulk owes, but are charged like bulk.

    Frames of the tunnel, packets without payload and retransmissions go without asking the cap. They are charged
    afterwards (`charge_unasked`), and delay bulk by `UNASKED_SECONDS` at most.
    """

    __slots__ = ("_all", "_asked", "_instalments", "_patient_until", "_urgent", "bulk_paid")

    def __init__(self, rate: float, burst: float | None = None) -> None:
        """`burst`: by default `LATE_SECONDS` of the rate."""
        burst = burst or rate * LATE_SECONDS
        self._all = Meter(rate, burst)
        self._asked = Meter(rate, burst)  # the same without what was sent unasked
        self._urgent = Meter(rate, rate * URGENT_SECONDS)
        self._instalments = 0.0  # bytes of overdue bulk that urgent frames have still to pay for, beside their own
        self._patient_until = float("-inf")  # bulk waits until then at most for what was sent unasked
        self.bulk_paid = float("-inf")
        """When the last frame of bulk will have been paid for, if nothing else goes. The scheduler sets it."""

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self._all.rate

    def free_at(self, urgent: bool) -> float:
        """When one more frame may go."""
        return self._urgent.paid if urgent else min(self._all.paid, self._patient_until)

    def charge(self, size: float, now: float, *, urgent: bool, overdue: bool = False) -> None:
        """A frame was sent. `overdue`: it is bulk that went before urgent frames, which pay for it from now on."""
        if self._asked.paid <= now:
            self._instalments = 0.0  # all has been paid for: urgent frames have left enough of the rate
        self._all.charge(size, now)
        self._asked.charge(size, now)
        self._be_patient(now)
        if overdue:
            self._instalments += size
        elif urgent:
            part = min(size, self._instalments)  # paid at once, a frame of seconds would hold up all urgent ones
            self._instalments -= part
            self._urgent.charge(size + part, now)
            self._urgent.paid = min(self._urgent.paid, self._asked.paid)  # the cap's own burst may be the larger one

    def settled(self, now: float) -> bool:
        """True if urgent frames have paid for the last overdue frame. Another one goes only then, so that at least half
        of the rate is left to urgent frames."""
        return self._instalments == 0 or self._asked.paid <= now

    def charge_unasked(self, size: float, now: float) -> None:
        """`size` bytes were sent without asking the cap."""
        self._all.charge_within(UNASKED_SECONDS, size, now)

    def change(self, rate: float, now: float, burst: float | None = None) -> None:
        """Another rate from now on. The bound of `UNASKED_SECONDS` holds at this rate, too."""
        if self.bulk_paid > now:
            self.bulk_paid = now + (self.bulk_paid - now) * self.rate / rate
        for meter in (self._all, self._asked):
            meter.change(rate, burst or rate * LATE_SECONDS, now)
        self._be_patient(now)
        self._all.paid = min(self._all.paid, self._patient_until)
        self._urgent.change(rate, rate * URGENT_SECONDS, now)

    def _be_patient(self, now: float) -> None:
        """Renew until when what was sent unasked may delay bulk, however large the burst that the cap has saved."""
        self._patient_until = max(self._asked.paid, now) + UNASKED_SECONDS

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most."""
        return max(GRAIN_MIN, int(self.rate * GRAIN_SECONDS))


class Stopwatch:
    """Adds up the seconds for which something waits: from `start` to `stop`, or to `until` if that is earlier."""

    __slots__ = ("_since", "_total", "_until")

    def __init__(self) -> None:
        self._total = 0.0
        self._since: float | None = None
        self._until = 0.0

    def start(self, now: float, until: float) -> None:
        """The wait begins, and ends at `until` at the latest. To be called again during the wait if `until` changes."""
        if self._since is None or now > self._until:
            self.stop(now)
            self._since = now
        self._until = until

    def stop(self, now: float) -> None:
        """The wait is over."""
        self._total = self.seconds(now)
        self._since = None

    def seconds(self, now: float) -> float:
        """Seconds of all waits so far, together."""
        return self._total if self._since is None else self._total + max(0.0, min(now, self._until) - self._since)
