"""The sending direction of a stream: what waits, what was sent and is not acknowledged, what has to be sent again.

A frame gets its number when it is first taken. So frames that somebody waits for (all but DATA and END) may overtake a
stream's own DATA, and frames that a reset discards leave no gap in the numbers.
"""

from collections import deque
from operator import itemgetter

from proxy.protocol.codes import DATA, END, RESET, WAIVE, FrameType
from proxy.protocol.copies import COPY_MAX
from proxy.protocol.credit import DATA_OVERHEAD, LEAN_PART, SendCredit, cost_of
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.flow import Flow, Obstacle
from proxy.protocol.frames import encode_waive
from proxy.protocol.hello import CREDIT_MIN
from proxy.protocol.reader import FILL_MAX, PLAIN_MAX, header
from proxy.protocol.window import CREDIT_PART

QUEUE_MAX = 512 << 10
"""Bytes of DATA that a stream may have waiting for lanes: more would only wait longer."""
ROOM_MIN = 4 << 10
"""Plain bytes below which a stream is told to wait: tiny frames cost more than they carry."""
ROOM_WORTH = 192 << 10
QUEUE_LOW = 192 << 10
"""While DATA of a stream waits for lanes, the stream is told to go on only if it has at least ROOM_WORTH plain bytes of
room, a full batch of new data, and at most QUEUE_LOW bytes queued: to stop and to go on costs as much as a batch."""
SHARE_MIN = 16 << 10
"""Bytes that each stream may hold although the tunnel holds its maximum, so that none is shut out by the others."""
TOKENS_ROOM = 512
"""Bytes allowed for what a batch has beside its literals, beyond an eighth of its plain length. Room to
spare is included: PROTOCOL.md, "Batches", allows 256."""
FRAME_OVERHEAD = 256
"""Bytes that a held frame counts for beyond its payload."""
UNCREDITED_FRAMES = 64
"""Frames of a stream that cost no credit (all but DATA and RESET) and may be unacknowledged at once; it bounds how many
the peer may have to keep behind a gap."""
UNCREDITED_BYTES = 16 << 20
"""The same in bytes of payload, for all streams together."""
JOIN_MAX = 4096
"""Payloads up to this length are copied behind their header; a longer one is a piece of its own."""
LIGHT_BYTES = 32 << 10
LIGHT_PERIOD = 0.1
"""A stream is light, and does not wait behind bulk, if what it has sent for about LIGHT_PERIOD seconds and what waits
are less than LIGHT_BYTES together."""

_WINDOW, _FAR, _LINE, _UNACKED = Obstacle.WINDOW, Obstacle.FAR, Obstacle.LINE, Obstacle.UNACKED
_room_of = itemgetter(0)


class SendLedger:
    """What all sending directions of a tunnel hold together."""

    __slots__ = ("held", "maximum", "uncredited", "waiting")

    def __init__(self, maximum: int) -> None:
        self.maximum = maximum
        self.held = 0
        """Bytes that wait or are unacknowledged, FRAME_OVERHEAD a frame included."""
        self.uncredited = 0
        """Bytes that are unacknowledged and cost no credit."""
        self.waiting = 0
        """Bytes of queued frames that may overtake DATA."""

    @property
    def fill_fits(self) -> bool:
        """True if one more FILL, whatever its length, need not wait for what all streams have unacknowledged."""
        return self.uncredited + self.waiting + FILL_MAX <= UNCREDITED_BYTES

    @property
    def crowded(self) -> bool:
        """True if what all streams hold together may keep one of them from sending."""
        return self.maximum - self.held < PLAIN_MAX


class Sent:
    """A frame that was given to a lane; `lane` is None when that lane has died."""

    __slots__ = ("kind", "lane", "number", "payload")

    def __init__(self, kind: int, number: int, payload: bytes, lane: int) -> None:
        self.kind = kind
        self.number = number
        self.payload = payload
        self.lane: int | None = lane

    def pieces(self, stream: int) -> tuple[bytes, ...]:
        """The whole frame, in one piece or two."""
        size = len(self.payload)
        head = header(self.kind, size, stream, self.number)
        return (head + self.payload,) if size <= JOIN_MAX else (head, self.payload)


class Outgoing:
    """One stream's sending direction."""

    __slots__ = (
        "_ahead",
        "_arrived",
        "_control",
        "_costs",
        "_data",
        "_held",
        "_lean",
        "_ledger",
        "_next",
        "_recent",
        "_recent_since",
        "_unacked",
        "_uncredited",
        "acked",
        "again",
        "credit",
        "ended",
        "plain",
        "queued",
    )

    def __init__(self, ledger: SendLedger, credit: SendCredit, *, lean: bool) -> None:
        """`lean`: capability LEAN was agreed on (`cost_of`)."""
        self.credit = credit
        self._lean = lean
        self.ended = False
        """END or RESET was queued: no DATA may follow."""
        self.plain = 0
        """Plain bytes given to `push_data`."""
        self._ledger = ledger
        self._control: deque[tuple[int, bytes]] = deque()  # type and payload of frames that may overtake DATA
        self._data: deque[tuple[int, bytes]] = deque()  # type and payload of DATA and END, in order
        self._unacked: deque[Sent] = deque()
        self.again: deque[Sent] = deque()
        """Frames that went by a lane that was lost; they go before new ones."""
        self._next = 0  # number of the next new frame
        self.acked = 0
        """Frames below this number are acknowledged."""
        self._costs: deque[int] = deque()  # cost of each DATA frame that is not acknowledged, sent or not
        self._arrived = 0  # costs of the DATA that is acknowledged, and of what was waived
        self.queued = 0
        """Bytes of DATA that wait for a lane."""
        self._held = 0  # this stream's part of `SendLedger.held`
        self._uncredited = 0  # frames that are unacknowledged and cost no credit
        self._ahead = 0  # bytes of frames that a RESET has discarded here, but the peer may still keep
        self._recent = 0  # bytes sent, for `light`
        self._recent_since = float("-inf")

    # -- filling it ----------------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """Plain bytes that `push_data` takes now; 0 if that is less than ROOM_MIN."""
        if self.ended:
            return 0
        ledger = self._ledger
        shared = max(ledger.maximum - ledger.held, SHARE_MIN - self._held)
        room = min(PLAIN_MAX, self.credit.room, QUEUE_MAX - self.queued, shared)
        return room if room >= ROOM_MIN else 0

    def room_beside(self, known: int) -> int:
        """Plain bytes, however badly reduced, that one DATA frame may carry beside `known` ones that the peer has.

        May be negative.
        """
        credit, ledger = self.credit, self._ledger
        shared = max(ledger.maximum - ledger.held, SHARE_MIN - self._held)
        costs = min(credit.cost_room, QUEUE_MAX - self.queued, shared)
        lean = (costs - known // LEAN_PART - TOKENS_ROOM) * LEAN_PART // (LEAN_PART + 1) if self._lean else 0
        return min(PLAIN_MAX - known, credit.plain_room - known, max(costs - known, lean))

    @property
    def pressed(self) -> bool:
        """True if DATA waits for a lane, or for credit most of which was used up by what is still on its way."""
        credit = self.credit
        return self.queued > 0 or (self.starved and 2 * (credit.sent - self._arrived) >= credit.sent - credit.consumed)

    @property
    def credit_due(self) -> bool:
        """True if little credit is left, and CREDIT will come soon, since the peer has most of what used it up.

        "Little" is less than the smallest window (CREDIT_MIN), or it might be in vain to wait for more; and less than a
        quarter of this window, since CREDIT goes when a quarter was consumed.
        """
        credit = self.credit
        left, window = credit.limit - credit.sent, credit.limit - credit.consumed
        on_the_way = credit.sent - self._arrived
        return left < min(CREDIT_MIN, window // CREDIT_PART) and 2 * on_the_way < window - left

    @property
    def starved(self) -> bool:
        """True if it is the peer's credit that is missing."""
        return not self.ended and self.credit.room < ROOM_MIN

    def flow(self, held: float) -> Flow:
        """What leaves the stream the least room, and the figures that say so.

        If that is the credit, the obstacle says where most of what used it up is now. `held`: seconds for which caps
        have held the share back, to be passed on.
        """
        credit, ledger = self.credit, self._ledger
        on_the_way, arrived = credit.sent - self._arrived, self._arrived - credit.consumed
        rooms = (
            (credit.room, _WINDOW if on_the_way >= arrived else _FAR),
            (QUEUE_MAX - self.queued, _LINE),
            (max(ledger.maximum - ledger.held, SHARE_MIN - self._held), _UNACKED),
        )
        _, least = min(rooms, key=_room_of)
        return Flow(least, credit.limit - credit.consumed, arrived, held, self.queued)

    def push_control(self, kind: int, payload: bytes) -> None:
        """Queue a frame that may overtake DATA."""
        self._control.append((kind, payload))
        self._ledger.waiting += len(payload)
        self._hold(len(payload))

    def push_data(self, batch: bytes, plain: int) -> None:
        """Queue DATA. Raises Misuse beyond the credit or after the end."""
        if self.ended:
            raise Misuse("DATA after END")
        size = len(batch)
        cost = cost_of(plain, size, lean=self._lean)
        self.credit.spend(cost, plain + DATA_OVERHEAD)
        self._costs.append(cost)
        self.plain += plain
        self.queued += size
        self._data.append((DATA, batch))
        self._hold(size)

    def push_end(self, payload: bytes) -> None:
        """Queue END behind all DATA. Raises Misuse after the end."""
        if self.ended:
            raise Misuse("END after END")
        self.ended = True
        self._data.append((END, payload))
        self._hold(len(payload))

    def recalled(self, consumed: int, limit: int) -> int:
        """What this CREDIT asks back; 0 if that is nothing, or if the stream has ended.

        It is 0 as well while too many frames are unacknowledged, for a peer may ask again and again.
        """
        return 0 if self.ended or not self.fill_fits else self.credit.recalled(consumed, limit)

    def waive(self, consumed: int, limit: int) -> bool:
        """Queue WAIVE of what the CREDIT asks back; False if that is nothing. DATA may follow it."""
        amount = self.recalled(consumed, limit)
        if amount:
            self.credit.waive(amount)
            self._arrived += amount
            self.push_control(WAIVE, encode_waive(amount))
        return amount > 0

    def reset(self, payload: bytes) -> None:
        """Discard everything, and queue RESET alone.

        The peer may keep frames that were sent until RESET has come. So those that cost no credit count as
        unacknowledged until the stream is over.
        """
        ahead = self._uncredited_bytes()
        self.discard()
        self._ahead = ahead
        self._ledger.uncredited += ahead
        self.ended = True
        self.push_control(RESET, payload)

    def discard(self) -> None:
        """The stream is over: hold nothing."""
        self._ledger.uncredited -= self._uncredited_bytes() + self._ahead
        self._ahead = 0
        self._ledger.waiting -= sum(len(payload) for _, payload in self._control)
        self._ledger.held -= self._held
        self._held = self.queued = self._uncredited = 0
        for queue in (self._control, self._data, self._costs, self._unacked, self.again):
            queue.clear()
        self.credit.close()

    # -- emptying it ---------------------------------------------------------------------------------------------

    @property
    def queued_misses(self) -> int:
        """How many MISS wait to be sent."""
        return sum(kind == FrameType.MISS for kind, _ in self._control)

    @property
    def fill_fits(self) -> bool:
        """True if one more FILL, or WAIVE, need not wait for what this stream has unacknowledged."""
        return self._uncredited + len(self._control) < UNCREDITED_FRAMES

    @property
    def waiting(self) -> bool:
        """True if there is something to take, though it may have to wait for acknowledgements."""
        return bool(self._control or self._data or self.again)

    def light(self, now: float) -> bool:
        """True if the next frame should not wait behind bulk: it is no DATA, or the stream is light."""
        if now - self._recent_since > LIGHT_PERIOD:
            self._recent_since = now
            self._recent = 0
        return bool(self._control) or self._recent + self.queued < LIGHT_BYTES

    def take_again(self, lane: int) -> Sent | None:
        """The next frame that a lost lane may not have delivered; it goes by `lane` now. None if there is none."""
        while self.again:
            sent = self.again.popleft()
            if sent.number >= self.acked:
                sent.lane = lane
                self._recent += len(sent.payload)
                return sent
        return None

    def take_new(self, lane: int) -> Sent | None:
        """The next new frame, which gets its number now. None if there is none, or if it has to wait for an ACK."""
        queue = self._control or self._data
        if not queue:
            return None
        kind, payload = queue[0]
        size = len(payload)
        if kind == DATA:
            self.queued -= size
        elif not self._spend_uncredited(kind, size):
            return None
        queue.popleft()
        sent = Sent(kind, self._next, payload, lane)
        self._next += 1
        self._unacked.append(sent)
        self._recent += size
        return sent

    def acknowledge(self, next_: int) -> int | None:
        """The peer has all frames below `next_`. Raises PeerError if they were not all sent.

        Returns a lane that has brought one of them; None if that is not known, since short frames may have been copied.
        """
        if next_ > self._next:
            raise PeerError("ACK", f"frames below {next_} are acknowledged, but only {self._next} were sent")
        unacked, brought = self._unacked, None
        while unacked and unacked[0].number < next_:
            sent = unacked.popleft()
            self._forget(sent)
            if len(sent.payload) > COPY_MAX:
                brought = sent.lane
        self.acked = max(self.acked, next_)
        return brought

    def lane_lost(self, lane: int) -> bool:
        """What went by that lane and is not acknowledged has to be sent again; True if there is any."""
        lost = [sent for sent in self._unacked if sent.lane == lane]
        for sent in lost:
            sent.lane = None
        if lost:
            self.again = deque(sent for sent in self._unacked if sent.lane is None)
        return bool(lost)

    @property
    def done(self) -> bool:
        """True if our array ended its side and the far array has everything."""
        empty = not (self._control or self._data or self._unacked)
        return self.ended and empty and self.credit.consumed == self.credit.sent

    @property
    def sent_all(self) -> bool:
        """True if END or RESET was sent, and no new frame waits to be sent."""
        return self.ended and not (self._control or self._data)

    # -- accounts ------------------------------------------------------------------------------------------------

    def _spend_uncredited(self, kind: int, size: int) -> bool:
        """Account for a frame other than DATA that is sent now. Changes nothing, and is False, if it has to wait."""
        ledger = self._ledger
        if kind != RESET:
            if self._uncredited >= UNCREDITED_FRAMES:
                return False
            if ledger.uncredited and ledger.uncredited + size > UNCREDITED_BYTES:
                return False
            self._uncredited += 1
            ledger.uncredited += size
        if kind != END:
            ledger.waiting -= size
        return True

    def _uncredited_bytes(self) -> int:
        """Bytes of payload of the frames that `_uncredited` counts."""
        return sum(len(sent.payload) for sent in self._unacked if sent.kind not in {DATA, RESET})

    def _hold(self, size: int) -> None:
        self._held += size + FRAME_OVERHEAD
        self._ledger.held += size + FRAME_OVERHEAD

    def _forget(self, sent: Sent) -> None:
        size = len(sent.payload)
        self._held -= size + FRAME_OVERHEAD
        self._ledger.held -= size + FRAME_OVERHEAD
        if sent.kind == DATA:
            self._arrived += self._costs.popleft()
        elif sent.kind != RESET:
            self._uncredited -= 1
            self._ledger.uncredited -= size
