"""Ends an array's connection: by FIN only where everything has been carried across, otherwise by RST."""

import asyncio
import logging
import socket
import struct

from proxy.net.listener import name_of
from proxy.net.sockets import spare_questions
from proxy.observe.watch import STANDSTILL

log = logging.getLogger(__name__)

_LINGER_RESET = struct.pack("ii", 1, 0)
_LINGER_NOT = struct.pack("ii", 0, 0)


def reset_connection(connection: socket.socket) -> None:
    """Have a TCP connection end by RST when it is closed; a FIN would say that all bytes have come."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)


def end_connection(connection: socket.socket) -> None:
    """Have a TCP connection end by FIN again: undo `reset_connection`."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)


def socket_of(transport: asyncio.Transport) -> socket.socket:
    """The transport's socket."""
    found: socket.socket = transport.get_extra_info("socket")
    return found


def reset_transport(transport: asyncio.Transport) -> None:
    """End the transport's connection by RST, now."""
    reset_connection(socket_of(transport))
    transport.abort()


LEAVE_SECONDS = 120.0
"""How long an array may take for the last bytes of a stream that has ended; then its connection is reset."""


class _Countdown:
    """Counts `LEAVE_SECONDS` down. Of the time between two samples at most `STANDSTILL` counts: while this site was
    stopped an array could take nothing."""

    def __init__(self, now: float) -> None:
        self.left = LEAVE_SECONDS
        self._sampled = now

    def sample(self, now: float) -> None:
        """To be called once a second."""
        self.left -= min(now - self._sampled, STANDSTILL)
        self._sampled = now


class Parting:
    """Decides when TCP keepalive may ask an array that has ended its side, while its stream goes on, if it is there.

    If the array has closed for good, its kernel forgets the connection after a minute (Linux, tcp_fin_timeout) and
    answers keepalive by RST, which ends the stream. Bytes of the array that take longer than that to be delivered, to a
    slow far array or through an outage, would be lost. So the array is not asked while any of its bytes are under way,
    nor for `LEAVE_SECONDS` more, in which the far array may be taking the last of them. Then it is asked again, or a
    far array that never ends its side would keep the connection for ever. A reset that comes while bytes are under way
    does not end the stream before that time either: it may come unasked, if this site was stopped, or as the answer to
    the far array's own end.

    Loop thread.
    """

    def __init__(self) -> None:
        self._countdown: _Countdown | None = None
        self._spared = False
        self._reset = False

    @property
    def begun(self) -> bool:
        """True if the array is known to have ended its side."""
        return self._countdown is not None

    def sample(self, connection: socket.socket, now: float, *, under_way: bool, was_reset: bool) -> bool:
        """To be called once a second. True if the stream is to end because the array has reset its connection.

        `under_way`: the far array has not been given all that this array has sent; `was_reset`: this array has reset
        its connection since the last call.
        """
        self._reset = self._reset or was_reset
        countdown = self._countdown
        if countdown is None or under_way:  # a reset may have come with the end, while this site was stopped
            self._countdown = countdown = _Countdown(now)
        elif was_reset:
            countdown.left = 0.0
        else:
            countdown.sample(now)
        if self._spared != (spared := countdown.left > 0):
            self._spared = spared
            spare_questions(connection, spared=spared)
        return self._reset and not spared


class Leaving:
    """An array's connection after its stream has ended in order: the array gets what it has not taken yet, then FIN.

    An array that takes too long gets RST, since what is dropped then must not look like an orderly end. Loop thread.
    """

    def __init__(self, transport: asyncio.Transport, now: float) -> None:
        """`now`: seconds, monotonic."""
        self._transport = transport
        self._countdown = _Countdown(now)
        self._whole = True
        transport.close()

    def sample(self, now: float) -> None:
        """To be called once a second."""
        self._countdown.sample(now)
        if self._whole and self._countdown.left < 0:
            self._whole = False
            array = name_of(self._transport.get_extra_info("peername"))
            log.warning("array %s did not take the last bytes in %.0f s and is reset", array, LEAVE_SECONDS)
            reset_transport(self._transport)

    def lost(self, error: Exception | None) -> None:
        """The transport is about to close the connection: by FIN if the array was given everything."""
        if self._whole and error is None:
            end_connection(socket_of(self._transport))
