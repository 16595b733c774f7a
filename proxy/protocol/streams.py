"""What a driver does with streams: opens, accepts and resets them, sends on them, and says what our arrays took."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.errors import Misuse, OpenRefused
from proxy.protocol.flow import Flow
from proxy.protocol.frames import encode_end, encode_fill, encode_miss, encode_open
from proxy.protocol.reader import BATCH_MAX
from proxy.protocol.share import PLAIN, Share
from proxy.protocol.state import TunnelState
from proxy.protocol.stream import STREAM_RESET


@dataclass(slots=True)
class Clock:
    """The time inside a tunnel. `Tunnel` sets it, for methods that have no argument `now`."""

    now: float
    """Seconds on any one monotonic clock: the latest that the driver gave."""


class Streams:
    """The streams of one tunnel, by number, also when it has begun anew. Not thread-safe; all methods return at once.

    What is done to a stream that has ended has no effect: an event tells of its end, but the driver may not have
    fetched that yet. Misuse is raised for numbers of streams that never were.
    """

    def __init__(self, peer: str, clock: Clock) -> None:
        """`peer`: the other site's name; `clock`: tells the time of each call. `renew` has to be called first."""
        self._peer = peer
        self._clock = clock
        self._state: TunnelState

    def renew(self, state: TunnelState) -> None:
        """The tunnel begins anew, with that state. Only `Tunnel` calls this."""
        self._state = state

    # -- beginning and end ---------------------------------------------------------------------------------------

    def open(self, export: str, origin: str, share: Share = PLAIN) -> int:
        """Ask for a stream, to send in `share`. Returns its number. `origin`: for logs. Raises OpenRefused, Misuse."""
        state = self._state
        if state.agreement is None:
            raise OpenRefused(f"there is no tunnel to {self._peer}")
        payload = encode_open(export, origin)
        number = state.admission.admit_own(state.agreement.streams)
        state.push(state.begin(number, own=True, share=share), FrameType.OPEN, payload, self._clock.now)
        return number

    def assign(self, number: int, share: Share) -> None:
        """What we send on an offered stream belongs to `share` from now on."""
        stream = self._state.find(number)
        if stream is not None:
            self._state.scheduler.move(stream, share, self._clock.now)

    def accept(self, number: int) -> None:
        """The export of an offered stream is connected."""
        state, now = self._state, self._clock.now
        stream = state.find(number)
        if stream is not None and stream.accept():
            state.push(stream, FrameType.ACCEPT, b"", now)
            state.widen(stream, now)
            state.awaiting.look(stream)

    def reset(self, number: int, code: ResetCode, reason: str) -> None:
        """End both directions of the stream at once, and tell the peer. Events that are queued may still name it."""
        stream = self._state.find(number)
        if stream is not None:
            self._state.reset(stream, code, reason, self._clock.now)

    def remembers(self, number: int) -> bool:
        """False if the stream is over and forgotten. The peer forgets it, too, as soon as it hears that."""
        return number in self._state.live

    # -- sending -------------------------------------------------------------------------------------------------

    def sendable(self, number: int, known: int = 0) -> int:
        """Plain bytes that `send_data` takes now, beside `known` ones that the peer has; see also `await_room`."""
        stream = self._state.find(number)
        if stream is None:
            return 0
        outgoing = stream.outgoing
        room = stream.room
        if room:
            return min(room, outgoing.room_beside(known)) if known else room
        stream.pressed = stream.pressed or outgoing.pressed
        return 0

    def await_room(self, number: int) -> None:
        """Have `Writable` tell, once, when `sendable` would say more than now, or than later `send_data` has left."""
        stream = self._state.find(number)
        if stream is not None:
            self._state.awaiting.begin(stream)

    def grain(self, number: int) -> int:
        """Bytes that a frame of the stream should have at most, so that no cap is exceeded for long."""
        scheduler = self._state.scheduler
        stream = self._state.find(number) if scheduler.ruled else None  # otherwise there is no cap
        return BATCH_MAX if stream is None else scheduler.grain(stream)

    def pressed(self, number: int) -> bool:
        """True if the stream is `Outgoing.pressed`, or if `sendable` has found it so since the last call."""
        stream = self._state.find(number)
        if stream is None:
            return False
        pressed = stream.pressed or stream.outgoing.pressed
        stream.pressed = False
        return pressed

    def credit_due(self, number: int) -> bool:
        """True if little credit is left and more will come soon: to use that little up would take many tiny frames."""
        stream = self._state.find(number)
        return stream is not None and stream.outgoing.credit_due

    @property
    def backlog(self) -> bool:
        """True if a stream has something that no cap holds back, and no lane has taken yet."""
        return bool(self._state.scheduler)

    def flow(self, number: int) -> Flow | None:
        """What leaves the stream the least room, and the figures that say so; None if it has ended.

        It may change with time, and when `Writable` or `Arrived` comes.
        """
        stream = self._state.live.get(number)  # all may just have been lost, and the driver not have been told yet
        if stream is None or stream.state is STREAM_RESET:
            return None
        return stream.outgoing.flow(stream.account.held.seconds(self._clock.now))

    def await_ack(self, number: int) -> None:
        """Have `Arrived` tell, once, when the peer acknowledges something of the stream."""
        stream = self._state.find(number)
        if stream is not None:
            stream.awaits_ack = True

    def send_data(self, number: int, batch: bytes, plain: int) -> int:
        """Queue a batch, which the caller no longer changes. Returns the sum of the stream's costs, this one included:
        `Consumed` says so much or more once the far array has the batch. Raises Misuse beyond the credit."""
        state = self._state
        stream = state.find_sending(number)
        if stream is None:
            return 0
        stream.outgoing.push_data(batch, plain)
        state.awaiting.sent(stream)
        state.scheduler.add(stream, self._clock.now)
        return stream.outgoing.credit.sent

    def send_end(self, number: int, total: int, tokens: bytes) -> None:
        """Our array has ended its side after `total` plain bytes. Raises Misuse if that is not what was sent."""
        stream = self._state.find_sending(number)
        if stream is not None:
            if total != stream.outgoing.plain:
                raise Misuse(f"END of stream {number} after {total} bytes, but {stream.outgoing.plain} were sent")
            stream.outgoing.push_end(encode_end(total, tokens))
            self._state.scheduler.add(stream, self._clock.now)

    def waive(self, number: int, consumed: int, limit: int) -> None:
        """Give back the credit that `Recalled` asks for, unless DATA was sent since: `sendable` then says less."""
        stream = self._state.find_sending(number)
        if stream is not None and stream.outgoing.waive(consumed, limit):
            self._state.awaiting.sent(stream)
            self._state.scheduler.add(stream, self._clock.now)

    def trust(self, proven: int) -> None:
        """Tell how many bytes the peer lately turned out to have, of those that it was believed to have (`Trust`)."""
        if self._state.trust.prove(proven):
            self._state.awaiting.look_at_all()

    # -- what the peer sends -------------------------------------------------------------------------------------

    def consumed(self, number: int) -> None:
        """The next DATA frame was delivered to the array. Raises Misuse if there is none."""
        state, now = self._state, self._clock.now
        stream = state.find(number)
        if stream is not None:
            incoming = stream.incoming
            incoming.consume(now, state.round_trip)
            due = incoming.press() or incoming.window.due
            state.notices.credit(number, now, due=due, soon=incoming.window.due_soon)
            state.note_taken(stream, now)

    def send_miss(self, number: int, names: Sequence[bytes]) -> None:
        """Ask for 1 to 1024 chunks and runs to which batches of the stream refer."""
        self._send_control(number, FrameType.MISS, encode_miss(names))

    # -- what the peer has missed --------------------------------------------------------------------------------

    @property
    def fill_fits(self) -> bool:
        """True if what all streams together have unacknowledged lets a FILL go at once. May change with each frame."""
        return self._state.ledger.fill_fits

    def may_fill(self, number: int) -> bool:
        """True if what the stream has unacknowledged lets a FILL go; if not, see `await_ack`."""
        stream = self._state.find(number)
        return stream is not None and stream.outgoing.fill_fits

    def send_fill(self, number: int, name: bytes, data: bytes) -> None:
        """Answer a MISS by a chunk or a run's list, as it is (codec 0). `data` is empty if that is gone."""
        self._send_control(number, FrameType.FILL, encode_fill(name, 0, len(data), data))

    def _send_control(self, number: int, kind: FrameType, payload: bytes) -> None:
        stream = self._state.find(number)
        if stream is not None:
            self._state.push(stream, kind, payload, self._clock.now)
