"""One stream at one site: its state, with the transitions as a table, and its two directions."""

from collections.abc import Callable
from enum import IntEnum, auto

from proxy.protocol.account import Account
from proxy.protocol.codes import DATA, WAIVE, FrameType
from proxy.protocol.errors import PeerError
from proxy.protocol.events import (
    DataReceived,
    Event,
    FillReceived,
    MissReceived,
    StreamAccepted,
    StreamEnded,
    StreamOffered,
)
from proxy.protocol.frames import decode_accept, decode_end, decode_fill, decode_miss, decode_open, decode_waive
from proxy.protocol.incoming import Incoming
from proxy.protocol.outgoing import Outgoing
from proxy.protocol.reader import Buffer, Frame


class State(IntEnum):
    """PROTOCOL.md, "States of a stream": what was received so far. `*_ENDED`: the peer's END as well.

    RESET: we have reset the stream and the peer has not acknowledged that, or the stream is forgotten.
    """

    IDLE = auto()
    OPENING = auto()
    OFFERED = auto()
    OFFERED_ENDED = auto()
    OPEN = auto()
    OPEN_ENDED = auto()
    RESET = auto()


STREAM_ENDED, STREAM_RESET = State.OPEN_ENDED, State.RESET
"""For comparisons that each frame passes: attributes of an enum class are slow to read."""


TRANSITIONS = {
    (State.IDLE, FrameType.OPEN): State.OFFERED,
    (State.OPENING, FrameType.ACCEPT): State.OPEN,
    (State.OPENING, FrameType.MISS): State.OPENING,
    (State.OFFERED, FrameType.DATA): State.OFFERED,
    (State.OFFERED, FrameType.END): State.OFFERED_ENDED,
    (State.OFFERED, FrameType.FILL): State.OFFERED,
    (State.OFFERED, FrameType.WAIVE): State.OFFERED,
    (State.OFFERED_ENDED, FrameType.FILL): State.OFFERED_ENDED,
    (State.OPEN, FrameType.DATA): State.OPEN,
    (State.OPEN, FrameType.END): State.OPEN_ENDED,
    (State.OPEN, FrameType.MISS): State.OPEN,
    (State.OPEN, FrameType.FILL): State.OPEN,
    (State.OPEN, FrameType.WAIVE): State.OPEN,
    (State.OPEN_ENDED, FrameType.MISS): State.OPEN_ENDED,
    (State.OPEN_ENDED, FrameType.FILL): State.OPEN_ENDED,
}
"""State after a frame was delivered; what is missing is the peer's error. RESET is not here: it ends every state."""

_NEXT = {(state, int(kind)): after for (state, kind), after in TRANSITIONS.items()}
_ACCEPTED = {State.OFFERED: State.OPEN, State.OFFERED_ENDED: State.OPEN_ENDED}
_MAY_SEND = (State.OPENING, State.OPEN, State.OPEN_ENDED)


class Stream:
    """The state of one stream, its two directions, and what the scheduler and `Awaiting` note about it."""

    __slots__ = (
        "account",
        "awaits_ack",
        "awaits_room",
        "bulk",
        "frame",
        "incoming",
        "number",
        "outgoing",
        "own",
        "pressed",
        "state",
        "told",
        "turn",
        "urgent",
    )

    def __init__(self, number: int, own: bool, outgoing: Outgoing, incoming: Incoming, account: Account) -> None:
        """`own`: this side opened it; `account`: the account of the share that it sends in."""
        self.number = number
        self.own = own
        self.state = State.OPENING if own else State.IDLE
        self.outgoing = outgoing
        self.incoming = incoming
        self.awaits_room = False
        """`Awaiting` is to tell the driver when it has more room than `told`."""
        self.told = 0
        self.pressed = False
        """It was found to be `Outgoing.pressed` since `Streams.pressed` was last asked."""
        self.awaits_ack = False
        """The driver is to be told when the peer acknowledges something of it (`Arrived`)."""
        self.account = account
        self.turn = 0.0
        """Its turn among the streams of its account, in bytes of the wire."""
        self.frame = 0.0
        """Bytes of the wire that its last frame of bulk came to."""
        self.urgent = False
        """It is in its account's queue `urgent`."""
        self.bulk = False
        """It is in its account's queue `bulk`."""

    def deliver(self, frame: Frame, plain: int) -> Event | None:
        """Take the frame that is next in order. Returns the event for the driver, if any. `plain`: plain bytes of DATA.

        Raises PeerError if the frame may not come in this state, or is not what PROTOCOL.md says.
        """
        state = _NEXT.get((self.state, frame.type))
        if state is None:
            raise PeerError.of(frame, f"not allowed in state {self.state.name.lower().replace('_', ' ')}")
        self.state = state
        incoming = self.incoming
        incoming.expected += 1
        if frame.type == DATA:
            incoming.deliver(frame, plain)
            return DataReceived(self.number, plain, frame.payload)
        if frame.type == WAIVE:
            incoming.waive(decode_waive(frame.payload))
            return None
        if frame.type == FrameType.FILL and self.outgoing.queued_misses > 1:
            raise PeerError.of(frame, "an answer to what was never asked: more than one MISS waits to be sent")
        event = _EVENTS[frame.type](self.number, frame.payload)
        if isinstance(event, StreamEnded) and event.total != incoming.plain:
            raise PeerError.of(frame, f"the end after {event.total} bytes, but {incoming.plain} came")
        return event

    def accept(self) -> bool:
        """This side connected the export. False if the stream was not offered, or has ended meanwhile."""
        state = _ACCEPTED.get(self.state)
        if state is None:
            return False
        self.state = state
        return True

    @property
    def room(self) -> int:
        """Plain bytes that may be sent now."""
        return self.outgoing.room if self.state in _MAY_SEND else 0

    @property
    def may_send(self) -> bool:
        """True if DATA and END may be sent."""
        return self.state in _MAY_SEND

    @property
    def over(self) -> bool:
        """True if both arrays have ended their sides, and each has all that the other sent."""
        return self.state is STREAM_ENDED and self.incoming.window.idle and self.outgoing.done

    @property
    def received_all(self) -> bool:
        """True if the peer's array has ended its side, and ours has taken all that it sent."""
        return self.state is STREAM_ENDED and self.incoming.window.idle

    @property
    def waits_for_end(self) -> bool:
        """True if nothing is left but to hear from the peer that it has our RESET, or that its array has everything."""
        return (self.state is STREAM_RESET or self.received_all) and self.outgoing.sent_all

    def reset(self, payload: bytes) -> None:
        """End it from this side: only RESET remains, until it is acknowledged."""
        self._end()
        self.outgoing.reset(payload)

    def close(self) -> None:
        """Release everything that both directions hold."""
        self._end()
        self.outgoing.discard()

    def _end(self) -> None:
        if self.state is not STREAM_RESET:
            self.incoming.close()
        self.state = STREAM_RESET


def _accepted(number: int, payload: Buffer) -> Event:
    decode_accept(payload)
    return StreamAccepted(number)


_EVENTS: dict[int, Callable[[int, Buffer], Event]] = {
    FrameType.OPEN: lambda number, payload: StreamOffered(number, *decode_open(payload)),
    FrameType.ACCEPT: _accepted,
    FrameType.END: lambda number, payload: StreamEnded(number, *decode_end(payload)),
    FrameType.MISS: lambda number, payload: MissReceived(number, decode_miss(payload)),
    FrameType.FILL: lambda number, payload: FillReceived(number, *decode_fill(payload)),
}
