"""What a DATA frame costs, and how much of that may be sent on a stream (PROTOCOL.md, "Flow control").

Where costs are lean (capability LEAN) a frame of known data costs less than it delivers; its *plain cost* is then what
it would cost otherwise: its plain bytes and DATA_OVERHEAD. What the peer may send to us is in `window`.
"""

from collections import deque

from proxy.protocol.errors import Misuse, PeerError

DATA_OVERHEAD = 256
"""What every DATA frame costs beside its bytes; pays for the bookkeeping of tiny ones."""
WIDE = 2
"""As far as the peer is trusted (`Trust`), the plain bytes that may be under way: so many times its largest window for
one stream, so many times the tunnel's memory for all."""
TRUST_PART = 8
"""The peer is trusted with so many times what it lately had of what it was believed to have."""
LEAN_PART = 8
"""Where costs are lean a frame costs at least one part in so many of its plain length. So of data that the far site
knows up to eight windows may be under way, which the near array believes delivered."""


def cost_of(plain: int, length: int, *, lean: bool) -> int:
    """What a DATA frame costs whose payload has `length` bytes and delivers `plain` bytes.

    `lean`: what it takes to keep the frame, since a batch is not decoded before the array can have it.
    """
    if not lean or length >= plain:
        return DATA_OVERHEAD + plain
    return DATA_OVERHEAD + max(length, plain // LEAN_PART)


class Trust:
    """Whether streams may have more plain bytes under way than their windows hold, as lean costs allow. One a tunnel.

    What is under way is pinned in our store, which may be small; and should the peer not have it, each batch in turn
    would have to ask for what it lacks, which takes a round trip. So it grows with what was found, as in slow start.
    """

    def __init__(self, most: int) -> None:
        """`most`: bytes that all streams together may have under way before none may have more than its window."""
        self._most = most
        self._bound = 0  # the same, as far as the peer is trusted
        self.under_way = 0
        """Plain costs of what all streams have sent and the far arrays have not consumed."""

    @property
    def wide(self) -> bool:
        """True if a stream may have more under way than its window."""
        return self.under_way < self._bound

    def prove(self, proven: int) -> bool:
        """The peer lately had so many bytes of what it was believed to have. True if streams may be wide since then."""
        wide = self.wide
        self._bound = min(self._most, TRUST_PART * proven)
        return self.wide and not wide


class SendCredit:
    """What may be sent: totals of costs from the stream's beginning."""

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
        self.consumed = 0
        """Everything below has been delivered to the far array."""
        self.under_way = 0
        """Plain bytes that were sent and are not consumed, DATA_OVERHEAD a frame included."""

    @property
    def room(self) -> int:
        """Plain bytes that one more DATA frame may carry, however badly it is reduced."""
        costs, plain = self.cost_room, self.plain_room
        room = costs if costs < plain else plain
        return room if room > 0 else 0

    @property
    def cost_room(self) -> int:
        """What that frame may cost, beyond DATA_OVERHEAD."""
        return self.limit - self.sent - DATA_OVERHEAD

    @property
    def plain_room(self) -> int:
        """Plain bytes that it may carry, however well it is reduced."""
        window = self.limit - self.consumed
        most = max(window, WIDE * self._most) if self._trust.wide else window
        return most - self.under_way - DATA_OVERHEAD

    def spend(self, cost: int, plain_cost: int) -> None:
        """A DATA frame of these costs goes. Raises Misuse beyond the credit."""
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
        """What this CREDIT asks back, in costs; 0 if nothing, or if it is a late one, which did not know all we sent.

        As long as nothing was sent that cannot be told: a lower limit is taken for a late one then, not for a question.
        """
        return max(0, self._granted - limit) if 0 < consumed == self.sent else 0

    def waive(self, amount: int) -> None:
        """Give that much back. Nothing is under way."""
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
