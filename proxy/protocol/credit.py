"""What a DATA frame costs, and how much we may send on a stream (PROTOCOL.md, "Flow control").

The *plain cost* of a frame is its plain bytes and DATA_OVERHEAD. Its *cost*, which credit counts, is the same; but with
lean costs (capability LEAN) a frame of known data costs less. What the peer may send to us is in `window`.
"""

from collections import deque

from proxy.protocol.errors import Misuse, PeerError

DATA_OVERHEAD = 256
"""What every DATA frame costs beside its bytes; pays for the bookkeeping of tiny ones."""
WIDE = 2
"""How many plain bytes may be under way if the peer is trusted (`Trust`): on one stream so many times the largest
window that our settings allow, on all streams together so many times our tunnel's memory."""
TRUST_PART = 8
"""All streams may have so many times the bytes under way that the peer lately turned out to have (`Trust.prove`)."""
LEAN_PART = 8
"""With lean costs a frame costs at least its plain length divided by this. So up to eight windows of data that the far
site knows may be under way, all of which the near array believes delivered."""


def cost_of(plain: int, length: int, *, lean: bool) -> int:
    """The cost of a DATA frame whose payload has `length` bytes and delivers `plain` bytes.

    `lean`: it costs what it takes to keep it, since a receiver decodes a batch only when the array can have it.
    """
    if not lean or length >= plain:
        return DATA_OVERHEAD + plain
    return DATA_OVERHEAD + max(length, plain // LEAN_PART)


class Trust:
    """Whether streams may have more plain bytes under way than their windows hold, as lean costs allow. One per tunnel.

    The chunks of what is under way are pinned in our store, which may be small; and if the peer lacks them, each batch
    in turn asks for its own, which takes a round trip. So the bound grows with what the peer had, as in slow start.
    """

    def __init__(self, most: int) -> None:
        """`most`: as soon as all streams together have so many bytes under way, none may exceed its window."""
        self._most = most
        self._bound = 0  # `most`, or less as far as the peer is trusted
        self.under_way = 0
        """Plain costs of what all streams have sent and the far arrays have not consumed."""

    @property
    def wide(self) -> bool:
        """True if a stream may have more under way than its window."""
        return self.under_way < self._bound

    def allot(self, most: int) -> None:
        """That many from now on, as `most` was."""
        self._most = most
        self._bound = min(self._bound, most)

    def prove(self, proven: int) -> bool:
        """Take how many bytes the peer lately turned out to have, of those that it was believed to have.

        True if `wide` was False and is True now.
        """
        wide = self.wide
        self._bound = min(self._most, TRUST_PART * proven)
        return self.wide and not wide


class SendCredit:
    """What we may send on one stream, as totals of costs since it began."""

    __slots__ = ("_frames", "_granted", "_most", "_trust", "consumed", "limit", "sent", "under_way")

    def __init__(self, initial: int, most: int, trust: Trust) -> None:
        """`most`: what we are willing to have under way, whatever the peer allows."""
        self._most = most
        self._trust = trust
        self._frames: deque[tuple[int, int]] = deque()  # not consumed: `sent` including it, and its plain cost
        self._granted = initial  # the highest limit that the peer has named
        self.limit = initial
        """`sent` may not exceed this: what the peer has granted, but no more than `most` beyond `consumed`."""
        self.sent = 0
        """Costs of all DATA that was queued, sent or not, and of what was waived."""
        self.consumed = 0
        """Everything below has been delivered to the far array."""
        self.under_way = 0
        """Plain costs of the frames in `sent` that are not consumed."""

    def allow(self, most: int) -> None:
        """That much may be under way from now on, as `most` was. What is granted already stays."""
        self._most = most
        self.limit = max(self.limit, min(self._granted, self.consumed + most))

    @property
    def room(self) -> int:
        """Plain bytes that one more DATA frame may carry, however badly it is reduced."""
        costs, plain = self.cost_room, self.plain_room
        room = costs if costs < plain else plain
        return room if room > 0 else 0

    @property
    def cost_room(self) -> int:
        """What one more DATA frame may cost, beyond DATA_OVERHEAD. May be negative."""
        return self.limit - self.sent - DATA_OVERHEAD

    @property
    def plain_room(self) -> int:
        """Plain bytes that one more DATA frame may carry, however well it is reduced. May be negative."""
        window = self.limit - self.consumed
        most = max(window, WIDE * self._most) if self._trust.wide else window
        return most - self.under_way - DATA_OVERHEAD

    def spend(self, cost: int, plain_cost: int) -> None:
        """Count a DATA frame of these costs as sent. Raises Misuse beyond the credit."""
        if self.sent + cost > self.limit:
            raise Misuse(f"a frame that costs {cost} was to be sent with credit for {self.limit - self.sent}")
        self.sent += cost
        self._frames.append((self.sent, plain_cost))
        self.under_way += plain_cost
        self._trust.under_way += plain_cost

    def update(self, consumed: int, limit: int) -> bool:
        """Take a CREDIT; late ones change nothing. True if `consumed` has advanced.

        Raises PeerError if it says that more was consumed than was sent, or more than it allows.
        """
        if consumed > self.sent:
            raise PeerError("CREDIT", f"{consumed} consumed, but only {self.sent} were sent")
        if limit < consumed:
            raise PeerError("CREDIT", f"limit {limit} is below consumed {consumed}")
        self._granted = max(self._granted, limit)
        self.limit = max(self.limit, min(limit, consumed + self._most))
        if consumed <= self.consumed:
            return False
        self.consumed = consumed
        while self._frames and self._frames[0][0] <= consumed:
            self._end(self._frames.popleft()[1])
        return True

    def recalled(self, consumed: int, limit: int) -> int:
        """What this CREDIT asks back, in costs; 0 if nothing, or if the CREDIT is late: made before all was consumed.

        Before anything is sent, a late CREDIT looks like one that asks, so a lower limit is taken for late then.
        """
        return max(0, self._granted - limit) if 0 < consumed == self.sent else 0

    def waive(self, amount: int) -> None:
        """Give that much credit back: it counts as sent and consumed. To be called only while nothing is under way."""
        self.sent += amount
        self.consumed = self.sent
        self.limit = max(self.limit, min(self._granted, self.consumed + self._most))

    def close(self) -> None:
        """The stream is over: nothing is under way."""
        self._frames.clear()
        self._end(self.under_way)

    def _end(self, plain_cost: int) -> None:
        self.under_way -= plain_cost
        self._trust.under_way -= plain_cost
