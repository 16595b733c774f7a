"""Words for transcripts: what a tunnel sends, as short lines, and a peer that says exactly what a test tells it.

ACK 1:3 2:over          frames of stream 1 below 3 have arrived, stream 2 is over
CREDIT 1:0/65536        of stream 1 nothing is consumed, 65536 may be sent
DATA 1#2 500            frame 2 of stream 1, 500 plain bytes
RESET 1#0 UNREACHABLE   and so on
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from proxy.protocol import frames
from proxy.protocol.codes import FrameType, ResetCode
from proxy.protocol.events import Event
from proxy.protocol.hello import Hello
from proxy.protocol.notices import ACK_DELAY
from proxy.protocol.reader import Buffer, Frame, FrameReader
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.tunnel import Tunnel

ALL = 1 << 30


def batch(plain: int, filling: int = 0) -> bytes:
    """A payload for DATA, of which the tunnel looks at nothing but the first field; so much comes behind its head."""
    return plain.to_bytes(4, "big") + bytes(8 + filling)


def literal(size: int) -> bytes:
    """Such a payload of what nobody knows: so many bytes, which deliver as many."""
    return batch(size, size - len(batch(0)))


def lane_reader() -> FrameReader:
    """The reader of a lane on which HELLO has come."""
    reader = FrameReader()
    reader.go_on()
    return reader


def fed(reader: FrameReader, data: bytes) -> Iterator[Frame]:
    """Give the reader these bytes; the frames that it cuts, with payloads that last. Raises PeerError."""
    view = memoryview(data)
    while view:
        room = reader.get_buffer()
        size = min(len(room), len(view))
        room[:size] = view[:size]
        view = view[size:]
        reader.received(size)
        while (frame := reader.next_frame()) is not None:
            yield frame._replace(payload=bytes(frame.payload))


def cut(pieces: Iterable[bytes]) -> list[Frame]:
    """The frames in what `take` gave, with payloads that last."""
    return [*fed(lane_reader(), b"".join(pieces))]


def line(frame: Frame) -> str:
    """The frame as a line of a transcript."""
    kind, stream, number, payload = frame
    name = FrameType(kind).name
    if kind < FrameType.OPEN:
        return f"{name} {_TUNNEL[kind](payload)}".rstrip()
    return f"{name} {stream}#{number} {_STREAM[kind](payload)}".rstrip()


def lines(pieces: Iterable[bytes]) -> list[str]:
    """The transcript of what `take` gave."""
    return [line(frame) for frame in cut(pieces)]


def _acks(payload: Buffer) -> str:
    entries = sorted(frames.decode_ack(payload))
    return " ".join(f"{stream}:{'over' if next_ == frames.OVER else next_}" for stream, next_ in entries)


def _credits(payload: Buffer) -> str:
    entries = sorted(frames.decode_credit(payload))
    return " ".join(f"{stream}:{consumed}/{limit}" for stream, consumed, limit in entries)


def _lanes(payload: Buffer) -> str:
    return " ".join(f"{mark}:{count}" for mark, count in frames.decode_lanes(payload).items())


_TUNNEL: dict[int, Callable[[Buffer], object]] = {
    FrameType.CLOSE: lambda payload: frames.decode_close(payload)[0].name,
    FrameType.PING: lambda payload: frames.decode_token("PING", payload),
    FrameType.PONG: lambda payload: frames.decode_token("PONG", payload),
    FrameType.ACK: _acks,
    FrameType.CREDIT: _credits,
    FrameType.DRAIN: frames.decode_drain,
    FrameType.LANES: _lanes,
    FrameType.STORE: frames.decode_store,
}
_STREAM: dict[int, Callable[[Buffer], object]] = {
    FrameType.OPEN: lambda payload: frames.decode_open(payload)[0],
    FrameType.ACCEPT: lambda payload: "",
    FrameType.DATA: frames.decode_data,
    FrameType.END: lambda payload: frames.decode_end(payload)[0],
    FrameType.RESET: lambda payload: frames.decode_reset(payload)[0].name,
    FrameType.MISS: lambda payload: len(frames.decode_miss(payload)),
    FrameType.FILL: lambda payload: frames.decode_fill(payload)[2],
    FrameType.WAIVE: frames.decode_waive,
}


def tunnel(name: str, peer: str, **settings: float) -> Tunnel:
    """A tunnel whose halves count, so that transcripts are the same each time; windows stay as they begin."""
    settings = {"opening_window": 0} | settings
    drawn = iter(range(1000))
    return Tunnel(
        TunnelSettings(**settings),  # type: ignore[arg-type]
        name,
        peer,
        name.encode().ljust(16),
        [b"epoch---"],
        0.0,
        random=lambda n: f"{name} {next(drawn)}".encode().ljust(n),
    )


def events_of(tunnel: Tunnel) -> list[Event]:
    """What has happened."""
    found = []
    while (event := tunnel.next_event()) is not None:
        found.append(event)
    return found


class Script:
    """A tunnel named "left" and a scripted peer "right" that has lane 1 up. Time stands still but for `at`."""

    def __init__(
        self,
        initial_credit: float = 64 << 10,
        *,
        capabilities: Collection[int] = (),
        allowed: int = 4,
        **settings: Any,
    ) -> None:
        """`allowed`: streams that the peer lets us open."""
        self.tunnel = tunnel("left", "right", initial_credit=initial_credit, **settings)
        self.now = 0.0
        self.peer = Hello(
            site="right",
            peer="left",
            half=b"half of right   ",
            known_half=None,
            store=b"store of right  ",
            epochs=(b"epoch---",),
            initial_credit=64 << 10,
            streams=allowed,
            capabilities=frozenset(capabilities),
        )
        self.join(1)
        self.take(1)

    def join(self, lane: int, mark: int = 0, *, ready: bool = True) -> None:
        """The peer dials another lane; `ready`: its state, of no streams, has come."""
        self.tunnel.join(self.peer, dialler=False, now=self.now)
        self.tunnel.lane_up(lane, self.now, mark)
        if ready:
            self.give(FrameType.ACK, 0, 0, b"", lane=lane)

    def another(self, lane: int, mark: int = 0) -> None:
        """The same, and what the tunnel says at its beginning is said."""
        self.join(lane, mark)
        self.take(lane)

    def send(self, stream: int, plain: int, filling: int = 0) -> int:
        """We send DATA; what of the credit it costs."""
        return self.tunnel.streams.send_data(stream, batch(plain, filling), plain)

    def send_literal(self, stream: int, size: int) -> int:
        """The same of data that nobody knows."""
        return self.tunnel.streams.send_data(stream, literal(size), size)

    def room(self, stream: int) -> int:
        """Plain bytes that may be sent; Writable will tell of more."""
        self.tunnel.streams.await_room(stream)
        return self.tunnel.streams.sendable(stream)

    def give(self, kind: int, stream: int, number: int, payload: bytes = b"", lane: int = 1) -> list[Event]:
        """The peer sends a frame; what happens."""
        self.tunnel.receive(lane, Frame(kind, stream, number, payload), self.now)
        return self.events()

    def data(self, stream: int, number: int, plain: int, filling: int = 0, *, lane: int = 1) -> list[Event]:
        """The peer sends DATA."""
        return self.give(FrameType.DATA, stream, number, batch(plain, filling), lane)

    def open(self, stream: int, lane: int = 1) -> list[Event]:
        """The peer opens a stream."""
        return self.give(FrameType.OPEN, stream, 0, frames.encode_open("array", "10.0.0.1"), lane)

    def end(self, stream: int, number: int, total: int = 0) -> list[Event]:
        """The peer sends END, after so many bytes."""
        return self.give(FrameType.END, stream, number, frames.encode_end(total, b""))

    def reset(self, stream: int, number: int) -> list[Event]:
        """The peer resets a stream, as its array has done."""
        return self.give(FrameType.RESET, stream, number, frames.encode_reset(ResetCode.ORIGIN_RESET, "why"))

    def acknowledge(self, stream: int, next_: int, lane: int = 1) -> list[Event]:
        """The peer sends ACK of one stream."""
        return self.give(FrameType.ACK, 0, 0, frames.encode_ack([(stream, next_)]), lane)

    def credit(self, stream: int, consumed: int, limit: int) -> list[Event]:
        """The peer sends CREDIT for one stream."""
        return self.give(FrameType.CREDIT, 0, 0, frames.encode_credit([(stream, consumed, limit)]))

    def events(self) -> list[Event]:
        """What has happened."""
        return events_of(self.tunnel)

    def take(self, lane: int = 1, limit: int = ALL) -> list[str]:
        """What the tunnel sends on that lane, PING left out."""
        return self.take_all({lane: limit})[lane]

    def take_all(self, rooms: dict[int, int]) -> dict[int, list[str]]:
        """What it sends on lanes with so much room, asked at once, the first one first."""
        found = self.tunnel.take(rooms, self.now)
        return {lane: [text for text in lines(found.get(lane, [])) if not text.startswith("PING")] for lane in rooms}

    def at(self, now: float) -> list[Event]:
        """Time has passed."""
        self.now = now
        self.tunnel.tick(now)
        return self.events()

    def accepted(self, stream: int = 1) -> int:
        """We open a stream and the peer accepts it, without any trace left."""
        number = self.tunnel.streams.open("array", "10.0.0.2")
        assert number == stream
        self.take()
        self.acknowledge(number, 1)
        self.give(FrameType.ACCEPT, number, 0)
        self.flush()
        return number

    def flush(self, lane: int = 1) -> list[str]:
        """What the tunnel sends once it does not wait for more."""
        self.now += ACK_DELAY
        self.tunnel.tick(self.now)
        return self.take(lane)


def busy_and_idle() -> tuple[Script, int, int]:
    """A busy stream and an idle one, and lanes 1 and 2 that both have room."""
    script = Script()
    busy, idle = script.accepted(1), script.accepted(3)
    for stream in (busy, idle):
        script.credit(stream, 0, 1 << 40)
    script.another(2)
    for _ in range(4):
        script.send(busy, 40_000, 40_000)
        script.take(1)
    return script, busy, idle


def taken(tunnel: Tunnel, lane: int, limit: int, now: float) -> list[bytes]:
    """What it sends on that lane, if no other one has room."""
    return tunnel.take({lane: limit}, now).get(lane, [])


class Pair:
    """Two tunnels, "left" and "right", whose lanes carry whole frames when a test says so."""

    def __init__(self, **settings: float) -> None:
        self.left = tunnel("left", "right", **settings)
        self.right = tunnel("right", "left", **settings)
        self.now = 0.0

    def dial(self, lane: int, dialler: Tunnel | None = None) -> None:
        """A lane comes up on both sides."""
        first = dialler or self.left
        second = self.other(first)
        mine = first.hello()
        second.join(Hello.decode(mine.encode()), dialler=False, now=self.now)
        first.join(Hello.decode(second.hello().encode()), dialler=True, now=self.now, mine=mine)
        second.lane_up(lane, self.now)
        first.lane_up(lane, self.now)

    def another(self, lane: int) -> None:
        """The same, and all is said that there is to say."""
        self.dial(lane)
        self.settle(lane)

    def other(self, tunnel: Tunnel) -> Tunnel:
        return self.right if tunnel is self.left else self.left

    def carry(self, lane: int, source: Tunnel) -> list[str]:
        """Everything that one side sends on the lane arrives at the other."""
        return self.carry_all([lane], source)[0]

    def carry_all(self, lanes: list[int], source: Tunnel) -> list[list[str]]:
        """The same on lanes that are asked at once, the first one first."""
        writes = source.take(dict.fromkeys(lanes, ALL), self.now)
        found = {lane: cut(writes.get(lane, [])) for lane in lanes}
        for lane in lanes:
            for frame in found[lane]:
                self.other(source).receive(lane, frame, self.now)
        hidden = (FrameType.PING, FrameType.PONG)
        return [[line(frame) for frame in found[lane] if frame.type not in hidden] for lane in lanes]

    def settle(self, lane: int) -> None:
        """Carry, both ways, until nobody has anything to say."""
        for _ in range(20):
            self.now += ACK_DELAY
            self.left.tick(self.now)
            self.right.tick(self.now)
            if not (self.carry(lane, self.left) + self.carry(lane, self.right)):
                return
        raise AssertionError("the two never stop talking")

    def begin_stream(self, lane: int) -> int:
        """Open one from left to right, once all else is said; returns its number."""
        self.settle(lane)
        stream = self.left.streams.open("array", "")
        self.settle(lane)
        self.right.streams.accept(stream)
        self.settle(lane)
        return stream
