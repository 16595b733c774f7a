"""A lane: one TLS connection of a tunnel, from its first byte to its last."""

import asyncio
import socket
from itertools import chain, groupby
from typing import Protocol, cast

from proxy.bounded_tls import Idle
from proxy.net.handshake import explain, is_refusal
from proxy.net.listener import name_of
from proxy.net.outlet import Outlet
from proxy.net.rounds import Rounds
from proxy.net.sockets import BBR, choose_congestion_control, mark_packets
from proxy.net.tcpinfo import TcpInfo, has_ended, tcp_info
from proxy.net.unpaused import Unpaused
from proxy.protocol.codes import CloseCode, FrameType
from proxy.protocol.errors import HelloRefused, PeerError
from proxy.protocol.frames import decode_close, encode_close
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, FrameReader, encode, expect_of_tunnel

HELLO_TIMEOUT = 10.0
"""Seconds from the connection to a whole HELLO (PROTOCOL.md, "Lanes")."""

NEARLY = 0.8
"""Part of HELLO_TIMEOUT after which a lane that ends without HELLO counts as unanswered: the other side's limit may
have been over a little earlier than ours."""
READ_OVER = 1024
"""Frames that are skipped after we have said CLOSE, at most: as many as a lane may well have under way. A peer may have
filled all its lanes with tiny frames: skipping all that come in the second that a lane has left would take seconds."""
GRAIN_MIN = 16 << 10
"""Bytes: shorter batches compress badly."""
_UNWANTED = CloseCode.NOT_A_PEER, CloseCode.WRONG_NAME, CloseCode.VERSION, CloseCode.SETTINGS
_LEFT = "the other side closed the connection"
_BARRED = "lately its TLS has brought too much that is no data; it is let in again a minute after that"
_WRITE_HIGH = 512 << 10
_WRITE_LOW = 128 << 10
"""Bytes that the transport may hold for the kernel. Only a second bound: `outlet` lets it have less than that."""
LONG = 32 << 10
"""Bytes from which on a piece is given to TLS by itself."""


class LaneOwner(Protocol):
    """A lane's owner: its peer, or the door while it is not known to which peer an accepted lane belongs."""

    def hello(self, lane: "Lane", hello: Hello) -> None:
        """The other side's HELLO has come. Raises HelloRefused."""

    def lost(self, lane: "Lane", reason: str) -> None:
        """The lane is gone; called once, and only if TLS had come up."""

    @property
    def congestion_control(self) -> str:
        """What lanes that come up are to use, as for `Lane.congest`."""

    def bars(self, lane: "Lane") -> bool:
        """Whether the lane's other side is not let in for now. Asked when TLS has come up, before anything is read."""

    def flooded(self, lane: "Lane", reason: str) -> None:
        """The lane's TLS brought too much that is no data: bar its other side for a while."""


class LanePeer(Protocol):
    """The peer of a lane that is up."""

    def frame(self, lane: "Lane", frame: Frame) -> None:
        """A frame has come after HELLO; its payload is valid during the call. Raises PeerError."""

    def burst(self, lane: "Lane") -> None:
        """`frame` has been called for what one read has brought, or for as much of it as there was time for."""

    def heard(self, lane: "Lane") -> None:
        """Bytes have come, but `frame` was not called: no frame is whole yet, or there was no time."""

    def writable(self, lane: "Lane") -> None:
        """The lane takes data again."""

    def breach(self, reason: str) -> None:
        """The other side broke the protocol: end the tunnel."""


class Lane(asyncio.BufferedProtocol):
    """One TLS connection. The owner decides; the lane moves bytes and keeps the time limit of HELLO. Loop thread."""

    _counter = 0
    _peer: LanePeer
    """Known as soon as the lane is up."""
    _reader: FrameReader
    _rounds: Rounds
    _outlet: Outlet
    _unpaused: Unpaused
    _timer: asyncio.TimerHandle
    """These five exist only while `_transport` does: until TLS is up a connection should cost nothing."""
    _patience = READ_OVER
    """Frames that may still be skipped after CLOSE."""
    _asked = 0.0
    """When `get_buffer` was called, by the clock of the rounds: what comes between that and `buffer_updated` is TLS."""
    _waiting = False
    """The lane waits for its next round; nothing is read meanwhile."""
    certificate: tuple[bytes, dict[str, object]] = b"", {}
    """The other end's, verified: DER, and as `getpeercert` decodes it. Kept, as TLS that has ended no longer tells it.
    """

    def __init__(self, owner: LaneOwner, *, dialler: bool) -> None:
        """`dialler`: this side dialled."""
        self.congestion_control = ""
        """The congestion control that the kernel uses."""
        self.number = 0
        """Given when it comes up, so that those seen follow one another however often a peer that is away is dialled.
        """
        self.began = asyncio.get_running_loop().time()
        """When the connection was accepted; if this side dials, when it began to."""
        self.owner = owner
        self.dialler = dialler
        self.remote = "unknown"
        """The other end's address, for logs."""
        self.up = False
        self.said: Hello | None = None
        """The HELLO that was sent on this lane."""
        self.settled = asyncio.Event()
        """Set when the lane is up, or gone."""
        self.disconnected = asyncio.Event()
        """Set when the connection is closed: nothing waits to be sent on it any more."""
        self.mark = 0
        """DSCP of its packets."""
        self.needless = False
        """The lane ends because it is not needed, which is no failure."""
        self.short = False
        """The lane's packets are kept short (`sockets.shorten_segments`)."""
        self.unwanted = False
        """One side refused the other for what that is or says, so the other side runs, and does not end."""
        self.late = False
        """The lane ended because no HELLO came in time."""
        self.silent = False
        """The tunnel suspects the lane to be dead (`LaneSilent`), and nothing was heard on it since."""
        self.reason = ""
        """Why the lane ends, if we know before the connection does."""
        self._transport: asyncio.Transport | None = None
        self._can_write = True
        self._connected_at = 0.0
        self._lost = False
        self._left = False  # the other side had ended the connection when `look` was called
        self._last_info = TcpInfo()

    @property
    def connected(self) -> bool:
        """TLS is up, and the connection has not ended."""
        return self._transport is not None and not self._lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast(asyncio.Transport, transport)  # uvloop's are not its subclasses
        loop = asyncio.get_running_loop()
        self._connected_at = loop.time()
        self._timer = loop.call_later(HELLO_TIMEOUT, self._late)
        self.remote = name_of(transport.get_extra_info("peername"))
        tls = transport.get_extra_info("ssl_object")
        self.certificate = tls.getpeercert(binary_form=True), tls.getpeercert()
        connection: socket.socket = transport.get_extra_info("socket")
        self._outlet = Outlet(connection, self._room_again)
        self.congestion_control = choose_congestion_control(connection, self.owner.congestion_control)
        self._reader = FrameReader()
        self._rounds = Rounds()
        self._unpaused = Unpaused(connection, self._connected_at)
        transport.set_write_buffer_limits(_WRITE_HIGH, _WRITE_LOW)
        self._transport = transport  # last: what precedes raises for want of a descriptor
        if self.owner.bars(self):
            self.abort(_BARRED)

    def get_buffer(self, sizehint: int) -> memoryview:
        self._asked = self._rounds.now
        return self._reader.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.received(nbytes)
        with self._rounds:
            self._rounds.count_from(self._asked)  # with what TLS has taken: a record may have one byte
            if self._lost:
                self._read_over()
            else:
                self._give_frames()

    def _give_frames(self) -> None:
        reader, rounds, given = self._reader, self._rounds, False
        try:
            while not (self._lost or self._waiting):
                if rounds.over or rounds is not self._rounds:  # HELLO has come: from now on the peer's rounds count
                    self._await_round()
                elif (frame := reader.next_frame()) is not None:
                    self._give(frame)
                    given = True
                else:
                    break
        except PeerError as error:
            self._blame(str(error))
        except HelloRefused as refused:
            self.close(refused.code, refused.reason)
        if self.up and not self._lost:
            if given:
                self._peer.burst(self)
            else:
                self._peer.heard(self)

    def _read_over(self) -> None:
        """We have said CLOSE and wait for the other side to end the connection: drop what it still sends.

        But if it has said CLOSE as well, it waits for us to end the connection: do so.
        """
        assert self._transport is not None
        try:
            while self._patience and (frame := self._reader.next_frame()) is not None:
                self._patience -= 1
                if frame.type == FrameType.CLOSE:
                    self._transport.abort()
        except PeerError:
            self._patience = 0
        if not self._patience:
            self._transport.pause_reading()

    def _await_round(self) -> None:
        """The peer's time in this round of the loop is used up, perhaps by other lanes: read no more until the next."""
        assert self._transport is not None
        self._waiting = True
        self._transport.pause_reading()
        self._rounds.wait(self._go_on)

    def _go_on(self) -> None:
        self._waiting = False
        if self._transport is None or self._lost:
            return
        try:
            with self._rounds:
                self._give_frames()
        except Exception as error:  # in `buffer_updated` the transport would do the same
            self.abort(f"a defect: {type(error).__name__}")
            raise
        if not (self._waiting or self._lost):
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._can_write = False

    def resume_writing(self) -> None:
        self._can_write = True
        self._room_again()

    @property
    def grain(self) -> int:
        """Bytes that a frame should have at most: half of what the kernel is given, but enough to compress well."""
        return max(GRAIN_MIN, self._outlet.size // 2) if self._transport is not None else GRAIN_MIN

    def stand_apart(self, apart: bool, *, late: bool) -> None:
        """Tell `Portion`, which decides how much the kernel is given, how this lane is used.

        `apart`: what is urgent goes by another lane; `late`: the loop may come late. Under a ceiling (steadying.py) any
        delay would count.
        """
        if self._transport is not None:
            self._outlet.portion.apart, self._outlet.portion.late = apart, late or self._unpaused.limited

    def room(self) -> int:
        """Bytes that may be written now. After 0, `LanePeer.writable` tells when that has changed."""
        if not self._can_write or self._transport is None or self._transport.is_closing():
            return 0
        return self._outlet.room(self._transport.get_write_buffer_size())

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, Idle):
            self.owner.flooded(self, str(exc))
        self.unwanted = self.unwanted or is_refusal(exc)
        self._end(self.reason or (explain(exc) if exc else _LEFT))
        if self._transport is not None:
            self._outlet.close()
            del self._reader, self._rounds, self._outlet, self._unpaused, self._timer
            self._transport = None  # leave no cycles: many lanes may fail before a collection
        self.disconnected.set()

    def start(self, peer: LanePeer, rounds: Rounds) -> None:
        """HELLOs have been exchanged: frames may flow. `rounds`: the peer's."""
        self.up = True
        Lane._counter += 1
        self.number = Lane._counter
        self._reader.go_on()
        self._peer = peer
        self._rounds = rounds
        self.settled.set()
        self._timer.cancel()

    def write(self, frames: list[bytes]) -> None:
        """Send frames, in order.

        Nothing is written to a transport that is closing: `connection_lost` comes a turn of the loop later, and until
        then uvloop would log each write.
        """
        if self._transport is not None and not (self._lost or self._transport.is_closing()):
            length = sum(map(len, frames))
            self._transport.writelines([b"".join(frames)] if length < LONG else _gather(frames))
            self._outlet.wrote(length)

    def close(self, code: CloseCode, reason: str, *, needless: bool = False) -> None:
        """Send CLOSE with the reason. The other side ends the connection when it reads that; after a second we do.

        `needless`: this is no failure.

        If we ended the connection at once, a peer that is still busy with what came before would lose that, and CLOSE
        with it: its event loop gives up a connection that has ended even while reading from it is paused.
        """
        if self._lost or self._transport is None:
            return
        self.needless = needless
        self.unwanted = code in _UNWANTED
        self.reason = reason
        self.write([encode(FrameType.CLOSE, 0, 0, encode_close(code, reason))])
        transport = self._transport
        self._end(reason)
        if self._waiting:
            transport.resume_reading()  # to see the other side end it
        asyncio.get_running_loop().call_later(1.0, transport.abort)

    def abort(self, reason: str, *, needless: bool = False) -> None:
        """End the connection at once, without CLOSE. `needless`: as in `close`."""
        self.needless = self.needless or needless
        self.reason = reason
        if self._transport is not None:
            self._end(reason)
            self._transport.abort()

    def look(self) -> None:
        """Once a second: end the lane if the other side ended the connection a second ago.

        `connection_lost` tells so only once all that waits has been sent, which may never be where nothing gets through
        to the other side any more; meanwhile uvloop drops what is written. By the second look a lane that reads has
        read what came before.
        """
        connection = self._connection
        if connection is None or self._lost or self._waiting:
            return
        left, self._left = self._left, has_ended(connection)
        if left and self._left:
            self.abort(_LEFT)

    @property
    def _connection(self) -> socket.socket | None:
        """The socket; None before it is connected, and from its end on, even if `connection_lost` is yet to come."""
        found: socket.socket | None = self._transport.get_extra_info("socket") if self._transport else None
        return found

    def tcp_info(self) -> TcpInfo:
        """The kernel's figures of the connection; once that has ended, its last figures."""
        connection = self._connection
        if connection is not None and not self._lost:
            self._last_info = tcp_info(connection) or self._last_info
        return self._last_info

    def unpause(self, now: float, *, light: bool, calm: bool, capped: bool) -> None:
        """Once a second: keep BBR from pausing on this lane (renewing.py, steadying.py), and from forgetting the line.

        `light`: the lane is for what is urgent. `calm`: nothing urgent has gone lately, so a lane for bulk may be
        spared the pauses, too; and so may one that may be under a cap (`capped`).
        """
        if self._transport is None or self._lost or self.congestion_control != BBR:
            return
        unpaused, info = self._unpaused, self.tcp_info()
        held = self._outlet.held(now)
        if light:
            self.congestion_control = unpaused.light(info, now)
        else:
            self.congestion_control = unpaused.bulk(info, now, calm=calm, capped=capped, held=held)

    def congest(self, wanted: str) -> None:
        """Have the kernel use that congestion control from now on, if it has it; empty: whichever it uses."""
        connection = self._connection
        if connection is None or self._lost or wanted in ("", self.congestion_control):
            return
        self._unpaused.end()
        self.congestion_control = choose_congestion_control(connection, wanted)
        self._unpaused = Unpaused(connection, asyncio.get_running_loop().time())

    def carry(self, mark: int) -> None:
        """Have the packets carry that DSCP mark."""
        self.mark = mark
        connection = self._connection
        if mark and connection is not None:
            mark_packets(connection, mark)

    def _room_again(self) -> None:
        if self.up:
            self._peer.writable(self)

    def _give(self, frame: Frame) -> None:
        if self.up:
            self._peer.frame(self, frame)
            return
        expect_of_tunnel(frame)
        if frame.type == FrameType.CLOSE:
            code, reason = decode_close(frame.payload)
            self.unwanted = code in _UNWANTED
            only_looked = code is CloseCode.SURPLUS and not self.dialler  # as `isthmus doctor` does
            self.abort(f"refused by the other side: {reason} ({code.name.lower()})", needless=only_looked)
        else:
            self.owner.hello(self, Hello.decode(frame.payload))

    def _blame(self, reason: str) -> None:
        """The other side broke the protocol: that ends the lane if it is not up yet, otherwise the tunnel."""
        if self.up:
            self._peer.breach(reason)
        else:
            self.close(CloseCode.HANDSHAKE, reason)

    def _late(self) -> None:
        self.close(CloseCode.HANDSHAKE, f"no HELLO within {HELLO_TIMEOUT:.0f} s")

    def _end(self, reason: str) -> None:
        if self._lost:
            return
        self.tcp_info()
        self._lost = True
        waited = asyncio.get_running_loop().time() - self._connected_at
        self.late = not self.settled.is_set() and waited > HELLO_TIMEOUT * NEARLY
        self.up = False
        self.settled.set()
        self._timer.cancel()
        self.owner.lost(self, reason)


def _gather(pieces: list[bytes]) -> list[bytes]:
    """Join short pieces that follow each other, since each piece that TLS is given becomes at least one record. Leave
    long ones as they are: with many streams they have waited and left the caches, and copying them takes half as long
    as encryption."""
    runs = groupby(pieces, lambda piece: len(piece) >= LONG)
    return list(chain.from_iterable(run if long else (b"".join(run),) for long, run in runs))
