"""A relay joins one array connection to one stream of a tunnel.

Outward (to the peer): the socket is read straight into the encoder; batches go to the tunnel as long as it has credit,
and while it has none the socket is not read: the relay *rests*. Inward (to the array) is `Delivery`. A stream ends by
`close`, or in order once both arrays have ended their sides (`_finish_if_done`).
"""

import asyncio
import errno
import socket
import time
from collections import deque
from collections.abc import Callable
from typing import cast

from proxy.net.allowance import grain_and_allowance
from proxy.net.blaming import Blaming
from proxy.net.coders import Coders
from proxy.net.connecting import in_words
from proxy.net.delivery import Delivery
from proxy.net.endings import Leaving, Parting, reset_connection, reset_transport, socket_of
from proxy.net.packing import Packing
from proxy.net.pauses import Pauses
from proxy.net.relay_owner import RelayOwner
from proxy.net.sockets import keep_urgent, make_room, notice_absence
from proxy.net.tcpinfo import has_ended, reset_error
from proxy.net.turns import TURN
from proxy.net.waits import Waits
from proxy.observe.counters import Traffic
from proxy.observe.waiting import Waiting
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import PeerError
from proxy.protocol.reader import HEADER_BYTES
from proxy.reduction.outgoing import OutgoingBatch

_CPU, _SOURCE = Waiting.CPU, Waiting.SOURCE  # each read passes here, and attributes of an enum class are slow to read

_RESET = errno.ECONNRESET, errno.ENOTCONN
"""Errors of a connection that was reset; ENOTCONN where that happened before the loop took it over."""

_WRITE_HIGH = 256 << 10
"""Bytes that wait for a slow array, above which decoding stops; they count as consumed."""
_WRITE_LOW = 64 << 10

_ALLOWANCE_MIN = 4 << 10
"""Plain bytes below which the socket is not read: reading a few at a time would cost more than it moves."""

_RATIO_MIN = 0.4
"""The least compression ratio that is believed when a batch is sized: if data ceases to compress, the batch has at most
2.5 times the grain."""


def prepare(connection: socket.socket) -> None:
    """Set the socket options that an array's connection needs. To be called before the event loop has the connection:
    the loop's own socket object takes ten times as long for each option."""
    reset_connection(connection)  # holds until the stream ends in order, and even if this process is killed
    keep_urgent(connection)
    notice_absence(connection)
    make_room(connection, TURN)


def _nobody(relay: "Relay") -> None:
    """Nobody else counts it."""


class Relay(asyncio.BufferedProtocol):
    """Loop thread. Made when the stream is opened or offered; `connection_made` may come later, with a connection that
    was `prepare`d."""

    def __init__(self, owner: RelayOwner, stream: int, name: str, origin: str, coders: Coders, *, opener: bool) -> None:
        """`name`: the forward's or the export's; `origin`: the opening array's address."""
        self.stream = stream
        self.name = name
        self.origin = origin
        self.opener = opener
        self.began = time.monotonic()
        self.reason = ""
        self.destination = ""
        """What the peer was asked for (opener), or the address that is connected to (acceptor)."""
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._traffic = Traffic()
        self.waits = Waits(owner, stream, self._traffic)
        self._blaming = Blaming(stream, name, self._traffic, owner.breach, self.close)
        self.coders = coders
        self._encoder = coders.encoder
        self._underway = self._encoder.underway
        self.compression = self._encoder.compression
        self._transport: asyncio.Transport | None = None
        self._outstanding: deque[tuple[int, OutgoingBatch]] = deque()  # not consumed: sum of costs up to it, batch
        self._pauses = Pauses(coders, self.waits, owner.worker, self._send_rest, self._ship_whole)
        self._packing = Packing(owner.pump)
        self.delivery = Delivery(
            owner,
            stream,
            coders.decoder,
            self.waits,
            self._traffic,
            self._blaming,
            answered=self._pauses.answered,
            ended=self._finish_if_done,
        )
        self._allowance = 0  # plain bytes that may be read
        self._lent = 0  # bytes of the buffer for the read under way
        self._ended_here = False  # our array has ended its side
        self.closed = False
        self.when_closed: Callable[[Relay], None] = _nobody
        """Called once, with this relay; to be set at once where it matters."""
        self._parting = Parting()
        self._leaving: Leaving | None = None
        self.in_order = False
        """Both arrays have ended their sides, and nothing is left to be sent to either site."""

    @property
    def share(self) -> str:
        """The name of its share, by which it is accounted for: "forward replication", "export array"."""
        return f"{'forward' if self.opener else 'export'} {self.name}"

    @property
    def traffic(self) -> Traffic:
        """What has passed so far, up to date."""
        self.coders.note(self._traffic)
        return self._traffic

    # -- the array's socket ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's are not its subclasses
        if self.closed:
            reset_transport(transport)
            return
        self._transport = transport
        transport.set_write_buffer_limits(_WRITE_HIGH, _WRITE_LOW)
        if not self.opener:
            self._owner.streams.accept(self.stream)
        self._renew_allowance()
        self.delivery.begin(transport)
        self._owner.pump()

    def get_buffer(self, sizehint: int) -> memoryview:
        buffer = self._encoder.buffer(max(1, self._allowance))
        self._lent = len(buffer)
        return buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.closed:
            return
        self.waits.outward(_CPU)
        self._traffic.raw += nbytes
        self._allowance -= nbytes
        more = nbytes == self._lent
        self._pauses.received(nbytes, full=more)
        try:
            self._encoder.received(nbytes)
            if self._encoder.ready:
                self._ship(bulk=True)
                self._pauses.shipped()
                self.coders.look_ahead(self._owner.worker)
            self._pauses.consider()
        except Exception as error:
            self._blaming.defect(error)
            return
        if self._allowance < _ALLOWANCE_MIN:
            self._rest_if_needed()
        if self._owner.turns.spend(self, nbytes, more=more) and not (self.waits.resting or self.closed):
            self._await_turn(more=more)

    def eof_received(self) -> bool:
        """The array has ended its side; ours stays open."""
        if not self.closed and not self._ended_here:
            with self._blaming:
                self._ended_here = True
                self._encoder.finish()
                self._ship()
                self._owner.streams.send_end(self.stream, *self._encoder.ending())
                self.waits.outward(_SOURCE)
                self._finish_if_done()
                self._owner.pump()
        return True

    def pause_writing(self) -> None:
        self.delivery.pause()

    def resume_writing(self) -> None:
        self.delivery.resume()
        self._owner.pump()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._leaving is not None:
            self._leaving.lost(exc)
        self._transport = None
        self._owner.left(self)
        self.array_lost(exc)

    def array_lost(self, error: Exception | None = None) -> None:
        """The array's connection is no more; `error` None: it was reset."""
        if error is None or (isinstance(error, OSError) and error.errno in _RESET):
            reason = "the array reset its connection"
        else:
            reason = f"the array's connection failed: {in_words(error)}"
        self.close(ResetCode.ORIGIN_RESET, reason)

    # -- the tunnel --------------------------------------------------------------------------------------------

    def missed(self, names: tuple[bytes, ...]) -> None:
        """The peer lacks chunks or runs that we referred to. Raises PeerError if we did not."""
        for name in names:
            if not self._underway.missed(name):
                raise PeerError(f"MISS on stream {self.stream}", f"chunk {name.hex()[:16]} was not referred to")
        if chunks := sum(self.listed(name) is None for name in names):
            reliability = self._owner.holdings.reliability
            reliability.missed(chunks, self._loop.time())
            self._owner.streams.trust(reliability.proven)
        self._owner.fills.add(self, names)

    def listed(self, name: bytes) -> bytes | None:
        """The list of the run of that name, if the run is on its way to the peer; else None."""
        return self._underway.runs.listed(name)

    def fill(self, name: bytes, data: bytes) -> None:
        """Send a chunk that the peer has missed, or a run's list. Empty `data`: our store no longer has it."""
        self._traffic.fills += 1
        if not data:
            self._owner.holdings.reliability.gone(self._loop.time())
        self._owner.streams.send_fill(self.stream, name, data)

    def loading(self, loading: bool) -> None:
        """A chunk that the peer has missed is being read from our disk, or no longer."""
        self.waits.load(loading)

    def arrived(self) -> None:
        """Some of what was sent was acknowledged."""
        self.waits.look()
        self._owner.fills.arrived(self)

    def consumed(self, cost: int) -> None:
        """The far array has taken everything up to that sum of costs."""
        with self._blaming:
            while self._outstanding and self._outstanding[0][0] <= cost:
                batch = self._outstanding.popleft()[1]
                self._underway.delivered(batch)
                self.waits.taken += batch.plain
            self._owner.streams.trust(self._owner.holdings.reliability.proven)
            self._finish_if_done()

    def recalled(self, consumed: int, limit: int) -> None:
        """The peer asks for unused credit back: give it back, unless bytes that were read from the array need it."""
        pending, _ = self._encoder.pending
        if pending or self._ended_here or self.closed:
            return
        self._owner.streams.waive(self.stream, consumed, limit)
        self._rest_if_needed()  # the allowance was reckoned with that credit

    def writable(self) -> None:
        """There may be room to send again: read the array, or go on resting."""
        if self.closed or not self.waits.resting or self._transport is None:
            return
        self._renew_allowance()
        if self._allowance >= _ALLOWANCE_MIN:
            self._transport.resume_reading()
            self.waits.resume()
            self._pauses.resume()
        else:
            self._await_room()

    def sample(self) -> None:
        """Once a second: look at what no event tells."""
        if self._transport is None:
            return
        self.coders.sample(self._traffic.raw)
        if self._leaving is not None:
            self._leaving.sample(self._loop.time())
        elif self.waits.resting or self._ended_here:
            self._look_at(socket_of(self._transport))

    def _look_at(self, connection: socket.socket) -> None:
        """The socket is not read: ask it whether the array has reset its connection, or ended its side."""
        error = reset_error(connection)
        lost = was_reset = error != 0
        if self._ended_here or self._parting.begun or error == errno.EPIPE or has_ended(connection):
            under_way = not self._ended_here or bool(self._outstanding)
            lost = self._parting.sample(connection, self._loop.time(), under_way=under_way, was_reset=was_reset)
        if lost:
            self.array_lost()

    def close(self, code: ResetCode, reason: str, *, tell: bool = True) -> None:
        """End both directions at once. `tell`: the peer is to be told."""
        if self.closed:
            return
        self._release(reason)
        if self._transport is not None:
            reset_transport(self._transport)
        if tell:
            self._owner.streams.reset(self.stream, code, reason)
        self._owner.gone(self)
        self._owner.pump()

    def _release(self, reason: str) -> None:
        """The stream ends, in whatever way: do nothing more, hold nothing of the peer's, and unpin what was sent."""
        self.closed = True
        self.reason = reason
        self._pauses.close()
        self.delivery.close()
        self._packing.close()
        for _, batch in self._outstanding:
            self._underway.abandon(batch)
        self._outstanding.clear()
        self.coders.close()
        self.when_closed(self)

    # -- outward -----------------------------------------------------------------------------------------------

    def _renew_allowance(self) -> None:
        encoder, streams = self._encoder, self._owner.streams
        frame = int(self._owner.grain / max(self.compression.ratio, _RATIO_MIN))  # literal bytes will be compressed
        grain = min(frame, streams.grain(self.stream))
        pending, known = encoder.pending
        encoder.grain, allowance = grain_and_allowance(streams.sendable(self.stream, known), pending - known, grain)
        self._allowance = encoder.affordable(allowance)

    def _send_rest(self, *, patient: bool = False) -> None:
        """Implements `SendRest`."""
        with self._blaming:
            self._encoder.flush(patient=patient)
            self._ship()
            self.waits.outward(_SOURCE)
            if not self.waits.resting:
                return
            if self._owner.worker.congested:
                self._owner.worker.when_relieved(self.writable)
            elif self._owner.streams.credit_due(self.stream):
                self._await_room()
            else:
                self.writable()  # known data has cost less than was reckoned with

    def _ship_whole(self) -> None:
        """Send the chunks that are whole, even if they do not fill a batch."""
        if not self.closed:
            with self._blaming:
                self._ship()

    def _ship(self, *, bulk: bool = False) -> None:
        """Send all batches that there are. `bulk`: others will follow, so short ones may wait for them (`Packing`)."""
        length = 0
        while (batch := self._encoder.take()) is not None:
            length += HEADER_BYTES + self._send(batch)
        if not length:
            self._packing.hurry()
            return
        if bulk:
            self._packing.add(length)
        else:
            self._packing.go()
        self._renew_allowance()
        if self._owner.worker.kick():
            self._rest_if_needed()

    def _send(self, batch: OutgoingBatch) -> int:
        """Queue a batch in the tunnel; returns its length in bytes."""
        cost = self._owner.streams.send_data(self.stream, batch.data, batch.plain)
        length, batch.data = len(batch.data), b""  # the tunnel keeps it as long as need be
        self._outstanding.append((cost, batch))
        traffic = self._traffic
        traffic.literal += batch.literal
        traffic.after_deduplication += batch.after_deduplication
        traffic.after_compression += length
        traffic.references += batch.references
        return length

    def _rest_if_needed(self) -> None:
        """Stop reading while the tunnel has no credit for more, or the disk lags."""
        if self.waits.resting or self._pauses.awaiting_turn or self._ended_here or self._transport is None:
            return
        self._renew_allowance()
        if self._owner.worker.congested:
            self._rest()
            self._owner.worker.when_relieved(self.writable)
        elif self._allowance < _ALLOWANCE_MIN:
            self._owner.streams.await_room(self.stream)
            self._rest()

    def _rest(self) -> None:
        assert self._transport is not None
        self._transport.pause_reading()
        self._packing.hurry()
        self.waits.rest()
        self._pauses.rest()

    def _await_turn(self, *, more: bool) -> None:
        """Stop reading while others have their turn; `more`: there is more to read."""
        assert self._transport is not None
        self._transport.pause_reading()
        self.waits.outward(_CPU)
        self._pauses.await_turn(more=more)
        self._owner.turns.wait(self, self._take_turn)

    def _take_turn(self) -> None:
        if self.closed or self._transport is None:
            return
        self._transport.resume_reading()
        self._pauses.resume()
        self._rest_if_needed()

    def _await_room(self) -> None:
        """Go on resting, perhaps for another reason than before."""
        self._owner.streams.await_room(self.stream)
        self.waits.rest()

    # -- both ----------------------------------------------------------------------------------------------------

    def _finish_if_done(self) -> None:
        """Close the socket without a reset if both directions have ended and the peer has consumed all that was sent,
        so that it can ask for nothing any more. This does not `pump`: frames for the peer go when the caller, or the
        handler of the event, pumps anyway."""
        if not (self._ended_here and self.delivery.over) or self._outstanding or self.closed:
            return
        self.in_order = True
        self._release("both arrays ended it")
        if self._transport is not None:
            self._leaving = Leaving(self._transport, self._loop.time())
        self._owner.gone(self)
