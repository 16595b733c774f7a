"""A tap in an array's cable: it carries connections on, remembers how they began, and can flip a bit on the way."""

from dataclasses import dataclass, field

from bench.sites import Address
from tests.integration.bed.wire import Wire

REMEMBERED = 64 << 10
"""Bytes of each direction: more than a login has."""


@dataclass
class Way:
    """One direction of all connections together."""

    carried: int = 0
    """Bytes."""
    beginning: bytearray = field(default_factory=bytearray)
    flipped: bool = False
    _flip_at: int | None = None

    def flip(self, ahead: int) -> None:
        """Flip the lowest bit of the byte before which so many others are still to come."""
        self.flipped, self._flip_at = False, self.carried + ahead

    def carry(self, data: bytes) -> bytes:
        """What comes out for what goes in."""
        start, self.carried = self.carried, self.carried + len(data)
        self.beginning += data[: REMEMBERED - len(self.beginning)]
        if self._flip_at is None or not start <= self._flip_at < self.carried:
            return data
        at, self._flip_at, self.flipped = self._flip_at - start, None, True
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


class Tap(Wire):
    """Listens on loopback, in front of `far`. A context manager."""

    def __init__(self, far: Address) -> None:
        super().__init__(far)
        self.ahead, self.back = Way(), Way()

    def touch(self, data: bytes, outward: bool) -> bytes:
        return (self.ahead if outward else self.back).carry(data)
