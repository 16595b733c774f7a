"""Two sites with arrays on both sides, driving real `Tunnel`s over a `World` as proxy.net does, and checking.

What is checked at every step: a batch continues exactly where the last one ended; END comes only when the sending
array ended, after exactly what it sent; nothing comes after a reset; what the tunnel holds stays within its bounds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection
from functools import partial

from proxy.protocol import events
from proxy.protocol.codes import Capability, CloseCode, FrameType, ResetCode
from proxy.protocol.errors import HelloRefused, OpenRefused
from proxy.protocol.frames import decode_close, encode_close
from proxy.protocol.hello import Hello
from proxy.protocol.reader import Frame, encode
from proxy.protocol.settings import TunnelSettings
from proxy.protocol.share import PLAIN, Priority, Share
from proxy.protocol.tunnel import Tunnel
from tests.simulation.speakers import Speaker, Talk, tell
from tests.simulation.world import Pipe, World
from tests.unit.protocol.playbook import lane_reader

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


class End:
    """One end of a connection, as proxy.net.lane."""

    def __init__(self, site: Site, lane: int, dialler: bool) -> None:
        self.site, self.lane, self.dialler, self.began = site, lane, dialler, site.world.now
        self.reader = lane_reader()
        self.up = False
        self.gone = False
        self.mine: Hello | None = None
        self.pipe: Pipe
        self.other: End

    def bytes_in(self, data: bytes) -> None:
        """What the network delivers; the tunnel sees it frame by frame."""
        whole = 0
        while data and not self.gone:
            room = self.reader.get_buffer()
            size = min(len(room), len(data))
            room[:size] = data[:size]
            data = data[size:]
            self.reader.received(size)
            whole += self.frames_in()
        if self.up and not self.gone:
            self.site.tunnel.heard(self.lane, self.site.world.now)
            if whole:  # otherwise there is nothing to answer
                self.site.pump()

    def frames_in(self) -> int:
        """How many have come."""
        count = 0
        while not self.gone and (frame := self.reader.next_frame()) is not None:
            self.frame(frame)
            count += 1
        return count

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
            tunnel.join(theirs, dialler=self.dialler, now=now, mine=self.mine, accepted=self.began)
        except HelloRefused as refused:
            if refused.code != CloseCode.SURPLUS:
                raise
            self.close(refused.code, refused.reason)
            return
        if not self.dialler:
            self.greet()
        self.up = True
        self.site.ends[self.lane] = self
        tunnel.lane_up(self.lane, now, began=self.began)
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
        self.drains = False
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
        self.tunnel.reserve(self.world.rng.choice([1, 2]))
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

    def drain(self) -> None:
        """It opens and takes no more streams, whatever becomes of its lanes, until its process ends."""
        self.drains = True
        self.tunnel.drain("it will end")
        self.pump()

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
        if not self.tunnel.quiet:
            self.write()
            self.dispatch()
        self.check_bounds()
        deadline = self.tunnel.next_deadline()
        if deadline is not None and deadline < self._tick_at:
            self._tick_at = deadline
            self.soon(max(0.0, deadline - self.world.now), partial(self.tick, deadline))

    def write(self) -> None:
        """To all lanes that have room, or one after another, in any order."""
        ends = list(self.ends.values())
        self.world.rng.shuffle(ends)
        rounds = [ends] if self.world.chance(0.5) else [[end] for end in ends]
        for lanes in rounds:
            limit = self.world.rng.choice([1, 30_000, 200_000])
            while not self.tunnel.quiet:
                rooms = {end.lane: limit for end in lanes if end.pipe.can_write}
                if not rooms or not (found := self.tunnel.take(rooms, self.world.now)):
                    break
                for lane, pieces in found.items():
                    self.ends[lane].write(pieces)

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
        assert figures.streams <= 3 * SETTINGS.streams + 4 * SETTINGS.streams

    # -- streams

    def something(self) -> Callable[[], None]:
        """What happens at some time."""
        return self.talk

    def talk(self) -> None:
        """An array connects to the forward."""
        name = f"{self.name}-{self.began}-{len(self.talks)}"
        try:
            stream = self.tunnel.streams.open("export", name, self.world.rng.choice(SHARES))
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
                | events.StoreRate()
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
            self.tunnel.streams.reset(stream, ResetCode.UNREACHABLE, "refused")
            self.refused.add(stream)
            if talk:
                talk.reset[1] = True
            return
        if talk is None:  # its process has died since
            talk = Talk(origin, sent=[1 << 60, 0], ended=[True, False])
        self.speakers[stream] = Speaker(self, talk, 1, stream)
        self.tunnel.streams.assign(stream, self.world.rng.choice(SHARES))
        self.soon(self.world.rng.choice([0.0, 0.1, 1.0]), lambda: self.connected(stream))

    def connected(self, stream: int) -> None:
        speaker = self.speakers.get(stream)
        if speaker is not None and not speaker.over and not speaker.started:
            self.tunnel.streams.accept(stream)
            speaker.start()
