"""What the scheduler keeps about one share: its streams that have something to send, its rates, what it has sent."""

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
"""Seconds of its guarantee by which a waiting share may fall behind at most, while a long frame of another share goes:
4 KiB, to which caps shorten frames at most (`Cap.grain`), take 0.54 s at 64 kb/s."""
OVERDUE_SECONDS = 1.0
"""Seconds after which a frame of bulk that has waited for nothing but urgent frames goes before them. A stream is
urgent up to 2.6 Mb/s, so a few that always have something to send would leave nothing of a slow line."""
LEAD_FRAMES = 8
LEAD_MIN, LEAD_MAX = 64 << 10, 2 * BATCH_MAX
"""How far a turn may be ahead of those that wait as well (`largest_lead`): frames, and the least and the most that
these count for, in bytes of the wire."""
RATE_SECONDS = 5.0
"""Seconds over which `Account.rate` is an average."""


def largest_lead(frame: float) -> float:
    """How far ahead of others that wait the turn of a share or stream may be, if its last frame cost that much.

    All in bytes of the wire. What it had beyond the lead, while it was urgent or while a cap held the others back, is
    forgotten, as it is after a rest. Two frames would be enough for exact turns; a few more do justice to shares that
    send much urgently. It is counted in frames as long as they really are: so many of the greatest length would take
    seconds of a slow line, once for each of the others.
    """
    return max(LEAD_MIN, min(LEAD_MAX, LEAD_FRAMES * frame))


class Account:
    """One share's. Its turn is a virtual time in bytes of the wire: whoever has the least goes next (start-time fair
    queueing), and nobody gains by having rested."""

    __slots__ = (
        "_ahead",
        "_last",
        "_samples",
        "_told",
        "bulk",
        "cap",
        "guarantee",
        "held",
        "lead",
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
        """Bytes of the wire that it has had beside its guarantee."""
        self.lead = largest_lead(0.0)
        """How far `turn` may be ahead of that of others that wait."""
        self.wire = 0.0
        """Bytes of the wire that it has sent."""
        self.held = Stopwatch()
        """Runs while it has something to send and caps make all of it wait."""
        self.limited = Stopwatch()
        """Likewise, but only while its own maximum is the cap that makes it wait longest."""
        self.listed = False
        """It is among the accounts of the scheduler that have something to send."""
        self.overtaken: float | None = None
        """Since when its bulk has waited for nothing but urgent frames; None: it does not."""
        self.urgent: deque[tuple[int, Stream]] = deque()
        """Streams in the order of their numbers, which rise over all accounts (`add_urgent`)."""
        self.bulk: list[tuple[float, int, Stream]] = []
        """A heap of streams by their turns, and by their numbers between equals."""
        self._ahead = 0.0  # bytes of its urgent frames since its last frame of bulk, not in `turn` yet
        self._last = 0.0  # turn at which streams begin if none waits
        self._samples: deque[tuple[float, float]] = deque()  # time, `wire`
        self._told = 0.0  # `wire`, at the last call of `lately`

    # -- its streams ---------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """True if a stream has something to send."""
        return bool(self.urgent or self.bulk)

    def overdue(self, now: float) -> bool:
        """True if its bulk has waited for long: more is urgent, all the time, than the line or a cap has room for."""
        return bool(self.bulk) and self.overtaken is not None and self.overtaken < now - OVERDUE_SECONDS

    def overtaken_by(self, stream: Stream) -> bool:
        """True if bulk of another stream waits."""
        bulk = self.bulk
        return len(bulk) > 1 or (bool(bulk) and bulk[0][2] is not stream)

    def add_urgent(self, stream: Stream, order: int) -> None:
        """The stream waits; `order` is higher at each call, of whichever account."""
        stream.urgent = True
        self.urgent.append((order, stream))

    def add_bulk(self, stream: Stream) -> None:
        """The stream waits behind those that are urgent."""
        stream.bulk = True
        begin = self.bulk[0][0] if self.bulk else self._last
        stream.turn = min(max(stream.turn, begin), begin + largest_lead(stream.frame))
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
        lead = largest_lead(stream.frame)  # it may have sent much urgently while it waited for this turn
        stream.turn = min(stream.turn, turn + lead)
        heapreplace(self.bulk, (stream.turn, stream.number, stream))

    def remove(self, stream: Stream) -> None:
        """The stream waits no longer."""
        self.urgent = deque(entry for entry in self.urgent if entry[1] is not stream)
        self.bulk = [entry for entry in self.bulk if entry[2] is not stream]
        heapify(self.bulk)
        stream.urgent = stream.bulk = False

    def clear(self) -> None:
        """All streams are gone; `turn`, `wire` and what is owed to caps stay."""
        self.urgent.clear()
        self.bulk.clear()
        self.listed = False

    # -- what it pays --------------------------------------------------------------------------------------------

    def pay_turn(self, cost: float, *, urgent: bool) -> None:
        """A frame went that no guarantee has paid for. An urgent one counts only with the next frame of bulk.

        If it counted at once, this share would draw all others that wait up to the same turn again and again, and the
        first of these would always win.
        """
        self._ahead += cost
        if not urgent:
            self.lead = largest_lead(cost)
            self.turn += min(self._ahead, self.lead)
            self._ahead = 0.0

    # -- what it has sent ----------------------------------------------------------------------------------------

    def lately(self) -> float:
        """Bytes of the wire that it has sent since the last call."""
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
