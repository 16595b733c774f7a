"""Whose frame goes next: streams that others wait for before bulk, each kind round robin."""

from collections import deque

from proxy.protocol.stream import Stream


class Scheduler:
    """Streams that may have something to send. One may stand in both queues; what it has nothing for, it passes."""

    def __init__(self) -> None:
        self._urgent: deque[Stream] = deque()
        self._bulk: deque[Stream] = deque()

    def __bool__(self) -> bool:
        return bool(self._urgent or self._bulk)

    def add(self, stream: Stream, now: float) -> None:
        """The stream has something to send."""
        if stream.outgoing.light(now):
            if not stream.urgent:
                stream.urgent = True
                self._urgent.append(stream)
        elif not stream.bulk:
            stream.bulk = True
            self._bulk.append(stream)

    def next(self) -> Stream | None:
        """The stream whose turn it is; it has to be added again if it has more."""
        if self._urgent:
            stream = self._urgent.popleft()
            stream.urgent = False
            return stream
        if self._bulk:
            stream = self._bulk.popleft()
            stream.bulk = False
            return stream
        return None
