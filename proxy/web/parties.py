"""Who asks: a party is an address, or for IPv6 the network that one host has; all users of this host are one party.

`Budget` bounds how often a party may do something: so many at once, and so many a second.
"""

from ipaddress import IPv6Address, ip_address

THIS_HOST = "this host"
_PARTIES_MAX = 1024
"""Parties that are told apart; then the one that was heard of least lately is forgotten."""


def party_of(address: str) -> str:
    """The party behind a numeric address."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            found = found.ipv4_mapped
        else:
            return THIS_HOST if found.is_loopback else str(IPv6Address(int(found) >> 64 << 64))
    return THIS_HOST if found.is_loopback else str(found)


class Budget:
    """A bucket of tokens for each party. The clock is an argument, in seconds."""

    def __init__(self, burst: int, rate: float) -> None:
        """`burst`: at once; `rate`: a second."""
        self._burst = burst
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def spend(self, party: str, now: float) -> bool:
        """One more, if it is within the budget."""
        left, since = self._left.pop(party, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._rate)
        granted = left >= 1
        self._left[party] = (left - granted, now)
        if len(self._left) > _PARTIES_MAX:
            del self._left[next(iter(self._left))]
        return granted
