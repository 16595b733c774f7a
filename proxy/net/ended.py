"""Counts why the streams of a peer ended, and what they had moved."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from proxy.net.relay import Relay
from proxy.observe.counters import Traffic, together

_REASONS_MAX = 64
"""Reasons that are counted apart, at most: some of them are the peer's own words."""
_OTHERS = ""
"""What forwards and exports that there are no more have moved."""


class Reasons(Counter[str]):
    """How often each reason has come. When there are too many, new ones are counted together."""

    def count(self, reason: str) -> None:
        """The reason has come once more."""
        self[reason if reason in self or len(self) < _REASONS_MAX else "other reasons"] += 1


class Ended:
    """The streams of one peer that have ended. Loop thread."""

    def __init__(self) -> None:
        self.reasons = Reasons()
        self._traffic = defaultdict[str, Traffic](Traffic)

    def add(self, relay: Relay) -> None:
        """The relay's stream has ended, for the reason that the relay states."""
        self._traffic[relay.share] = together((self._traffic[relay.share], relay.traffic))
        self.reasons.count(relay.reason)

    def keep_apart(self, shares: Collection[str]) -> None:
        """Count the traffic of all others together: one of them that comes back begins at 0, as its share does."""
        for share in self._traffic.keys() - {*shares, _OTHERS}:
            self._traffic[_OTHERS] = together((self._traffic[_OTHERS], self._traffic.pop(share)))

    def traffic_with(self, live: Iterable[Relay]) -> Mapping[str, Traffic]:
        """What ended and `live` streams together have moved, by forward and export, as shares name them; of those that
        there are no more under no name."""
        found = defaultdict[str, list[Traffic]](list)
        for share, traffic in self._traffic.items():
            found[share].append(traffic)
        for relay in live:
            found[relay.share].append(relay.traffic)
        return {share: together(counts) for share, counts in found.items()}
