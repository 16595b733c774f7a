"""A line of fixed rate below a tunnel, with a clock that jumps: frames leave one by one, as fast as it takes them.

The peer acknowledges and consumes at once. What waits for a cap is asked for again when the tunnel says so, but at
whole milliseconds only, as with an event loop's timers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from proxy.protocol.codes import FrameType
from proxy.protocol.credit import DATA_OVERHEAD
from proxy.protocol.share import PLAIN, Share
from tests.unit.protocol.playbook import Script, literal, taken

MBIT = 125_000.0
"""Bytes a second."""


def on_wire(size: int) -> int:
    """Bytes of packets for one write of so many bytes: records of 16 KiB, packets of 1448."""
    sealed = size + 22 * ceil(size / 16384)
    return sealed + 52 * ceil(sealed / 1448)


@dataclass
class Sent:
    """What one write brought: stream 0 if it was a frame of the tunnel."""

    at: float
    stream: int
    wire: float


@dataclass
class Source:
    """One array: its frames, and how many it has left to send."""

    payload: bytes
    left: float
    numbers: list[int]
    cost: int = 0


class Line:
    """Streams that always have something to send, unless said otherwise."""

    def __init__(self, rate: float, wire: Callable[[int], float] = on_wire) -> None:
        """`rate`: bytes of the wire a second; `wire`: how many a write of so many bytes comes to."""
        self.script = Script(allowed=64, keepalive=1e6, dead_after=2e6, unacked_max=1 << 30)
        self.tunnel = self.script.tunnel
        self.rate = rate
        self._wire = wire
        self.log: list[Sent] = []
        self.sources: dict[int, Source] = {}

    @property
    def now(self) -> float:
        """Seconds."""
        return self.script.now

    def open(self, share: Share = PLAIN, frame: int = 16 << 10, frames: float = float("inf")) -> int:
        """A stream that sends so many frames of that many bytes."""
        stream = self.tunnel.streams.open("array", "10.0.0.2", share)
        self.script.take()
        self.script.acknowledge(stream, 1)
        self.sources[stream] = Source(literal(frame), frames, [])
        self.script.credit(stream, 0, 1 << 40)
        return stream

    def run(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Let time pass; `each` is called before every frame."""
        end = self.now + seconds
        while self.now < end:
            each()
            self.fill()
            pieces = taken(self.tunnel, 1, 1, self.now)
            self.script.events()
            if not pieces:
                self.script.at(min(self._asked(), end))
                continue
            wire = self._wire(sum(map(len, pieces)))
            stream = self.arrived(pieces)
            self.log.append(Sent(self.now, stream, wire))
            self.script.at(self.now + wire / self.rate)

    def lanes(self, *marks: int) -> dict[int, int]:
        """Beside the first lane others, which carry these marks; room for one frame on each, the newest first."""
        for lane, mark in enumerate(marks, 2):
            self.script.another(lane, mark)
        return dict.fromkeys(range(len(marks) + 1, 0, -1), 1)

    def by_lanes(self, rooms: dict[int, int], seconds: float) -> Iterator[tuple[float, int]]:
        """When frames of which stream go, by lanes that always have room: it is only caps that hold anything up."""
        end = self.now + seconds
        while self.now < end:
            self.fill()
            writes = self.tunnel.take(rooms, self.now)
            for stream in filter(None, map(self.arrived, writes.values())):
                yield self.now, stream
            if not writes:
                self.script.at(self.now + 0.001)

    def asking(self, streams: Iterable[int], period: float) -> Callable[[], None]:
        """For `run`: from now on each of these streams has a frame to send that often, in seconds."""
        streams = tuple(streams)
        due = self.now

        def ask() -> None:
            nonlocal due
            if self.now >= due:
                due += period
                for stream in streams:
                    self.sources[stream].left = 1

        return ask

    def total(self, *streams: int, since: float = 0.0) -> float:
        """Bytes of the wire that went for these streams, or for all."""
        return sum(sent.wire for sent in self.log if sent.at >= since and (not streams or sent.stream in streams))

    def rates(self, *streams: int, since: float = 0.0) -> float:
        """The same in bytes a second."""
        return self.total(*streams, since=since) / (self.now - since)

    def longest_wait(self, stream: int, since: float = 0.0) -> float:
        """Seconds from one frame of the stream to the next, at most; until its first one, and from its last one on."""
        times = [since, *(sent.at for sent in self.log if sent.stream == stream and sent.at >= since), self.now]
        return max(after - before for before, after in pairwise(times))

    def windows(self, seconds: float, *streams: int) -> Iterator[float]:
        """Bytes of the wire within that time from each frame on, of these streams or of all."""
        log = [sent for sent in self.log if not streams or sent.stream in streams]
        last, total = 0, 0.0
        for first in log:
            while last < len(log) and log[last].at < first.at + seconds:
                total += log[last].wire
                last += 1
            if first.at + seconds > self.now:
                return
            yield total
            total -= first.wire

    def fill(self) -> None:
        """The arrays give what the tunnel takes."""
        for stream, source in self.sources.items():
            while source.left > 0 and self.tunnel.streams.sendable(stream) >= len(source.payload):
                self.tunnel.streams.send_data(stream, source.payload, len(source.payload))
                source.left -= 1

    def _asked(self) -> float:
        deadline = self.tunnel.next_deadline()
        assert deadline is not None
        return max(ceil(deadline * 1000), ceil(self.now * 1000 + 1e-6)) / 1000

    def arrived(self, pieces: list[bytes]) -> int:
        """The peer takes the frames: the stream of the last one."""
        found, rest = 0, 0
        for piece in pieces:
            if rest:
                rest = 0
                continue
            length, stream = int.from_bytes(piece[1:4], "big"), int.from_bytes(piece[4:8], "big")
            rest = 16 + length - len(piece)
            if piece[0] == FrameType.FILL:
                self.script.acknowledge(stream, int.from_bytes(piece[8:16], "big") + 1)
            if piece[0] != FrameType.DATA:
                continue
            found, source = stream, self.sources[stream]
            source.numbers.append(int.from_bytes(piece[8:16], "big"))
            source.cost += len(source.payload) + DATA_OVERHEAD
            self.script.acknowledge(stream, source.numbers[-1] + 1)
            self.script.credit(stream, source.cost, 1 << 40)
        return found
