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
"""How far a waiting share may fall behind its guarantee while a long frame of another share goes, in seconds of the
guarantee. Caps shorten frames to no less than 4 KiB (`Cap.grain`), and these take 0.54 s at 64 kb/s."""
OVERDUE_SECONDS = 1.0
"""Seconds after which a frame of bulk that has waited for nothing but urgent frames goes before them. A stream is
urgent up to 2.6 Mb/s, so a few streams that always have something to send would leave bulk nothing of a slow line."""
LEAD_FRAMES = 8
LEAD_MIN, LEAD_MAX = 64 << 10, 2 * BATCH_MAX
"""How far the turn of a share or stream may be ahead of the others that wait (`largest_lead`): a number of frames, and
the least and the most bytes of the wire that these count for."""
RATE_SECONDS = 5.0
"""Seconds over which `Account.rate` is an average."""


def largest_lead(frame: float) -> float:
    """How far the turn of a share or stream may be ahead of the others that wait, if its last frame cost `frame`.

    All in bytes of the wire. What a share or stream had beyond the lead, while it was urgent or while a cap held the
    others back, is forgotten, as it is after a rest. Two frames would be enough for exact turns; a few more make what a
    share sends urgently count as well (`Account.pay_turn`). Frames count with their real length: so many of the
    greatest length would take seconds of a slow line, once for each of the others.
    """
    lead = LEAD_FRAMES * frame
    return LEAD_MIN if lead < LEAD_MIN else min(lead, LEAD_MAX)


class Account:
    """The account of one share. Its turn is a virtual time in bytes of the wire: the share with the least goes next
    (start-time fair queueing), and none gains by having rested."""

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
        self.cap = None if share.maximum is None else Cap(share.maximum, _burst(share))
        self.guarantee = _guarantee(share)
        self.turn = 0.0
        """Virtual time in bytes of the wire. Frames that the guarantee pays for do not advance it."""
        self.lead = largest_lead(0.0)
        """How far `turn` may be ahead of the turns of others that wait."""
        self.wire = 0.0
        """Bytes of the wire that the share has sent."""
        self.held = Stopwatch()
        """Runs while the share has something to send and caps make all of it wait."""
        self.limited = Stopwatch()
        """Likewise, but only while the share's own maximum is the cap that makes it wait longest."""
        self.listed = False
        """True while the scheduler lists the account among those that have something to send."""
        self.overtaken: float | None = None
        """Since when the share's bulk has waited for nothing but urgent frames; None: it does not."""
        self.urgent: deque[tuple[int, Stream]] = deque()
        """Streams that wait with urgent frames, by their order among those of all accounts (`add_urgent`)."""
        self.bulk: list[tuple[float, int, Stream]] = []
        """Streams that wait with bulk: a heap by turn, then by stream number."""
        self._ahead = 0.0  # bytes of urgent frames since the last frame of bulk, not in `turn` yet
        self._last = 0.0  # turn at which a stream begins if no other waits with bulk
        self._samples: deque[tuple[float, float]] = deque()  # time, `wire`
        self._told = 0.0  # `wire`, at the last call of `lately`

    def change(self, share: Share, now: float) -> None:
        """Other rules hold from now on. What was sent stays; what was saved of a guarantee is lost."""
        if share.maximum is None:
            self.cap = None
        elif self.cap is None:
            self.cap = Cap(share.maximum, _burst(share))
        else:
            self.cap.change(share.maximum, now, _burst(share))
        if share.guarantee != self.share.guarantee:
            self.guarantee = _guarantee(share)
        self.share = share

    # -- its streams ---------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """True if a stream has something to send."""
        return bool(self.urgent or self.bulk)

    def overdue(self, now: float) -> bool:
        """True if bulk has waited for long, since urgent frames take all that the line or a cap has room for."""
        return bool(self.bulk) and self.overtaken is not None and self.overtaken < now - OVERDUE_SECONDS

    def overtaken_by(self, stream: Stream) -> bool:
        """True if bulk of another stream than this one waits."""
        bulk = self.bulk
        return len(bulk) > 1 or (bool(bulk) and bulk[0][2] is not stream)

    def add_urgent(self, stream: Stream, order: int) -> None:
        """Queue the stream as urgent. `order` has to be higher at each call, whichever account's."""
        stream.urgent = True
        self.urgent.append((order, stream))

    def add_bulk(self, stream: Stream) -> None:
        """Queue the stream as bulk, which waits behind urgent frames.

        Its turn is set to no less than that of the first stream in the queue, and to no more than a lead beyond it.
        """
        stream.bulk = True
        begin = self.bulk[0][0] if self.bulk else self._last
        stream.turn = min(max(stream.turn, begin), begin + largest_lead(stream.frame))
        heappush(self.bulk, (stream.turn, stream.number, stream))

    def pop_urgent(self) -> None:
        """The first urgent stream had its turn: take it from the queue."""
        _, stream = self.urgent.popleft()
        stream.urgent = False

    def pop_bulk(self) -> None:
        """The first stream with bulk had its turn: take it from the queue."""
        _, _, stream = heappop(self.bulk)
        stream.bulk = False
        self._last = stream.turn

    def again(self) -> None:
        """The first stream with bulk had its turn, and waits for its next one."""
        turn, _, stream = self.bulk[0]
        lead = largest_lead(stream.frame)  # it may have sent much urgently while it waited for this turn
        stream.turn = min(stream.turn, turn + lead)
        heapreplace(self.bulk, (stream.turn, stream.number, stream))

    def remove(self, stream: Stream) -> None:
        """Take the stream from both queues."""
        self.urgent = deque(entry for entry in self.urgent if entry[1] is not stream)
        self.bulk = [entry for entry in self.bulk if entry[2] is not stream]
        heapify(self.bulk)
        stream.urgent = stream.bulk = False

    def clear(self) -> None:
        """All streams are gone: empty both queues. `turn`, `wire` and what is owed to caps stay."""
        self.urgent.clear()
        self.bulk.clear()
        self.listed = False

    # -- what it pays --------------------------------------------------------------------------------------------

    def pay_turn(self, cost: float, *, urgent: bool) -> None:
        """Advance the turn by `cost`, which no guarantee has paid. An urgent frame counts with the next frame of bulk.

        If it counted at once, this share would again and again draw all others that wait up to the same turn, and the
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
        """Note for `rate` what has been sent so far. To be called about once a second."""
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


def _burst(share: Share) -> float:
    assert share.maximum is not None
    return share.burst or share.maximum * BURST_SECONDS


def _guarantee(share: Share) -> Meter | None:
    rate = share.guarantee
    return None if rate is None else Meter(rate, rate * BEHIND_SECONDS)
