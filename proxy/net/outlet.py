"""How much of what is to be sent the kernel is given: little, so that what is urgent does not queue behind bulk.

The kernel's send buffer grows to megabytes, seconds of a slow line. TCP_NOTSENT_LOWAT (Linux, tcp(7)) says from how
little unsent data on a socket counts as writable; it does not refuse more, so it is asked before each write.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable

from proxy.net.tcpinfo import PAUSED, sending

SECONDS = 0.008
"""What may wait in the kernel: enough for the event loop to be late, not enough to be felt."""
SECONDS_APART = 0.03
"""The same on a lane beside the one for what is urgent, while the loop compresses, or where the line is fast."""
LEAST = 8 << 10
MOST = 512 << 10
MOST_APART = 4 << 20
PLENTY = 1 << 20
_PLENTY_SECONDS = 0.06
_SEEKING = 2.0
"""Times the rate at which bytes arrive: whoever sends so fast, or faster, seeks."""
_GROWTH = 1.25
_SETTLED = 0.6
"""Seconds without growth after which the rate is what the line takes."""
_UNKNOWN = 64 << 10
"""Bytes, before the kernel has measured a rate."""
_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)


class Portion:
    """How many bytes the kernel may hold unsent. Where it counts on BBR, which begins by seeking what the line takes.

    BBR sends at nearly three times the rate at which bytes arrive until that has stayed the same for three round trips
    (Linux, tcp_bbr.c). Those in which it ran dry do not count. So it is kept short while the rate grows: lost packets
    can hold it up for as long, and it would be content with a part of the line. Afterwards it is given plenty: it would
    go on seeking, and lose a fifth of what it sends in the line's queue. But for a pause of BBR: what was given then
    goes all at once when it is over, and where a cap keeps BBR seeking for ever, beyond the cap.

    Fast is a line that has taken `MOST` in `SECONDS`. To fill it the loop works hard, and is late by as much now and
    then; each time the line stands still, and the whole round trip does not count for BBR that seeks. So by what BBR
    sends, not by what arrives: that is next to nothing for a round trip when the queue has overflowed.
    """

    def __init__(self) -> None:
        self.apart = False
        """What is urgent goes by another lane."""
        self.late = False
        """The loop may come late."""
        self._rate = 0.0
        self._since = 0.0

    def fitting(self, rate: int, pace: int, now: float, *, pauses: bool = False) -> int:
        """Bytes arrive at `rate`, and the kernel sends them at `pace`, both a second. `pauses`: it sends hardly any."""
        if rate > _GROWTH * self._rate:
            self._rate, self._since = rate, now
        settled = now - self._since > _SETTLED
        if self.apart and settled and self._rate * SECONDS >= MOST and not pauses:
            return min(MOST_APART, max(LEAST, int(pace * SECONDS_APART)))
        late = self.apart and self.late and settled
        little = min(MOST, max(LEAST, int(rate * (SECONDS_APART if late else SECONDS))))
        if settled and little < MOST and pace >= _SEEKING * rate and not pauses:
            return min(PLENTY, max(LEAST, int(pace * _PLENTY_SECONDS)))
        return little


class Outlet:
    """Loop thread. Watches a connection that a transport owns, by a descriptor of its own; to be closed with it."""

    def __init__(self, connection: socket.socket, on_room: Callable[[], None]) -> None:
        """`on_room` is called when `room` has said no and that has changed."""
        self._socket = connection.dup()
        self._on_room = on_room
        self._loop = asyncio.get_running_loop()
        self.portion = Portion()
        self.size = 0
        """Bytes that the kernel may hold unsent."""
        self._left = 0  # of these, when the kernel was last asked, but for what was written since
        self.watching = False
        """`room` has said no, and that has not changed."""
        self._resize(_UNKNOWN)

    def wrote(self, n: int) -> None:
        """So many bytes were given to the transport, which has handed to the kernel what that takes."""
        self._left -= n

    def room(self, buffered: int) -> int:
        """Bytes that may be written now; 0 if it is better to wait. `buffered`: what the transport says it holds."""
        if self.watching:
            return 0
        if self._left < self.size // 2:  # it is not asked about each small frame on an idle line
            self._ask(buffered)
        if self._left > self.size // 4:
            return self._left
        self.watching = True
        self._loop.add_writer(self._socket.fileno(), self._writable)
        return 0

    def _ask(self, buffered: int) -> None:
        unsent, rate, pace, window = sending(self._socket)
        if rate:
            self._resize(self.portion.fitting(rate, pace, self._loop.time(), pauses=window <= PAUSED))
        self._left = self.size - unsent - buffered

    def close(self) -> None:
        """Watch no more."""
        self._stop()
        self._socket.close()

    def _writable(self) -> None:
        self._stop()
        self._on_room()

    def _stop(self) -> None:
        if self.watching:
            self.watching = False
            self._loop.remove_writer(self._socket.fileno())

    def _resize(self, size: int) -> None:
        """Rates waver: the kernel is told of changes that matter."""
        if not self.size * 3 // 4 < size < self.size * 4 // 3:
            self.size = size
            with contextlib.suppress(OSError):  # the connection has ended; its transport will say so
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, size)
