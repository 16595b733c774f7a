"""A share at work: which of its streams have something to send, what it may still send, what it has sent."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from proxy.protocol.meter import Cap, Meter, Stopwatch
from proxy.protocol.reader import BATCH_MAX
from proxy.protocol.share import BURST_SECONDS, Share

if TYPE_CHECKING:
    from proxy.protocol.stream import Stream

BEHIND_SECONDS = 0.6
"""Of a guarantee: what one that waits may claim at most, after a long frame of another. 4 KiB, the least that a cap
asks for, take 0.54 s of 64 kb/s."""
OVERDUE_SECONDS = 1.0
"""For which bulk waits at most for what is urgent, if for nothing else: then a frame of it goes. Streams are urgent up
to 2.6 Mb/s each, and some that always have something would leave nothing of a slow line."""
APART_FRAMES = 8
APART_MIN, APART_MAX = 64 << 10, 2 * BATCH_MAX
"""What turns of those that wait are apart at most (`apart`): frames, and bytes of the wire however long these are."""
RATE_SECONDS = 5.0
"""The current rate is an average over so long."""


def apart(frame: float) -> float:
    """What the turn of one whose last frame cost so much may be ahead of those that wait as well, at most.

    Two frames are enough to be exact, a few more keep a share even that has much that is urgent. What someone had
    beyond them, as that or while a cap held others back, is not asked back, as after a rest. By the frames that there
    are, as the longest that there may be are seconds of a slow line each, and so many for each of the others.
    """
    return max(APART_MIN, min(APART_MAX, APART_FRAMES * frame))


class Account:
    """Of one share. Turns are bytes of the wire: who has had least goes next, and nobody gains by having rested."""

    __slots__ = (
        "_ahead",
        "_last",
        "_samples",
        "_told",
        "apart",
        "bulk",
        "cap",
        "guarantee",
        "held",
        "limited",
        "listed",
        "overtaken",
        "share",
        "turn",
        "urgent",
        "wire",
    )

    def __init__(self, share: Share) -> None:
        self.share = share
        self.cap = None if share.maximum is None else Cap(share.maximum, share.burst or share.maximum * BURST_SECONDS)
        rate = share.guarantee
        self.guarantee = None if rate is None else Meter(rate, rate * BEHIND_SECONDS)
        self.turn = 0.0
        """What it has had of what no guarantee claimed."""
        self.apart = apart(0.0)
        """What others that wait may stay behind that, at most."""
        self.wire = 0.0
        """Bytes of the wire that it has sent."""
        self.held = Stopwatch()
        """Runs while it has data and a cap makes all of it wait."""
        self.limited = Stopwatch()
        """Likewise, while of these it is its own maximum that makes it wait longest."""
        self.listed = False
        """The scheduler knows that it has something to send."""
        self.overtaken: float | None = None
        """Since then its bulk has waited, for nothing but what is urgent."""
        self.urgent: deque[tuple[int, Stream]] = deque()
        self.bulk: list[tuple[float, int, Stream]] = []
        self._ahead = 0.0  # what it has had since its last turn, as something urgent
        self._last = 0.0  # turn at which new streams begin if none waits
        self._samples: deque[tuple[float, float]] = deque()
        self._told = 0.0

    # -- its streams ---------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """A stream has something to send."""
        return bool(self.urgent or self.bulk)

    def overdue(self, now: float) -> bool:
        """Its bulk waits, and for long: what is urgent for good is more than the line or a cap has room for."""
        return bool(self.bulk) and self.overtaken is not None and self.overtaken < now - OVERDUE_SECONDS

    def overtaken_by(self, stream: Stream) -> bool:
        """True if bulk of another stream waits."""
        bulk = self.bulk
        return len(bulk) > 1 or (bool(bulk) and bulk[0][2] is not stream)

    def add_urgent(self, stream: Stream, order: int) -> None:
        """The stream waits; `order` is higher each time."""
        stream.urgent = True
        self.urgent.append((order, stream))

    def add_bulk(self, stream: Stream) -> None:
        """The stream waits behind those that are urgent."""
        stream.bulk = True
        begin = self.bulk[0][0] if self.bulk else self._last
        stream.turn = min(max(stream.turn, begin), begin + apart(stream.frame))
        heappush(self.bulk, (stream.turn, stream.number, stream))

    def pop_urgent(self) -> None:
        """The first urgent stream had its turn."""
        _, stream = self.urgent.popleft()
        stream.urgent = False

    def pop_bulk(self) -> None:
        """The first stream that is not urgent had its turn, and waits no longer."""
        _, _, stream = heappop(self.bulk)
        stream.bulk = False
        self._last = stream.turn

    def again(self) -> None:
        """The first stream that is not urgent had its turn, and waits for another one."""
        turn, _, stream = self.bulk[0]
        stream.turn = min(stream.turn, turn + apart(stream.frame))  # it may have had much, urgently, while it waited
        heapreplace(self.bulk, (stream.turn, stream.number, stream))

    def remove(self, stream: Stream) -> None:
        """The stream waits no longer."""
        self.urgent = deque(entry for entry in self.urgent if entry[1] is not stream)
        self.bulk = [entry for entry in self.bulk if entry[2] is not stream]
        heapify(self.bulk)
        stream.urgent = stream.bulk = False

    def clear(self) -> None:
        """All streams are gone; what was sent has still been sent."""
        self.urgent.clear()
        self.bulk.clear()
        self.listed = False

    # -- what it pays --------------------------------------------------------------------------------------------

    def pay_turn(self, cost: float, *, urgent: bool) -> None:
        """So much went that no guarantee claimed. What is urgent takes no turn: it counts with the next one.

        At once it would draw all others up behind itself again and again, where the first of them is always the same.
        """
        self._ahead += cost
        if not urgent:
            self.apart = apart(cost)
            self.turn += min(self._ahead, self.apart)
            self._ahead = 0.0

    # -- what it has -------------------------------------------------------------------------------------------

    def lately(self) -> float:
        """Bytes of the wire since this was last asked."""
        told, self._told = self._told, self.wire
        return self.wire - told

    def sample(self, now: float) -> None:
        """Once a second or so, for `rate`."""
        self._samples.append((now, self.wire))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RATE_SECONDS:
            self._samples.popleft()

    @property
    def rate(self) -> float:
        """Bytes of the wire a second over the last seconds; 0 before the second sample."""
        if len(self._samples) < 2:
            return 0.0
        (first, before), (last, after) = self._samples[0], self._samples[-1]
        return (after - before) / (last - first) if last > first else 0.0
