"""Who asks: a party is an address, or for IPv6 the network that one host has; all users of this host are one party.

`Budget` bounds how often a party may do something: so many times at once, and so many a second. It also bounds all
strangers together; this host, and those who have shown a token or certificate, are no strangers.
"""

from functools import partial

from proxy.hosts import host_of

THIS_HOST = "this host"
TOGETHER = 4
"""How many budgets of one party all strangers together have: one stranger may use any number of addresses."""
_PARTIES_MAX = 1024
"""Parties that are told apart; of more, the one that was heard of least recently is forgotten."""


def party_of(address: str) -> str:
    """The party behind a numeric address."""
    host = host_of(address)
    return THIS_HOST if host == "::1" or host.startswith("127.") else host


class Budget:
    """A bucket of tokens for each party. The clock is an argument, in seconds."""

    def __init__(self, burst: int, rate: float) -> None:
        """Of one party: `burst` at once, `rate` a second. All strangers together have `TOGETHER` times that."""
        self._new = partial(_Bucket, burst, rate)
        self._parties: dict[tuple[str, bool], _Bucket] = {}
        self._together = _Bucket(TOGETHER * burst, TOGETHER * rate, 0.0)

    def spend(self, party: str, now: float, *, known: bool = False) -> bool:
        """Whether one more is within the budgets, which it is taken from. `known`: the party has shown that it is no
        stranger; it has a budget apart then."""
        bucket = self._parties.pop((party, known), None) or self._new(now)
        self._parties[party, known] = bucket
        if len(self._parties) > _PARTIES_MAX:
            del self._parties[next(iter(self._parties))]
        return bucket.spend(now) and (known or party == THIS_HOST or self._together.spend(now))


class _Bucket:
    """Tokens of one budget, full at first."""

    __slots__ = ("_burst", "_left", "_rate", "_since")

    def __init__(self, burst: float, rate: float, now: float) -> None:
        self._burst = self._left = burst
        self._rate = rate
        self._since = now

    def spend(self, now: float) -> bool:
        """One token, if there is one."""
        self._left = min(self._burst, self._left + (now - self._since) * self._rate)
        self._since = now
        granted = self._left >= 1
        self._left -= granted
        return granted
