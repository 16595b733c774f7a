"""Streams that wait for room: told once, with `Writable`, when there is more than there was when they began to wait."""

from collections import deque
from collections.abc import Mapping

from proxy.protocol.events import Event, Writable
from proxy.protocol.outgoing import QUEUE_LOW, ROOM_WORTH, SendLedger
from proxy.protocol.stream import Stream


class Awaiting:
    """Of one tunnel. Room is `Stream.room`: plain bytes that may be sent."""

    def __init__(self, ledger: SendLedger, live: Mapping[int, Stream], events: deque[Event]) -> None:
        """`ledger`: what all streams hold; `events`: where `Writable` is appended."""
        self._ledger = ledger
        self._live = live
        self._events = events
        self._crowded = False  # a stream may wait because of what all of them hold

    def begin(self, stream: Stream) -> None:
        """The stream waits for more room than it has now."""
        stream.awaits_room = True
        stream.told = stream.room
        self._crowded = self._crowded or self._ledger.crowded

    def sent(self, stream: Stream) -> None:
        """More of it has been queued: so it waits for more than it has left."""
        if stream.awaits_room:
            stream.told = min(stream.told, stream.room)

    def look(self, stream: Stream) -> None:
        """Its room may have changed: while lanes are busy it is told of much more only."""
        if not stream.awaits_room:
            return
        room, queued = stream.room, stream.outgoing.queued
        if room > stream.told and (not queued or (room >= ROOM_WORTH and queued <= QUEUE_LOW)):
            stream.awaits_room = False
            self._events.append(Writable(stream.number))
        else:
            self._crowded = self._crowded or self._ledger.crowded

    def look_at_all(self) -> None:
        """Everybody's room may have changed."""
        for stream in self._live.values():
            self.look(stream)

    def released(self) -> None:
        """All streams together hold less: who waited for that may go on."""
        if self._crowded:
            self._crowded = False
            self.look_at_all()
