"""Guaranteed rates of shares, by a clock that runs no faster than the line lets them have what they are guaranteed."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from proxy.protocol.account import BEHIND_SECONDS, OVERDUE_SECONDS, Account

LENDING_SECONDS = 0.1
"""Of a guarantee: what a share that rested may claim at once. Everything older has been lent for good. So is what it
fell behind, but for what one frame of others takes: 16 KiB on 1 Mb/s take longer, so up to `BEHIND_SECONDS`."""
FRAMES_SECONDS = 5.0
"""For how long a long frame is remembered for that."""
AHEAD_SECONDS = 1.0
"""Of a guarantee: what something urgent may use up in advance. Nor is what it had beyond that asked back."""


class Guarantees:
    """Of one scheduler. `now` in seconds. The clock stands while nobody's bulk is to go, and makes that up then.

    Where the line is slower than all guarantees together it is as slow, so that they divide the line in proportion.
    """

    def __init__(self) -> None:
        self._clock = 0.0
        self._clock_set = 0.0
        self._longest = LENDING_SECONDS  # how far one may fall behind: as long as a frame takes

    def begin(self, account: Account, others: Iterable[Account], now: float) -> None:
        """The share has bulk again, which none of it was; what it left while it rested is lent for good.

        `others`: that wait. The clock runs free as long as no bulk does.
        """
        if account.guarantee is None:
            return
        if not any(other.bulk for other in others):
            self._clock, self._clock_set = self._clock + now - self._clock_set, now
        account.guarantee.paid = max(account.guarantee.paid, self._clock - LENDING_SECONDS)

    def behind(self, accounts: list[Account], now: float) -> Account | None:
        """The account that has had least of its guarantee, if that is too little. A frame of bulk goes now."""
        passed, self._clock_set = now - self._clock_set, now
        clock = self._clock + passed
        guaranteed = [(account.guarantee.paid, account) for account in accounts if account.guarantee is not None]
        if not guaranteed:
            self._clock = clock
            return None
        paid, account = min(guaranteed, key=itemgetter(0))
        self._longest = _longest(self._longest, passed)
        self._clock = max(self._clock, min(clock, paid + self._longest))
        if paid > self._clock:
            return None
        assert account.guarantee is not None
        account.guarantee.paid = max(paid, self._clock - self._longest)
        return account

    def pay(self, account: Account, cost: float, now: float, *, urgent: bool) -> float:
        """So much went on account of the share's guarantee: what that did not claim, being urgent."""
        assert account.guarantee is not None
        if urgent:
            passed = min(now - self._clock_set, OVERDUE_SECONDS)  # the clock makes it up when bulk goes, then at last
            return account.guarantee.charge_within(AHEAD_SECONDS + passed, cost, self._clock)
        account.guarantee.charge(cost, self._clock)
        return 0.0


def _longest(before: float, passed: float) -> float:
    """Seconds that long frames take, forgotten within `FRAMES_SECONDS`. A line that stands still once doubles them."""
    return max(
        LENDING_SECONDS, min(BEHIND_SECONDS, max(before * (1 - passed / FRAMES_SECONDS), min(passed, 2 * before)))
    )
