"""Two sites without a wire: a `Stream` carries bytes from one site's encoder to the other's decoder, batch by batch."""

import random
import tracemalloc
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy.reduction.ahead import AheadMemory
from proxy.reduction.batch import CODEC_CONTEXT, CODEC_NONE, CODEC_ZSTD, dissect
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.compression import Compression, Compressor, zstd
from proxy.reduction.contexts import ContextReader, ContextWriter
from proxy.reduction.decoder import DecodedBatch, Decoder
from proxy.reduction.drafts import GRAIN_MAX
from proxy.reduction.encoder import Encoder
from proxy.reduction.holdings import Holdings
from proxy.reduction.obtaining import Needs
from proxy.reduction.outgoing import OutgoingBatch
from proxy.reduction.relief import Relief
from proxy.reduction.runs import Order
from proxy.reduction.windows import WINDOW_LOG_MIN, ContextMemory
from tests.unit.reduction.shelf import ShelfStore

SMALL_CHUNKS = Chunker(512, 1024, 4096)
"""So that little data has many borders."""
BORDERS_APART = 512
"""Bytes between two borders that whoever uses an encoder asks for, at least."""
FRAME_BYTES = 16
"""Of the header that each batch gets on its way."""


@dataclass
class Site:
    """A site's store, and what it believes the other's to hold."""

    store: ShelfStore
    holdings: Holdings
    beginnings: Beginnings = field(default_factory=lambda: Beginnings(1 << 10))
    now: float = 0.0
    silent: bool = False
    """The store's disk does not answer."""

    def __post_init__(self) -> None:
        self.order = Order(lambda: self.now)
        self.relief = Relief(least=2000)


def site(store: ShelfStore, other: bytes = b"the other's store") -> Site:
    """A site with that store, and with no belief but the store's about the other."""
    return Site(store, Holdings(cast(ChunkStore, store), other))


def two_sites(near: ShelfStore | None = None, far: ShelfStore | None = None) -> tuple[Site, Site]:
    """Sites with those stores (or new, roomy ones)."""
    return site(near or ShelfStore()), site(far or ShelfStore())


@dataclass
class Rotation:
    """A codec for each batch in turn: a number is the level of a new context, "context" goes on with the last one."""

    turns: list[str | int]
    window_log: int = WINDOW_LOG_MIN
    _batches: int = 0
    _context: ContextWriter | None = None

    def close(self) -> None:
        """The stream is over."""
        self._context = None

    def encode(self, literals: Sequence[bytes], length: int) -> tuple[int, Sequence[bytes]]:
        """As the next turn says; a batch without literals has no codec."""
        turn = self.turns[self._batches % len(self.turns)]
        self._batches += 1
        if isinstance(turn, int):
            self._context = ContextWriter(turn, self.window_log)
        if not length or turn == "none":
            return CODEC_NONE, literals
        joined = b"".join(literals)
        if turn == "zstd" or self._context is None:
            return CODEC_ZSTD, (zstd(1)(joined),)
        return CODEC_CONTEXT, (self._context.encode(joined),)


def encoder_of(
    site: Site,
    chunker: Chunker = SMALL_CHUNKS,
    level: int | None = None,
    compression: Compression | None = None,
    *,
    runs: bool = True,
) -> Encoder:
    """One stream's outgoing direction, by default without compression."""
    compression = compression or Compressor(zstd(level) if level else None)
    store, order = cast(ChunkStore, site.store), site.order if runs else None
    return Encoder(
        chunker, store, site.holdings, compression, beginnings=site.beginnings, order=order, relief=site.relief
    )


def decoder_of(
    site: Site, memory: ContextMemory | None = None, ahead: AheadMemory | None = None, *, without: str = ""
) -> Decoder:
    """One stream's incoming direction; `memory`, `ahead`: what it shares with others, by default nothing.

    `without`: what was not agreed on.
    """
    return Decoder(
        cast(ChunkStore, site.store),
        site.holdings,
        context=None if without == "contexts" else ContextReader(memory or ContextMemory()),
        zstd=without != "zstd",
        runs=without != "runs",
        silent=lambda: site.silent,
        ahead=ahead,
    )


def brings(encoder: Encoder, data: bytes) -> None:
    """The near array writes; nothing goes out yet."""
    while data:
        room = encoder.buffer(len(data))
        room[:] = data[: len(room)]
        encoder.received(len(room))
        data = data[len(room) :]


def written(encoder: Encoder, data: bytes) -> OutgoingBatch:
    """The data, a pause, and the batch that goes out."""
    brings(encoder, data)
    encoder.flush()
    batch = encoder.take()
    assert batch is not None
    return batch


def opcodes(batch: OutgoingBatch) -> list[int]:
    return [token[0] for token in dissect(memoryview(batch.data)).tokens]


def traced() -> int:
    """Bytes that reduction has taken since tracemalloc began; other threads of the process take some as well."""
    taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/reduction/*")])
    return sum(trace.size for trace in taken.traces)


def noise(n: int, seed: int = 0) -> bytes:
    """Random bytes, the same for the same seed."""
    return random.Random(seed).randbytes(n)


DATA = noise(40_000, 5)
LENGTHS = SMALL_CHUNKS.cut(DATA, final=True)


@dataclass
class Stream:
    """One direction of a stream, with every step that a relay takes as a method.

    What crosses is fed from memory that is overwritten at once, as a lane's is.
    """

    near: Site
    far: Site
    chunker: Chunker = SMALL_CHUNKS
    level: int | None = None
    compression: Compression | None = None
    grain: int = GRAIN_MAX
    follows: bool = False
    sent: bytearray = field(default_factory=bytearray)
    received: bytearray = field(default_factory=bytearray)
    wire: int = 0
    literal: int = 0
    """Plain bytes that did not come out of the far store."""
    misses: int = 0
    """Chunks that the far side had to ask for,"""
    lists: int = 0
    """and runs."""
    finished: bool = False
    holding: bool = False
    """The far array does not read."""

    def __post_init__(self) -> None:
        self.encoder = encoder_of(self.near, self.chunker, self.level, self.compression)
        self.encoder.grain = self.grain
        self.encoder.course.follows = self.follows
        self.decoder = decoder_of(self.far)
        self.queue: deque[bytes] = deque()
        self.undecoded: deque[OutgoingBatch] = deque()
        self.unconfirmed: deque[OutgoingBatch] = deque()
        self.asked: deque[bytes] = deque()
        self._to_load: bytes | None = None
        self._behind = False
        self._end: tuple[int, bytes] | None = None
        self._bordered = 0

    @property
    def cost(self) -> int:
        """Bytes that the whole stream counts as."""
        return len(self.sent)

    # -- the near array ----------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """The near array writes; batches go out as they fill."""
        self.sent += data
        source = memoryview(data)
        while source:
            room = self.encoder.buffer(len(source))
            n = len(room)
            room[:] = source[:n]
            source = source[n:]
            self.encoder.received(n)
            if self.encoder.ready:
                self.take()

    def pause(self) -> None:
        """The near array has nothing more to say for now."""
        self.encoder.flush()
        self.take()
        if (wanted := self.encoder.course.take_wanted()) is not None:
            self.near.store.load(wanted)

    def border(self) -> None:
        """What the near array writes next is the beginning of a chunk."""
        if len(self.sent) - self._bordered >= BORDERS_APART:
            self.encoder.border()
            self._bordered = len(self.sent)

    def take(self) -> None:
        """What is written goes out."""
        while (batch := self.encoder.take()) is not None:
            self.wire += len(batch.data) + FRAME_BYTES
            self.queue.append(batch.data)
            self.undecoded.append(batch)

    def finish(self) -> None:
        """The near array ends its side."""
        self.encoder.finish()
        self.take()
        self._end = self.encoder.ending()

    # -- the way -----------------------------------------------------------------------------------------------

    def carry(self) -> None:
        """One batch arrives."""
        frame = bytearray(self.queue.popleft())
        if self.holding or self._to_load is not None:
            self.decoder.keep(memoryview(frame))
            frame[:] = bytes(len(frame))
        else:
            decoded = self.decoder.feed(memoryview(frame))
            frame[:] = bytes(len(frame))  # before the array has taken anything: it may take its time
            self._delivered(decoded)

    def answer(self) -> None:
        """One MISS arrives, and its FILL goes back."""
        name = self.asked.popleft()
        assert self.encoder.underway.missed(name), "a MISS for what was not referred to"
        data = self.encoder.underway.runs.listed(name) or self.near.store.read(name)
        if data is None:
            self.near.store.load(name)
            data = self.near.store.read(name)
        assert data is not None
        self.decoder.obtaining.fill(name, data)
        self.proceed()

    def load(self) -> None:
        """What the far side waits for has been loaded, or the disk does not answer."""
        assert self._to_load is not None
        if not self.far.silent:
            self.far.store.load(self._to_load)
            if self._behind:
                self.far.store.prefetch(self._to_load)
        self._to_load = None
        self.proceed()

    def confirm(self) -> None:
        """The news that a batch is consumed arrives."""
        self.encoder.underway.delivered(self.unconfirmed.popleft())

    # -- the far array -----------------------------------------------------------------------------------------

    def proceed(self) -> None:
        """Decode what is there, as far as it goes."""
        while not self.holding and self._to_load is None and self._delivered(self.decoder.advance()):
            pass

    def hold(self, holding: bool) -> None:
        """The far array stops reading, or goes on."""
        self.holding = holding
        self.proceed()

    @property
    def loading(self) -> bool:
        """The far side waits for its disk."""
        return self._to_load is not None

    # -- all at once -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Carry, load and answer until nothing is on its way; each batch is confirmed at once."""
        while self.queue or self.asked or self.loading or self.unconfirmed:
            if self.loading:
                self.load()
            elif self.asked:
                self.answer()
            elif self.unconfirmed:
                self.confirm()
            else:
                self.carry()
        assert self.decoder.idle

    def end(self) -> None:
        """Finish, settle, and compare what arrived with what was sent."""
        self.finish()
        self.settle()
        assert self._end is not None
        total, tokens = self._end
        assert total == self.decoder.total == self.cost
        self.decoder.finish(tokens)
        self.encoder.close()
        assert self.received == self.sent
        self.finished = True

    def abandon(self) -> None:
        """The stream is reset: one teardown for whatever is on its way."""
        for batch in (*self.undecoded, *self.unconfirmed):
            self.encoder.underway.abandon(batch)
        self.encoder.close()
        self.finished = True

    def _delivered(self, decoded: DecodedBatch | None) -> bool:
        if decoded is None:
            self._note(self.decoder.obtaining.needs())
            return False
        at = len(self.received)
        assert decoded.data == self.sent[at : at + len(decoded.data)], "what arrived is no prefix of what was sent"
        self.received += decoded.data
        self.literal += len(decoded.data) - decoded.from_store
        self.unconfirmed.append(self.undecoded.popleft())
        return True

    def _note(self, needs: Needs | None) -> None:
        if needs is None:
            return
        self._to_load = needs.load or needs.load_behind
        self._behind = needs.load_behind is not None
        lists = sum(self.encoder.underway.runs.listed(name) is not None for name in needs.ask)
        self.lists += lists
        self.misses += len(needs.ask) - lists
        self.asked.extend(needs.ask)


def send(near: Site, far: Site, pieces: Iterable[bytes], *, pauses: bool = False, **options: object) -> Stream:
    """A whole stream: the pieces are written, with a pause after each if so asked, and arrive."""
    stream = Stream(near, far, **options)  # type: ignore[arg-type]
    for piece in pieces:
        stream.write(piece)
        if pauses:
            stream.pause()
            stream.settle()
    stream.end()
    return stream


def cut_up(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """The data in pieces of those sizes; the last one takes what is left."""
    pieces = []
    at = 0
    for size in sizes:
        if at >= len(data):
            break
        pieces.append(data[at : at + size])
        at += size
    return [*pieces, data[at:]] if at < len(data) else pieces
