"""What happens to a packet on one way of a line. No I/O; time and random numbers are arguments.

A packet waits until the packets before it have left at the line's rate, if the queue has room for it; then it takes
the delay. That needs no events: the time at which the line will be free says how long the queue is, and when the
packet leaves. Arrivals (`Fate.due`) come in order, except those of packets that overtake, which are in order among
themselves. Another rate changes the fates of packets that wait for it (`Change`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from bench.wan.settings import Way


@dataclass
class Counts:
    """Packets of one way since the start; what has not been dropped is delivered or still on its way."""

    packets: int = 0
    size: int = 0
    """Bytes of the packets."""
    queue: int = 0
    """Dropped because the queue was full."""
    loss: int = 0
    """Lost on the line."""
    outage: int = 0
    """Dropped while the way was out."""
    path_mtu: int = 0
    """Dropped because they were too long."""
    duplicated: int = 0
    reordered: int = 0
    """Sent ahead of those before them."""


class Fate(NamedTuple):
    """What becomes of a packet that is not dropped."""

    due: float
    """When it arrives, in seconds of the clock that was given."""
    ahead: bool
    """It overtakes: its place is not behind the packets that were taken before it."""
    copies: int
    """2 if it arrives twice."""
    leaves: float
    """When it has waited for the rate, and begins to take the delay."""


class Change(NamedTuple):
    """A change of the rate, which also concerns packets that wait for it."""

    now: float
    longer: float
    """How many times as long it takes from now on until a packet leaves."""

    def leaves(self, before: float) -> float:
        """When a packet leaves that would have left at `before`."""
        return before if before <= self.now else self.now + (before - self.now) * self.longer

    def of(self, fates: Iterable[Fate]) -> Iterator[Fate]:
        """The new fates of packets that were taken before, in their order."""
        due = float("-inf")
        for fate in fates:
            leaves = self.leaves(fate.leaves)
            moved = leaves - fate.leaves if leaves != fate.leaves else 0.0
            due = max(due, fate.due + moved)  # each keeps its jitter
            yield fate._replace(due=due, leaves=leaves)


_NONE = Fate(float("-inf"), False, 1, float("-inf"))
"""Before the first packet."""


class Model:
    """One way of a line. Not for several threads at once."""

    def __init__(self, way: Way, mtu: int, random: Random) -> None:
        self.counts = Counts()
        self.out = False
        """The way is out: everything is dropped."""
        self._mtu = mtu
        self._random = random.random
        self._in_run = False
        self._seconds_a_byte = 8 / way.rate
        self._free_at, self._last = float("-inf"), _NONE
        self.set(way, 0.0)

    def set(self, way: Way, now: float) -> Change:
        """Change the settings for packets that are taken from now on; none of these overtakes those taken before.

        Packets that wait for the rate wait for the new one: returns what that changes for packets taken before.
        """
        change = Change(now, 8 / way.rate / self._seconds_a_byte)
        self._free_at = change.leaves(self._free_at)
        (self._last,) = change.of([self._last])
        self._way = way
        self._seconds_a_byte = 8 / way.rate
        self._room = way.queue_bytes(self._mtu) * self._seconds_a_byte
        self._longest = way.path_mtu or float("inf")
        self._recovery = 1 / way.burst
        self._onset = way.onset
        self._plain = not (way.jitter or way.reorder or way.duplicate)
        self._in_run = False
        return change

    @property
    def delay(self) -> float:
        """Seconds of delay, without jitter."""
        return self._way.delay

    def cut(self) -> None:
        """Forget the packets under way: an outage has taken them."""
        self._free_at, self._last = float("-inf"), _NONE

    def waiting(self, now: float) -> int:
        """Bytes that wait for the rate."""
        return round(max(0.0, self._free_at - now) / self._seconds_a_byte)

    def take(self, now: float, size: int) -> Fate | None:
        """A packet of `size` bytes, IP header included, comes in: its fate, or None if it is dropped."""
        counts = self.counts
        counts.packets += 1
        counts.size += size
        if self.out:
            counts.outage += 1
            return None
        if size > self._longest:
            counts.path_mtu += 1
            return None
        took = size * self._seconds_a_byte
        free_at = self._free_at if self._free_at > now else now
        if free_at + took - now > self._room:
            counts.queue += 1
            return None
        self._free_at = free_at = free_at + took
        if self._way.loss and self._lost():
            counts.loss += 1
            return None
        due = free_at + self._way.delay
        if not self._plain:
            return self._special(free_at, due)
        self._last = fate = Fate(max(due, self._last.due), False, 1, free_at)
        return fate

    def _special(self, free_at: float, due: float) -> Fate:
        way, random = self._way, self._random
        copies = 1
        if way.duplicate and random() < way.duplicate:
            copies = 2
            self.counts.duplicated += 1
        if way.reorder and random() < way.reorder:
            self.counts.reordered += 1
            return Fate(free_at, True, copies, free_at)
        self._last = fate = Fate(max(self._last.due, due + way.jitter * random()), False, copies, free_at)
        return fate

    def _lost(self) -> bool:
        """Gilbert's model: losses come in runs whose lengths, and the gaps between them, are geometric."""
        way = self._way
        if way.burst == 1:
            return self._random() < way.loss
        if way.loss == 1:
            return True
        odds = self._recovery if self._in_run else self._onset
        if self._random() < odds:
            self._in_run = not self._in_run
        return self._in_run
