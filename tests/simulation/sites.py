"""Two sites with arrays on both sides, driving real `Tunnel`s over a `World` as proxy.net does, and checking.

What is checked at every step: a batch continues exactly where the last one ended; END comes only when the sending
array ended, after exactly what it sent; nothing comes after a reset; what the tunnel holds stays within its bounds.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

from proxy.protocol import events
from proxy.protocol.codes import Capability, CloseCode, ResetCode
from proxy.protocol.errors import HelloRefused, OpenRefused
from proxy.protocol.frames import Frame, FrameReader, FrameType, decode_close, encode, encode_close
from proxy.protocol.hello import Hello
from proxy.protocol.share import PLAIN, Priority, Share
from proxy.protocol.tunnel import Tunnel, TunnelSettings
from tests.simulation.world import Pipe, World

SETTINGS = TunnelSettings(
    initial_credit=64 << 10,
    window_max=256 << 10,
    memory=1 << 20,
    unacked_max=256 << 10,
    streams=6,
    keepalive=1.0,
    dead_after=3.0,
    grace=15.0,
)
SHARES = (
    PLAIN,
    PLAIN,
    Share("quick", Priority.HIGH, guarantee=200e3),
    Share("slow", maximum=400e3, burst=100e3),
    Share("last", Priority.LOW, guarantee=50e3),
)
SLACK = 2 * SETTINGS.streams * 5 * (64 << 10)
"""Every stream may hold a batch beyond `unacked_max`, and control frames."""


@dataclass
class Talk:
    """One array connection, seen by both sites; index 0 is the opener's side."""

    name: str
    sent: list[int] = field(default_factory=lambda: [0, 0])
    ended: list[bool] = field(default_factory=lambda: [False, False])
    delivered: list[int] = field(default_factory=lambda: [0, 0])
    """Plain bytes that this side has received from the other."""
    finished: list[bool] = field(default_factory=lambda: [False, False])
    reset: list[bool] = field(default_factory=lambda: [False, False])


class Speaker:
    """One side of a Talk: sends to the tunnel what its array says, takes what comes, at its own pace."""

    def __init__(self, site: Site, talk: Talk, side: int, stream: int) -> None:
        rng = site.world.rng
        self.site, self.talk, self.side, self.stream = site, talk, side, stream
        self.to_send = rng.choice([0, 0, 1, 3000, 200_000, 600_000])
        self.pace = rng.choice([0.0, 0.0, 0.01, 0.2])
        self.appetite = rng.choice([0.0, 0.0, 0.0, 0.05, 0.5])
        self.ends_late = rng.choice([0.0, 0.5, 3.0])
        self.cost = 0
        self.acknowledged = 0
        self.referred: set[bytes] = set()
        self.incoming: deque[tuple[int, bytes]] = deque()
        self.missing: bytes | None = None
        self.taking = False
        self.end_came = False
        self.over = False
        self.started = False

    def start(self) -> None:
        """The stream can carry data."""
        self.started = True
        self.speak()
        if self.site.world.chance(0.15) and not self.site.world.calm:
            self.site.world.after(self.site.world.rng.uniform(0, 4), self.give_up)

    def speak(self) -> None:
        """Send as much as the tunnel takes, or a little."""
        tunnel, rng = self.site.tunnel, self.site.world.rng
        if self.over or not self.started:
            return
        while self.to_send and (room := tunnel.sendable(self.stream)):
            plain = min(room, self.to_send, rng.choice([1, 500, 65536, 65536, 65536]))
            self._send(plain)
            if self.pace:
                self.site.soon(self.pace * rng.random(), self.speak)
                break
        if not self.to_send and not self.talk.ended[self.side]:
            self.site.soon(self.ends_late * rng.random(), self.end)
        self.site.pump()

    def _send(self, plain: int) -> None:
        offset = self.talk.sent[self.side]
        name = blake2b(f"{self.talk.name} {self.side} {offset}".encode(), digest_size=32).digest()
        batch = plain.to_bytes(4, "big") + offset.to_bytes(8, "big")
        if plain > 32 and self.site.world.chance(0.1):
            batch += name
            self.referred.add(name)
        if self.site.world.chance(0.3):
            batch += bytes(max(plain, 33))  # 32 would look like a reference
        self.cost = self.site.tunnel.send_data(self.stream, batch, plain)
        self.talk.sent[self.side] += plain
        self.to_send -= plain

    def end(self) -> None:
        if self.over or self.talk.ended[self.side] or self.to_send:
            return
        self.talk.ended[self.side] = True
        self.site.tunnel.send_end(self.stream, self.talk.sent[self.side], b"")
        self.site.pump()
        self.finish_if_done()

    def data(self, plain: int, batch: bytes) -> None:
        """A batch has come; it is taken later."""
        offset = int.from_bytes(batch[4:12], "big")
        assert not self.over
        assert not self.end_came
        assert offset == self.talk.delivered[self.side], "bytes lost, repeated or out of order"
        self.talk.delivered[self.side] += plain
        assert self.talk.delivered[self.side] <= self.talk.sent[1 - self.side]
        reference = batch[12:44] if len(batch) == 44 else b""
        self.incoming.append((plain, reference))
        self.take_soon()

    def take_soon(self) -> None:
        if not self.taking and self.incoming:
            self.taking = True
            self.site.soon(0.0 if self.site.world.calm else self.appetite * self.site.world.rng.random(), self.take)

    def take(self) -> None:
        """The array takes one batch, if what it refers to is at hand."""
        self.taking = False
        if self.over or not self.incoming or self.missing:
            return
        plain, reference = self.incoming[0]
        if reference:
            self.missing = reference
            self.incoming[0] = plain, b""
            self.site.tunnel.send_miss(self.stream, [reference])
        else:
            self.incoming.popleft()
            self.site.tunnel.consumed(self.stream)
            self.take_soon()
            self.finish_if_done()
        self.site.pump()

    def missed(self, names: tuple[bytes, ...]) -> None:
        for name in names:
            assert name in self.referred, "asked for what nobody referred to"
            size = self.site.world.rng.choice([1, 5000, 200_000])
            self.site.tunnel.send_fill(self.stream, name, 0, size, bytes(size))

    def filled(self, name: bytes) -> None:
        assert name == self.missing, "filled, but not asked for, or twice"
        self.missing = None
        self.take_soon()

    def consumed(self, cost: int) -> None:
        assert self.acknowledged < cost <= self.cost
        self.acknowledged = cost
        self.finish_if_done()

    def ended(self, total: int) -> None:
        assert self.talk.ended[1 - self.side], "an end that the array never sent"
        assert total == self.talk.sent[1 - self.side] == self.talk.delivered[self.side]
        self.end_came = True
        self.finish_if_done()

    def finish_if_done(self) -> None:
        """As Relay: both ended, all taken here, all taken there."""
        ended = self.end_came and self.talk.ended[self.side]
        if ended and not self.over and not self.incoming and self.acknowledged == self.cost:
            self.over = self.talk.finished[self.side] = True

    def give_up(self) -> None:
        """The array resets its connection."""
        if not self.over:
            self.site.tunnel.reset(self.stream, ResetCode.ORIGIN_RESET, "the array is gone")
            self.lost()
            self.site.pump()

    def lost(self) -> None:
        """The stream has ended without ending well."""
        if not self.over:
            self.over = self.talk.reset[self.side] = True


class End:
    """One end of a connection, as proxy.net.lane."""

    def __init__(self, site: Site, lane: int, dialler: bool) -> None:
        self.site, self.lane, self.dialler = site, lane, dialler
        self.reader = FrameReader()
        self.up = False
        self.gone = False
        self.mine: Hello | None = None
        self.pipe: Pipe
        self.other: End

    def bytes_in(self, data: bytes) -> None:
        """What the network delivers; the tunnel sees it frame by frame."""
        view = memoryview(data)
        while view and not self.gone:
            room = self.reader.get_buffer()
            size = min(len(room), len(view))
            room[:size] = view[:size]
            view = view[size:]
            self.reader.received(size)
            self.frames_in()
        if self.up and not self.gone:
            self.site.tunnel.heard(self.lane, self.site.world.now)
            self.site.pump()

    def frames_in(self) -> None:
        while not self.gone and (frame := self.reader.next_frame()) is not None:
            self.frame(frame)

    def frame(self, frame: Frame) -> None:
        if self.up:
            self.site.tunnel.receive(self.lane, frame, self.site.world.now)
            self.site.dispatch()
        elif frame.type == FrameType.HELLO:
            self.hello(Hello.decode(frame.payload))
        else:
            assert frame.type == FrameType.CLOSE
            assert decode_close(frame.payload)[0] == CloseCode.SURPLUS
            self.abort()

    def hello(self, theirs: Hello) -> None:
        tunnel, now = self.site.tunnel, self.site.world.now
        try:
            tunnel.join(theirs, dialler=self.dialler, now=now, mine=self.mine)
        except HelloRefused as refused:
            if refused.code != CloseCode.SURPLUS:
                raise
            self.close(refused.code, refused.reason)
            return
        if not self.dialler:
            self.greet()
        self.up = True
        self.site.ends[self.lane] = self
        tunnel.lane_up(self.lane, now)
        self.site.dispatch()
        self.site.pump()

    def greet(self) -> None:
        self.mine = self.site.tunnel.hello()
        self.write([encode(FrameType.HELLO, 0, 0, self.mine.encode())])

    def write(self, pieces: list[bytes]) -> None:
        if not self.gone:
            self.pipe.write(b"".join(pieces))

    def close(self, code: CloseCode, reason: str) -> None:
        """Say why; the other end learns it after all that was sent before."""
        self.write([encode(FrameType.CLOSE, 0, 0, encode_close(code, reason))])
        self.forget()
        self.site.world.after(1.0, self.abort_pipes)

    def abort(self) -> None:
        """The connection breaks: what is under way is lost, and this end knows."""
        self.abort_pipes()
        self.forget()

    def abort_pipes(self) -> None:
        self.pipe.open = self.other.pipe.open = False
        rng = self.site.world.rng
        if not self.other.gone and (self.site.world.calm or rng.random() < 0.7):
            self.site.world.after(rng.uniform(0, 2), self.other.forget)

    def forget(self) -> None:
        """This end has learnt that the connection is gone."""
        if not self.gone:
            self.gone = True
            self.up = False
            self.site.lost(self)


class Site:
    """One process: a tunnel, its lanes, its arrays."""

    settings = SETTINGS
    kind = Tunnel
    capabilities: Collection[int] = tuple(Capability)

    def __init__(self, world: World, name: str, peer: str) -> None:
        self.world, self.name, self.peer = world, name, peer
        self.ends: dict[int, End] = {}
        self.speakers: dict[int, Speaker] = {}
        self.talks: dict[str, Talk] = {}
        self.refused: set[int] = set()
        """Streams that were reset as soon as they were offered: events that were queued behind that still come."""
        self.other: Site
        self._lanes = itertools.count(1)
        self.began = 0
        self._tick_at: float
        self.tunnel: Tunnel
        self.begin()

    def begin(self) -> None:
        """The process starts."""
        self.began += 1
        self._tick_at = float("inf")
        self.lossy = self.world.rng.choice([0, 1e6])
        self.tunnel = self.kind(
            self.settings,
            self.name,
            self.peer,
            self.name.encode().ljust(16),
            [b"epoch---"],
            self.world.now,
            random=self.world.rng.randbytes,
            capabilities=self.capabilities,
        )
        self.tunnel.spare(self.world.rng.choice([1, 2]))
        self.tunnel.scheduler.set_rate(self.world.rng.choice([None, None, 300e3, 5e6]), self.world.now)

    def crash(self) -> None:
        """The process dies without a word, and another one starts."""
        for end in list(self.ends.values()):
            end.abort_pipes()
            end.gone, end.up = True, False
        self.ends.clear()
        for speaker in self.speakers.values():
            speaker.lost()
        self.speakers.clear()
        self.begin()

    def give_up(self) -> None:
        """As an orderly shutdown, but the site goes on."""
        for end in list(self.ends.values()):
            end.close(CloseCode.SHUTDOWN, "restarting")
        self.tunnel.abandon(ResetCode.SHUTDOWN, "restarting", self.world.now)
        self.dispatch()

    def soon(self, delay: float, call: Callable[[], None]) -> None:
        """Call later, unless the process has been replaced by then."""
        began = self.began

        def still() -> None:
            if self.began == began:
                call()

        self.world.after(delay, still)

    # -- lanes

    def dial(self) -> None:
        """Open a connection to the other site."""
        mine, theirs = End(self, next(self._lanes), True), End(self.other, next(self.other._lanes), False)
        mine.other, theirs.other = theirs, mine
        mine.pipe = Pipe(self.world, theirs.bytes_in, lambda: self.writable(mine))
        theirs.pipe = Pipe(self.world, mine.bytes_in, lambda: self.other.writable(theirs))
        began = self.began, self.other.began

        def connected() -> None:
            if began == (self.began, self.other.began):
                mine.greet()

        self.world.after(self.world.rng.uniform(0, 0.2), connected)

    def writable(self, end: End) -> None:
        if end.up:
            self.pump()

    def lost(self, end: End) -> None:
        if self.ends.pop(end.lane, None) is not None:
            self.tunnel.lane_down(end.lane, self.world.now)
            self.dispatch()
            self.pump()

    def pump(self) -> None:
        """Write what the lanes take, then see to the clock."""
        if self.world.chance(0.02):
            self.lossy = 1e6 - self.lossy
        self.tunnel.copy(self.lossy)
        if self.world.chance(0.5):  # otherwise copies grow old
            self.tunnel.lanes_with_room(self.ends)
        for end in list(self.ends.values()):
            limit = self.world.rng.choice([1, 30_000, 200_000])
            while end.up and end.pipe.can_write and (pieces := self.tunnel.take(end.lane, limit, self.world.now)):
                end.write(pieces)
        self.dispatch()
        self.check_bounds()
        deadline = self.tunnel.next_deadline()
        if deadline is not None and deadline < self._tick_at:
            self._tick_at = deadline
            self.soon(max(0.0, deadline - self.world.now), partial(self.tick, deadline))

    def tick(self, at: float) -> None:
        if at != self._tick_at:  # an earlier deadline has come since, and sets the next
            return
        self._tick_at = float("inf")
        self.tunnel.tick(self.world.now)
        self.dispatch()
        self.pump()

    def check_bounds(self) -> None:
        figures = self.tunnel.figures
        assert figures.credit_bytes <= SETTINGS.memory
        assert figures.unacked_bytes <= SETTINGS.unacked_max + SLACK
        assert figures.kept_bytes <= SETTINGS.memory * 9 // 8 + (16 << 20)
        assert figures.streams <= 2 * SETTINGS.streams + 4 * SETTINGS.streams

    # -- streams

    def something(self) -> Callable[[], None]:
        """What happens at some time."""
        return self.talk

    def talk(self) -> None:
        """An array connects to the forward."""
        name = f"{self.name}-{self.began}-{len(self.talks)}"
        try:
            stream = self.tunnel.open("export", name, self.world.rng.choice(SHARES))
        except OpenRefused:
            return
        talk = Talk(name)
        self.talks[name] = talk
        self.speakers[stream] = Speaker(self, talk, 0, stream)
        self.speakers[stream].start()

    def dispatch(self) -> None:
        while (event := self.tunnel.next_event()) is not None:
            self.happened(event)

    def happened(self, event: events.Event) -> None:
        """One event of the tunnel."""
        match event:
            case events.StreamOffered(stream, "export", origin):
                self.offered(stream, origin)
            case events.StreamReset(stream):
                if speaker := self.speakers.pop(stream, None):
                    speaker.lost()
            case events.LaneDead(lane) | events.LaneClosed(lane) | events.LaneSilent(lane):
                if lane in self.ends:
                    self.ends[lane].abort()
            case events.TunnelReset():
                assert not any(not speaker.over for speaker in self.speakers.values())
                self.speakers.clear()
                self.refused.clear()
            case (
                events.StreamAccepted()
                | events.Arrived()
                | events.Resumed()
                | events.PeerDraining()
                | events.LanesWished()
            ):
                pass
            case _:
                speaker = self.speakers.get(event.stream)
                assert speaker is not None or event.stream in self.refused
                if speaker is not None and not speaker.over:
                    tell(speaker, event)

    def offered(self, stream: int, origin: str) -> None:
        talk = self.other.talks.get(origin)
        if self.world.chance(0.1):
            self.tunnel.reset(stream, ResetCode.UNREACHABLE, "refused")
            self.refused.add(stream)
            if talk:
                talk.reset[1] = True
            return
        if talk is None:  # its process has died since
            talk = Talk(origin, sent=[1 << 60, 0], ended=[True, False])
        self.speakers[stream] = Speaker(self, talk, 1, stream)
        self.tunnel.assign(stream, self.world.rng.choice(SHARES))
        self.soon(self.world.rng.choice([0.0, 0.1, 1.0]), lambda: self.connected(stream))

    def connected(self, stream: int) -> None:
        speaker = self.speakers.get(stream)
        if speaker is not None and not speaker.over and not speaker.started:
            self.tunnel.accept(stream)
            speaker.start()


def tell(speaker: Speaker, event: events.Event) -> None:
    """An event of one live stream."""
    match event:
        case events.DataReceived(_, plain, batch):
            speaker.data(plain, bytes(batch))
        case events.StreamEnded(_, total):
            speaker.ended(total)
        case events.MissReceived(_, names):
            speaker.missed(names)
        case events.FillReceived(_, name):
            speaker.filled(name)
        case events.Consumed(_, cost):
            speaker.consumed(cost)
        case events.Writable():
            speaker.speak()
        case _:
            raise AssertionError(event)
