"""Streams that wait for room to send. `Writable` tells once when one has more room than when it began to wait."""

from collections import deque
from collections.abc import Mapping

from proxy.protocol.events import Event, Writable
from proxy.protocol.outgoing import QUEUE_LOW, ROOM_WORTH, SendLedger
from proxy.protocol.stream import Stream


class Awaiting:
    """Watches `Stream.room`, the plain bytes that may be sent, of the streams of one tunnel."""

    def __init__(self, ledger: SendLedger, live: Mapping[int, Stream], events: deque[Event]) -> None:
        """`ledger`: what all streams hold; `events`: where `Writable` is appended."""
        self._ledger = ledger
        self._live = live
        self._events = events
        self._crowded = False  # a stream may be waiting because of what all of them hold

    def begin(self, stream: Stream) -> None:
        """The stream waits for more room than it has now."""
        stream.awaits_room = True
        stream.told = stream.room
        self._crowded = self._crowded or self._ledger.crowded

    def sent(self, stream: Stream) -> None:
        """The stream has used some of its room: from now on it waits for more than is left."""
        if stream.awaits_room:
            stream.told = min(stream.told, stream.room)

    def look(self, stream: Stream) -> None:
        """The stream's room may have changed: tell if there is more; while DATA is queued for lanes, if it is much."""
        if not stream.awaits_room:
            return
        room, queued = stream.room, stream.outgoing.queued
        if room > stream.told and (not queued or (room >= ROOM_WORTH and queued <= QUEUE_LOW)):
            stream.awaits_room = False
            self._events.append(Writable(stream.number))
        else:
            self._crowded = self._crowded or self._ledger.crowded

    def look_at_all(self) -> None:
        """The room of all streams may have changed."""
        for stream in self._live.values():
            if stream.awaits_room:  # few of a thousand do, and while the ledger is crowded each ACK passes here
                self.look(stream)

    def released(self) -> None:
        """All streams together hold less: those that waited for that may go on."""
        if self._crowded:
            self._crowded = False
            self.look_at_all()
