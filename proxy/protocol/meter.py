"""Rates as the time until which everything sent has been paid for. Bytes of the wire, seconds."""

NEVER = float("inf")
"""A time that does not come."""
LATE_SECONDS = 0.05
"""Of a tunnel's rate, as its burst: timers and the event loop are late by milliseconds, and nothing shall be lost."""
URGENT_SECONDS = 0.1
"""Of the rate: what urgent frames may take at once although bulk has used up the rate. Bulk then waits for them."""
UNASKED_SECONDS = 1.0
"""Of the rate: how much longer at most the next frame waits for what was sent without waiting for anything, such as
TCP's acknowledgements: a fast line's may come to more than a slow cap, for hours."""
GRAIN_SECONDS = 0.02
GRAIN_MIN = 4 << 10
"""A frame under a cap should take no longer than that to be paid for, unless it would be tiny."""


class Meter:
    """A token bucket. `paid` is when one more frame may go; a frame may make debts, which are waited off.

    So any period brings at most rate x period + burst + one frame.
    """

    __slots__ = ("_depth", "paid", "rate")

    def __init__(self, rate: float, burst: float) -> None:
        """Full at first."""
        self.rate = rate
        self.paid = float("-inf")
        self._depth = burst / rate

    def charge(self, size: float, now: float) -> None:
        """So much was sent. What was saved beyond the burst is lost."""
        oldest = now - self._depth
        self.paid = (self.paid if self.paid > oldest else oldest) + size / self.rate

    def charge_within(self, seconds: float, size: float, now: float) -> float:
        """As `charge`, but debts of more than so many seconds do not grow by it. How much of it was not charged."""
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
    """A rate that nothing exceeds for long. What is urgent does not wait for what bulk owes, but pays the same."""

    __slots__ = ("_all", "_asked", "_instalments", "_patient_until", "_urgent", "bulk_paid")

    def __init__(self, rate: float, burst: float | None = None) -> None:
        burst = burst or rate * LATE_SECONDS
        self._all = Meter(rate, burst)
        self._asked = Meter(rate, burst)  # without what waits for nothing
        self._urgent = Meter(rate, rate * URGENT_SECONDS)
        self._instalments = 0.0
        self._patient_until = float("-inf")
        self.bulk_paid = float("-inf")
        """When the rate has taken in the last frame of bulk, if nothing else goes."""

    @property
    def rate(self) -> float:
        """Bytes a second."""
        return self._all.rate

    def free_at(self, urgent: bool) -> float:
        """When one more frame may go."""
        return self._urgent.paid if urgent else min(self._all.paid, self._patient_until)

    def charge(self, size: float, now: float, *, urgent: bool, overdue: bool = False) -> None:
        """A frame was sent. `overdue`: it is bulk that what is urgent for good has left nothing, and now pays for."""
        if self._asked.paid <= now:
            self._instalments = 0.0  # it has been paid for without that
        self._all.charge(size, now)
        self._asked.charge(size, now)
        self._be_patient(now)
        if overdue:
            self._instalments += size
        elif urgent:
            part = min(size, self._instalments)  # a frame may take seconds, for which all that is urgent would wait
            self._instalments -= part
            self._urgent.charge(size + part, now)
            self._urgent.paid = min(self._urgent.paid, self._asked.paid)  # the burst may be more than what it lends

    def settled(self, now: float) -> bool:
        """Nothing overdue is left to be paid for by what is urgent, so that this has half of the rate at least."""
        return self._instalments == 0 or self._asked.paid <= now

    def charge_unasked(self, size: float, now: float) -> None:
        """So much was sent that waits for nothing."""
        self._all.charge_within(UNASKED_SECONDS, size, now)

    def change(self, rate: float, now: float) -> None:
        """Another rate, with its default burst. What waited for nothing is a second of that at most, too."""
        if self.bulk_paid > now:
            self.bulk_paid = now + (self.bulk_paid - now) * self.rate / rate
        for meter in (self._all, self._asked):
            meter.change(rate, rate * LATE_SECONDS, now)
        self._be_patient(now)
        self._all.paid = min(self._all.paid, self._patient_until)
        self._urgent.change(rate, rate * URGENT_SECONDS, now)

    def _be_patient(self, now: float) -> None:
        """Bulk waits for what waited for nothing, until then at most, also if it has saved a burst of seconds."""
        self._patient_until = max(self._asked.paid, now) + UNASKED_SECONDS

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most."""
        return max(GRAIN_MIN, int(self.rate * GRAIN_SECONDS))


class Stopwatch:
    """Seconds for which something waited, from `start` to `stop` or to the time that was foreseen."""

    __slots__ = ("_since", "_total", "_until")

    def __init__(self) -> None:
        self._total = 0.0
        self._since: float | None = None
        self._until = 0.0

    def start(self, now: float, until: float) -> None:
        """It waits, at most until then."""
        if self._since is None or now > self._until:
            self.stop(now)
            self._since = now
        self._until = until

    def stop(self, now: float) -> None:
        """It waits no longer."""
        self._total = self.seconds(now)
        self._since = None

    def seconds(self, now: float) -> float:
        """Altogether."""
        return self._total if self._since is None else self._total + max(0.0, min(now, self._until) - self._since)
