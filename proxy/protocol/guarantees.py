"""Guaranteed rates of shares, measured by a clock that runs no faster than the line can serve all of them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from proxy.protocol.account import BEHIND_SECONDS, OVERDUE_SECONDS, Account

LENDING_SECONDS = 0.1
"""Seconds of its guarantee that a share may claim at once after a rest: what it left unused before is lost. A waiting
share may not claim more either, unless a single frame takes longer, as 16 KiB do on 1 Mb/s: then it may claim as much
as passed during that frame, up to `BEHIND_SECONDS`."""
FRAMES_SECONDS = 5.0
"""Seconds within which it is forgotten how long a frame took (`_next_behind_most`)."""
AHEAD_SECONDS = 1.0
"""Seconds of its guarantee that a share's urgent frames may use up in advance; what they take beyond that advances the
share's turn instead."""


class Guarantees:
    """The guarantees of one scheduler's shares. `now` in seconds.

    While bulk waits, the clock advances only when a frame of bulk goes (`behind`): by the time since the last one,
    but to no more than `_behind_most` ahead of the share that is furthest behind its guarantee. So if the line is
    slower than all guarantees together, the clock is as slow as the line, and the shares divide it in proportion.
    """

    def __init__(self) -> None:
        self._clock = 0.0
        self._clock_set = 0.0
        self._behind_most = LENDING_SECONDS  # seconds that a waiting share may fall behind: what a frame takes

    def begin(self, account: Account, others: Iterable[Account], now: float) -> None:
        """A share that had no bulk waiting has some again: what it left unused beyond LENDING_SECONDS is lost.

        `others`: the accounts that wait. While none of them has bulk, the clock keeps pace with the time.
        """
        if account.guarantee is None:
            return
        if not any(other.bulk for other in others):
            self._clock, self._clock_set = self._clock + now - self._clock_set, now
        account.guarantee.paid = max(account.guarantee.paid, self._clock - LENDING_SECONDS)

    def behind(self, accounts: list[Account], now: float) -> Account | None:
        """The account that is furthest behind its guarantee; None if none is behind. Advances the clock, since a frame
        of bulk of one of these accounts goes now."""
        passed, self._clock_set = now - self._clock_set, now
        clock = self._clock + passed
        guaranteed = [(account.guarantee.paid, account) for account in accounts if account.guarantee is not None]
        if not guaranteed:
            self._clock = clock
            return None
        paid, account = min(guaranteed, key=itemgetter(0))
        self._behind_most = _next_behind_most(self._behind_most, passed)
        self._clock = max(self._clock, min(clock, paid + self._behind_most))
        if paid > self._clock:
            return None
        assert account.guarantee is not None
        account.guarantee.paid = max(paid, self._clock - self._behind_most)
        return account

    def pay(self, account: Account, cost: float, now: float, *, urgent: bool) -> float:
        """Charge a frame to the share's guarantee. Returns the bytes of an urgent frame that this does not cover."""
        assert account.guarantee is not None
        if urgent:
            passed = min(now - self._clock_set, OVERDUE_SECONDS)  # the clock has not been advanced since bulk last went
            return account.guarantee.charge_within(AHEAD_SECONDS + passed, cost, self._clock)
        account.guarantee.charge(cost, self._clock)
        return 0.0


def _next_behind_most(before: float, passed: float) -> float:
    """The next `_behind_most`: seconds that long frames take. `passed`: what the last frame took.

    It fades within `FRAMES_SECONDS`, and at most doubles at once, so that a single stall of the line counts for little.
    """
    return max(
        LENDING_SECONDS, min(BEHIND_SECONDS, max(before * (1 - passed / FRAMES_SECONDS), min(passed, 2 * before)))
    )
