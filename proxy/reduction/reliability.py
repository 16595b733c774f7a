"""How often one site was wrong about what the other's store holds, and whether it should go on referring to that."""

_SAMPLE = 1024
"""References beyond which the counts of references and of misses are halved."""
_FEWEST_MISSES = 64
_MISS_SHARE = 0.05
"""References are suspended if more are missed than this number, and more than this share of them."""
_SUSPENSION = 30.0
"""Seconds."""
_REMEMBERED = 1 << 30
"""Bytes that `Reliability.proven` counts, at most."""


class Reliability:
    """How reliable belief about one peer's store is. Loop thread.

    Many misses suspend references for 30 s, and so does one that cannot be answered.
    """

    def __init__(self) -> None:
        self.referring = True
        """False while references are suspended."""
        self.proven = 0
        """Bytes that the peer was lately found to hold, as was believed; halved whenever it misses anything."""
        self._referred = 0  # references that are under way no more
        self._missed = 0  # how many of these were missed
        self._referred_underway = 0
        self._missed_underway = 0
        self._suspended_until = 0.0

    def found(self, known: int) -> None:
        """The peer held `known` bytes that it was believed to hold."""
        self.proven = min(self.proven + known, _REMEMBERED)

    def referred(self, count: int) -> None:
        """`count` references were sent."""
        self._referred_underway += count

    def ended(self, count: int, missed: int) -> None:
        """`count` references are under way no more, `missed` of which had failed; old samples fade by halving."""
        self._referred_underway -= count
        self._missed_underway = max(0, self._missed_underway - missed)
        self._referred += count
        self._missed += missed
        if self._referred > _SAMPLE:
            self._referred //= 2
            self._missed //= 2

    def missed(self, count: int, now: float) -> None:
        """`count` references failed at the peer. `now` in seconds, monotonic.

        They may be of all that is under way: the peer asks at once for what many batches lack, on many streams.
        """
        self.proven //= 2
        self._missed_underway += count
        missed = self._missed + self._missed_underway
        if missed > _FEWEST_MISSES and missed > _MISS_SHARE * (self._referred + self._referred_underway):
            self._suspend(now)

    def gone(self, now: float) -> None:
        """A chunk that the peer missed was lost here, too, which ends its stream: where one is, others may be.

        Each of them would end the stream that refers to it, one after the other, so that none got through.
        """
        self._suspend(now)

    def tick(self, now: float) -> None:
        """End a suspension whose time has come; to be called about once a second."""
        if not self.referring and now >= self._suspended_until:
            self.referring = True
            self._referred = self._missed = self._missed_underway = 0

    def _suspend(self, now: float) -> None:
        self._suspended_until = now + _SUSPENSION
        self.referring = False
