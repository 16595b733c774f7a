"""Two sites' real peers and relays, between arrays, lanes and disks that are not: all in one loop whose time jumps."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dedupstore.chunker import Chunker
from dedupstore.memory import LEAST_BYTES, MemoryStore
from dedupstore.store import NOT_REPEATED, Buffer, Place, Repeated
from proxy.net.environment import Environment
from proxy.net.lane import Lane
from proxy.net.peer import Peer
from proxy.net.relay import Relay
from proxy.net.rounds import LONGEST, Rounds
from proxy.net.tcpinfo import TcpInfo
from proxy.net.turns import Turns
from proxy.net.worker import StoreWorker
from proxy.observe.processor import Processor
from proxy.protocol.codes import FrameType
from proxy.protocol.errors import HelloRefused
from proxy.protocol.hello import Hello
from proxy.protocol.settings import TunnelSettings
from tests.simulation.clockwork import Clockwork
from tests.unit.config.contract import EAST, WEST, site_of
from tests.unit.protocol.playbook import lane_reader


class Shelf(MemoryStore):
    """A store whose disk lags: what is learned has to be written, what is read to be loaded, and some of it is lost."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.lag = 0
        self.lags_at = 1 << 60
        """Bytes unwritten from which sources rest."""
        self.cold = False
        self.sought: Callable[[], None] = lambda: None
        """Called for each load, which takes as long as that does."""
        self._loaded: deque[bytes] = deque(maxlen=64)
        self._lost: set[bytes] = set()

    def lose(self, rng: random.Random, part: float) -> None:
        self._lost = {name for name in self._places if rng.random() < part}

    def find(self, name: bytes) -> Place | None:
        return None if name in self._lost else super().find(name)

    def put(self, name: bytes, data: Buffer, writer: int = 0) -> Place | None:
        self._lost.discard(name)
        self.lag += len(data)
        return super().put(name, data, writer)

    def read(self, name: bytes) -> bytes | None:
        return None if self.cold and name not in self._loaded else super().read(name)

    def read_behind(self, place: Place, names: Sequence[bytes], most: int) -> tuple[int, bytes]:
        at_hand = itertools.takewhile(
            lambda name: name not in self._lost and not (self.cold and name not in self._loaded), names
        )
        return super().read_behind(place, [*at_hand], most)

    def repeated(self, place: Place, data: memoryview) -> Repeated:
        same, first, ends, names = super().repeated(place, data) if not self.cold else NOT_REPEATED
        at_hand = [*itertools.takewhile(lambda name: name not in self._lost, names)]
        return Repeated(same, first, ends[: len(at_hand)], at_hand)

    def following(self, place: Place) -> tuple[bytes, Place] | None:
        found = super().following(place)
        return None if found is None or (self.cold and found[0] not in self._loaded) else found

    def load(self, name: bytes, *, whole: bool = False, soon: Iterable[bytes] = ()) -> None:
        self.sought()
        self._loaded.append(name)

    def prefetch(self, name: bytes, *, spare: bool = False) -> None:
        place = self.find(name)
        if place is not None and (found := super().following(place)) is not None:
            self._loaded.append(found[0])

    def write(self) -> None:
        self.lag = 0

    @property
    def unwritten(self) -> int:
        return self.lag

    @property
    def unwritten_max(self) -> int:
        return self.lags_at


class Array(asyncio.Transport):
    """An array's connection: what it says is read as fast as the relay likes, what it gets is taken as it likes."""

    def __init__(self, loop: Clockwork, known: socket.socket) -> None:
        super().__init__()
        self.loop, self.rng = loop, loop.rng
        self.segments: tuple[int, ...] = (1 << 20,)
        """Bytes that are there at once."""
        self.gaps: tuple[float, ...] = (0.0,)
        """Seconds until the next ones are."""
        self.appetites: tuple[float, ...] = (0.0,)
        """Seconds until it takes what there is."""
        self.unread = bytearray()
        self.log = bytearray()
        """All that it has said."""
        self.got = bytearray()
        self.heard: Callable[[], None] = lambda: None
        """Called when it has got something."""
        self.reading = True
        self.ended = False
        """The other array has."""
        self.broken = False
        self._known = known
        self._protocol: Any = None
        self._due = False
        self.ends = False
        """It says no more."""
        self._told = False
        self._waiting = 0
        self._paused = False
        self._high, self._low = 1 << 16, 1 << 14

    def detach(self) -> None:
        """As a socket that the loop has taken over."""

    def connect(self, protocol: Any) -> None:
        self._protocol = protocol
        protocol.connection_made(self)
        self._look()

    def say(self, data: bytes) -> None:
        self.unread += data
        self.log += data
        self._look()

    def end(self) -> None:
        self.ends = True
        self._look()

    def forget(self) -> None:
        """Everything that it has said and got: the relay keeps the array until both are collected."""
        self.log.clear()
        self.got.clear()

    def _look(self) -> None:
        if (
            not self._due
            and self.reading
            and self._protocol is not None
            and (self.unread or (self.ends and not self._told))
        ):
            self._due = True
            self.loop.call_later(self.rng.choice(self.gaps), self._read)

    def _read(self) -> None:
        self._due = False
        if not self.reading or self.broken:
            return
        if self.unread:
            room = self._protocol.get_buffer(-1)
            n = min(len(room), len(self.unread), self.rng.choice(self.segments))
            assert n, "no room to read to"
            room[:n] = self.unread[:n]
            del self.unread[:n]
            self._protocol.buffer_updated(n)
        elif self.ends and not self._told:
            self._told = True
            self._protocol.eof_received()
        self._look()

    # -- the transport -----------------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._known if name == "socket" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high, self._low = high or 0, low or 0

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True
        self._look()

    def writelines(self, list_of_data: Any) -> None:
        for data in list_of_data:
            self.got += data
            self._waiting += len(data)
        self.loop.call_later(self.rng.choice(self.appetites), self._take, self._waiting)
        if self._waiting > self._high and not self._paused:
            self._paused = True
            self._protocol.pause_writing()
        self.heard()

    def _take(self, n: int) -> None:
        self._waiting = max(0, self._waiting - n)
        if self._paused and self._waiting <= self._low:
            self._paused = False
            self._protocol.resume_writing()

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.loop.call_soon(self.let_go)

    def let_go(self) -> None:
        """It has taken everything."""
        self._protocol.connection_lost(None)

    def abort(self) -> None:
        self.broken = True


class Link:
    """One end of a lane, as `Lane` is for its owner."""

    count = itertools.count(1)

    def __init__(self, loop: Clockwork, owner: Peer, *, dialler: bool, delay: float, room: int) -> None:
        self.loop, self.owner, self.dialler, self.delay, self.most = loop, owner, dialler, delay, room
        self.other: Link
        self.number = next(self.count)
        self.began = loop.time()
        self.remote = "there"
        self.mark = 0
        self.grain = loop.rng.choice([16 << 10, 64 << 10, 256 << 10])
        self.congestion_control = ""
        self.up = self.silent = self.unwanted = self.needless = self.clogged = self.lost = False
        self.said: Hello | None = None
        self.certificate = b"", dict[str, object]()
        self._reader = lane_reader()
        self._way: deque[bytes] = deque()
        self._under_way = 0

    def congest(self, wanted: str) -> None:
        """There is no kernel."""

    def room(self) -> int:
        self.clogged = self.clogged or self._under_way >= self.most
        return 0 if self.clogged else self.most - self._under_way

    def write(self, frames: list[bytes]) -> None:
        data = b"".join(frames)
        self._under_way += len(data)
        self._way.append(data)
        self.loop.call_later(self.delay, self._arrive)

    def _arrive(self) -> None:
        data = self._way.popleft()  # of timers that are due at once any may come first
        if self.lost or self.other.lost:
            return
        self._under_way -= len(data)
        self.other.receive(data)
        if self.clogged and self._under_way <= self.most // 2 and not self.lost:
            self.clogged = False
            self.owner.writable(cast(Lane, self))

    def receive(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.lost:
            room = self._reader.get_buffer()
            n = min(len(room), len(view))
            room[:n] = view[:n]
            view = view[n:]
            self._reader.received(n)
            self._frames()
        if self.up and not self.lost:
            self.owner.burst(cast(Lane, self))

    def _frames(self) -> None:
        while not self.lost and (frame := self._reader.next_frame()) is not None:
            if self.up:
                self.owner.frame(cast(Lane, self), frame)
            elif frame.type == FrameType.HELLO:
                self._greeted(Hello.decode(frame.payload))

    def _greeted(self, hello: Hello) -> None:
        try:
            self.owner.hello(cast(Lane, self), hello)
        except HelloRefused as refused:
            self.close(refused.code, refused.reason)

    def start(self, peer: Peer, rounds: Rounds) -> None:
        self.up = True

    def carry(self, mark: int) -> None:
        self.mark = mark

    def abort(self, reason: str, *, needless: bool = False) -> None:
        """Each end learns it by itself."""
        self.needless = self.needless or needless
        for end, after in ((self, 0.0), (self.other, self.delay)):
            self.loop.call_later(after, end.lose, reason)

    def lose(self, reason: str) -> None:
        if not self.lost:
            self.lost, self.up = True, False
            self.owner.lost(cast(Lane, self), reason)

    def close(self, code: object, reason: str, *, needless: bool = False) -> None:
        self.abort(reason, needless=needless)

    def look(self) -> None:
        """Nobody ends a connection without a word."""

    def tcp_info(self) -> TcpInfo:
        return TcpInfo()

    def stand_apart(self, apart: bool, *, late: bool) -> None:
        pass

    def unpause(self, now: float, *, light: bool, calm: bool, capped: bool) -> None:
        pass


class Sites:
    """West has the initiators, east the targets."""

    def __init__(
        self,
        loop: Clockwork,
        settings: TunnelSettings,
        chunker: Chunker,
        protocol: str,
        maximum: str,
        stored: int = LEAST_BYTES,
        far: TunnelSettings | None = None,
    ) -> None:
        """`maximum`: of what the initiators' side sends; may be empty. `stored`: bytes that each store has room for.
        `far`: the targets' side has settings of its own."""
        self.loop = loop
        self._now = 0.0
        self._known = socket.socketpair()
        self._arrays: asyncio.Queue[Array] = asyncio.Queue()
        self._protocol = protocol
        text = EAST + (f'maximum = "{maximum}"\n' if maximum else "")
        self._environments: list[Environment] = []
        self.near_store, self.far_store = Shelf(stored), Shelf(stored)
        self.near = self._peer(text, self.near_store, settings, chunker)
        west = WEST.replace('mode = "disk"\npath = "store"\n', "")
        self.far = self._peer(west, self.far_store, far or settings, chunker)
        self.links: list[Link] = []

    def _peer(self, text: str, store: Shelf, settings: TunnelSettings, chunker: Chunker) -> Peer:
        config = site_of(text)
        environment = Environment(
            config=config,
            worker=StoreWorker(store),
            chunker=chunker,
            software="simulation",
            processor=Processor(),
            turns=Turns(),
            proves=lambda *_: True,
        )
        environment.tunnel_settings = settings
        self._environments.append(environment)
        peer = Peer(environment, config.peers[0])
        peer.relays.rounds = Rounds(self._ticking)
        return peer

    def allot_near(self, settings: TunnelSettings) -> None:
        """As when the initiators' site has taken over a file that says so."""
        environment = self._environments[0]
        environment.tunnel_settings = settings
        self.near.change(environment.config.peers[0])

    def _ticking(self) -> float:
        """A clock that goes on while the loop works, now and then by more than a round's time."""
        self._now += self.loop.rng.choice([0.0, 0.0, LONGEST / 10, LONGEST * 2])
        return self._now

    async def connect(self, *_: object, seconds: float) -> Array:
        """In place of `proxy.net.connecting.connect`: to the target of a stream."""
        await asyncio.sleep(self.loop.rng.choice([0.0, 0.02]))
        array = Array(self.loop, self._known[1])
        self._arrays.put_nowait(array)
        return array

    def dial(self, delay: float, room: int) -> None:
        """One lane more."""
        mine = Link(self.loop, self.near, dialler=True, delay=delay, room=room)
        theirs = Link(self.loop, self.far, dialler=False, delay=delay, room=room)
        mine.other, theirs.other = theirs, mine
        self.links.append(mine)
        self.near.greet(cast(Lane, mine))

    def open(self) -> tuple[Array, Relay]:
        """An initiator connects."""
        relay, refusal = self.near.relays.open("replication", "array", "there", cast(Any, self._protocol))
        assert relay is not None, refusal
        array = Array(self.loop, self._known[0])
        array.connect(relay)
        return array, relay

    async def target(self) -> Array:
        """Of the stream that was opened last."""
        return await self._arrays.get()

    def close(self) -> None:
        for end in self._known:
            end.close()
        for store in (self.near_store, self.far_store):
            store.close()


def tell(
    story: Callable[[Sites], Awaitable[None]],
    settings: TunnelSettings,
    maximum: str = "",
    *,
    delay: float = 0.01,
    stored: int = LEAST_BYTES,
    far: TunnelSettings | None = None,
) -> None:
    """With a lane up that takes `delay` seconds, between sites where nothing else is slow. The rest: as of `Sites`."""
    loop = Clockwork(1)

    async def told() -> None:
        sites = Sites(loop, settings, Chunker(4 << 10, 16 << 10, 64 << 10), "tcp", maximum, stored, far)
        with contextlib.closing(sites), pytest.MonkeyPatch.context() as patch:
            patch.setattr("proxy.net.arrays.connect", sites.connect)
            patch.setattr("proxy.net.worker.time", SimpleNamespace(monotonic=loop.time))
            sites.dial(delay, 16 << 20)
            await asyncio.sleep(1)
            await story(sites)

    try:
        loop.run_until_complete(told())
    finally:
        loop.close()
    assert loop.errors == []
