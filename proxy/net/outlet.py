"""Limits how much unsent data of a lane the kernel is given, so that urgent frames do not queue behind bulk.

The kernel's send buffer grows to megabytes, seconds of a slow line. With TCP_NOTSENT_LOWAT (Linux, tcp(7)) a socket
counts as writable only while it holds less unsent data than that. But a write may give it more, so `Outlet` asks the
kernel how much it holds, and counts what is written.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable

from proxy.net.tcpinfo import PAUSED, Sending, sending

SECONDS = 0.008
"""What may wait unsent in the kernel, in seconds of the line's rate: enough that the line does not run dry when the
event loop is late, too little to be noticed."""
SECONDS_APART = 0.03
"""The same for a lane when urgent frames go by another one, while the loop compresses or where the line is fast."""
LEAST = 8 << 10
MOST = 512 << 10
MOST_APART = 4 << 20
"""Bounds of what may wait, in bytes; `MOST_APART` instead of `MOST` where the line is fast."""
PLENTY = 1 << 20
_PLENTY_SECONDS = 0.06
"""What may wait while BBR seeks the line's rate and is trusted with it: bytes at most, and seconds of its pace."""
_SEEKING = 2.0
"""BBR counts as seeking the line's rate while it sends at so many times the rate at which bytes arrive, or more."""
_GROWTH = 1.25
_SETTLED = 0.6
"""After so many seconds without growth by the factor `_GROWTH`, the rate counts as what the line takes."""
_QUEUED = 1.4
"""A round trip of so many times the least one, or more, is spent in the line's queue: the line takes no more."""
_OVERFLOWS = 0.1
"""So does a line that loses this part of the packets, or more: its queue is too short to make round trips longer."""
_UNKNOWN = 64 << 10
"""Bytes, before the kernel has measured a rate."""
_TCP_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)


class Portion:
    """How many bytes the kernel may hold unsent: a few milliseconds of what the line takes, with two exceptions.

    Plenty, while BBR seeks and is right to end that. BBR begins by seeking the line's rate: it sends at nearly three
    times the rate at which bytes arrive until that rate has stayed the same for three round trips, and round trips in
    which BBR ran out of data do not count (Linux, tcp_bbr.c). A few lost packets can hold the rate up for so long,
    after which BBR would be content with a part of the line. So from the first one on BBR is kept short, until the line
    is full, or the rate has not grown for long. Then it is given plenty again, or it would go on seeking, and lose
    a fifth of what it sends in the line's queue. But it is not given plenty during its pauses: all of that would be
    sent at once after the pause, and would exceed a cap, under which BBR seeks for ever.

    More, on a fast line: one that has taken `MOST` in `SECONDS`. To fill it the loop works hard, and is now and then
    late by `SECONDS`; each time the line runs dry, and BBR that seeks does not count that whole round trip. This amount
    follows the rate at which BBR sends. The rate at which bytes arrive is next to nothing for a round trip after the
    queue overflowed.
    """

    def __init__(self) -> None:
        self.apart = False
        """Urgent frames go by another lane."""
        self.late = False
        """The loop may come late."""
        self._rate = 0.0  # bytes a second, from which growth is measured
        self._since = 0.0  # when that rate last grew

    def fitting(self, flow: Sending, now: float) -> int:
        """The limit in bytes, if the connection sends like that."""
        rate, pace, pauses = flow.rate, flow.pace, flow.window <= PAUSED
        if rate > _GROWTH * self._rate:
            self._rate, self._since = rate, now
        settled = now - self._since > _SETTLED
        if self.apart and settled and self._rate * SECONDS >= MOST and not pauses:
            return min(MOST_APART, max(LEAST, int(pace * SECONDS_APART)))
        late = self.apart and self.late and settled
        little = min(MOST, max(LEAST, int(rate * (SECONDS_APART if late else SECONDS))))
        if little < MOST and pace >= _SEEKING * rate and not pauses and (settled or _finds_right(flow)):
            return min(PLENTY, max(LEAST, int(pace * _PLENTY_SECONDS)))
        return little


def _finds_right(flow: Sending) -> bool:
    """True if BBR is right if it finds that the rate grows no more: no loss has held it up, or the line is full."""
    full = flow.round_trip >= _QUEUED * flow.least_round_trip or flow.repeated >= _OVERFLOWS * flow.packets
    return full or not flow.repeated


class Outlet:
    """Says how much may be written to a connection that a transport owns, and watches it until more may be written.

    It watches by a descriptor of its own, so it has to be closed with the connection. Loop thread.
    """

    def __init__(self, connection: socket.socket, on_room: Callable[[], None]) -> None:
        """`on_room` is called when there is room after `room` has said 0."""
        self._socket = connection.dup()
        self._on_room = on_room
        self._loop = asyncio.get_running_loop()
        self.portion = Portion()
        self.size = 0
        """Bytes that the kernel may hold unsent."""
        self._left = 0  # bytes that the kernel may still be given: when it was last asked, less what was written since
        self.watching = False
        """`room` has said 0, and that has not changed."""
        self._began = self._told = self._loop.time()  # when watching began, and when `held` was last asked
        self._watched = 0.0  # seconds of watching since then
        self._resize(_UNKNOWN)

    def wrote(self, n: int) -> None:
        """`n` bytes were given to the transport, which has handed to the kernel as much as the kernel takes."""
        self._left -= n

    def room(self, buffered: int) -> int:
        """Bytes that may be written now; 0 if it is better to wait. `buffered`: what the transport says it holds."""
        if self.watching:
            return 0
        if self._left < self.size // 2:  # on an idle line the kernel need not be asked before each small frame
            self._ask(buffered)
        if self._left > self.size // 4:
            return self._left
        self.watching = True
        self._began = self._loop.time()
        self._loop.add_writer(self._socket.fileno(), self._writable)
        return 0

    def _ask(self, buffered: int) -> None:
        flow = sending(self._socket)
        if flow.rate:
            self._resize(self.portion.fitting(flow, self._loop.time()))
        self._left = self.size - flow.unsent - buffered

    def held(self, now: float) -> bool:
        """True if for half of the time since the last call, or more, there was no room."""
        if self.watching:
            self._count(now)
        held = self._watched >= (now - self._told) / 2
        self._told, self._watched = now, 0.0
        return held

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
            self._count(self._loop.time())
            self._loop.remove_writer(self._socket.fileno())

    def _count(self, now: float) -> None:
        self._watched += now - self._began
        self._began = now

    def _resize(self, size: int) -> None:
        """Change `size`, here and in the kernel, but only if the change matters: rates waver."""
        if not self.size * 3 // 4 < size < self.size * 4 // 3:
            self.size = size
            with contextlib.suppress(OSError):  # the connection has ended; its transport will say so
                self._socket.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, size)
