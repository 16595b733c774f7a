"""Batches in, plain bytes out: what was referred to is read from the store, verified, and delivered in order.

A batch that needs a chunk which is not at hand stops the stream, not the loop: `needs` says what to load from disk
and what to ask the peer for; `advance` goes on when told that something has changed. While the disk does not answer,
the peer is asked for what lies there, too.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.errors import ChunkInvalid, ChunkMissing
from dedupstore.fingerprint import CHECK_BYTES, FINGERPRINT_BYTES, fingerprint
from dedupstore.store import ChunkStore, Place
from proxy.reduction.batch import CODEC_CONTEXT, ReceivedBatch, Section, dissect
from proxy.reduction.compression import decode
from proxy.reduction.contexts import ContextReader
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.holdings import Holdings
from proxy.reduction.runs import stored_behind
from proxy.reduction.tokens import LEARN, LITERAL, MORE, REFERENCE, RUN, SLICE, Token, parse

_LOOK_AHEAD = 1024
"""How many chunks and runs may be asked for at once: what one MISS frame holds."""

KEPT_MAX = 4 << 20
"""What was filled is kept until its batch is decoded, and what is sliced until it is or has to wait: a batch may
name so much of it, each once, however often and however little of each it delivers. (Other references deliver what
they cost.) Batches of our encoder name less (its NAMED_MAX, and the lists of its runs)."""


@dataclass(slots=True)
class Needs:
    """Why a stream waits: a chunk to be loaded from disk, or chunks and runs to ask the peer for (each named once)."""

    load: bytes | None = None
    behind: bytes | None = None
    """A chunk to be loaded, and what was stored behind its container as well."""
    ask: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class DecodedBatch:
    """Bytes for the array, how many of them came from the store, and how many bytes BLAKE3 has verified."""

    pieces: list[bytes | memoryview]
    """These bytes, in order."""
    from_store: int
    verified: int
    section: bytes = b""
    """Predicted records, to be woven with the bytes."""
    records: int = 0
    """Bytes of these records."""
    plain: int = 0
    """What END counts: bytes that its tokens delivered, and records."""
    borrowed: bool = False
    """Some pieces lie in the memory that the batch came in, which is used again once `feed` has returned to its caller:
    they are to be woven, and owned, at once."""

    @property
    def data(self) -> bytes:
        """All pieces at once."""
        return b"".join(self.pieces)


class _Progress:
    """A batch on its way through the tokens."""

    __slots__ = (
        "at",
        "batch",
        "delivered",
        "from_store",
        "literals",
        "looked",
        "out",
        "owned",
        "position",
        "section",
        "verified",
    )

    def __init__(self, batch: ReceivedBatch, literals: memoryview, section: bytes) -> None:
        self.batch = batch
        self.section = section
        self.literals = literals
        self.at = 0  # next token
        self.looked = -1  # the token for which the store has had all loaded that may help
        self.position = 0  # next literal byte
        self.delivered = 0
        self.out: list[bytes | memoryview] = []
        self.owned = False
        self.from_store = 0
        self.verified = 0

    def deliver(self, piece: bytes | memoryview) -> None:
        """A batch that yields more than it declares is refused before that costs memory."""
        self.delivered += len(piece)
        if self.delivered > self.batch.plain:
            raise BatchError(f"batch delivers more than the {self.batch.plain} bytes that it declares")
        self.out.append(piece)


class Decoder:
    """One stream's incoming direction. Loop thread. Any BatchError is the peer's breach of protocol.

    After an error it must not be used any more: what follows in the stream would be delivered with a gap before it.
    """

    def __init__(
        self,
        store: ChunkStore,
        holdings: Holdings,
        writer: int = 0,
        context: ContextReader | None = None,
        *,
        spans: bool = False,
        runs: bool = False,
        silent: Callable[[], bool] = lambda: False,
    ) -> None:
        """`writer`: what the store is to keep together. If agreed, `context`: for codec 2, `spans`: records, `runs`.

        `silent`: whether the store's disk does not answer.
        """
        self._silent = silent
        self._context = context
        self._spans = spans
        self._runs = runs
        self._writer = writer
        self._store = store
        self._holdings = holdings
        self._waiting: deque[bytes] = deque()
        self._progress: _Progress | None = None
        self._tail: list[bytes | memoryview] = []
        self._tail_length = 0
        self._slice: tuple[bytes, bytes, int] | None = None  # name, chunk, offset that MORE goes on at
        self._asked: set[bytes] = set()
        self._lists: set[bytes] = set()  # of these, runs
        self._place: Place | None = None  # of the chunk that was delivered last, if it came from the store
        self._kept: dict[bytes, bytes] = {}
        self._counted: set[bytes] = set()  # what the batch has sliced, and was filled for it
        self._counted_bytes = 0
        self._sliced: list[bytes] = []  # of what is kept, and the store has, too
        self._learned: list[Place] = []  # what holdings have not been told
        self._needs: Needs | None = None
        self._broken = False
        self._container = 0
        self.entered: bytes | None = None
        """The first chunk that was read from another container than the one before: what follows it is wanted next."""
        self.total = 0
        """Plain bytes decoded so far."""

    @property
    def idle(self) -> bool:
        """True if every batch that was fed has been decoded."""
        return self._progress is None and not self._waiting

    def feed(self, data: memoryview) -> DecodedBatch | None:
        """Take a batch; decode it at once if none is before it, keep a copy otherwise."""
        if self._broken or not self.idle:
            self._waiting.append(bytes(data))
            return None
        self._broken = True  # unless this goes well
        self._progress = self._begin(data)
        self._broken = False
        return self.advance()

    def keep(self, data: memoryview) -> None:
        """Take a batch without decoding it yet, because the array is not reading."""
        self._waiting.append(bytes(data))

    def advance(self) -> DecodedBatch | None:
        """Decode the next batch; None if there is none or if it waits (see `needs`), or after an error."""
        if self._broken:
            return None
        self._broken = True  # unless this goes well: what follows a gap must not be delivered
        decoded = self._advance()
        self._broken = False
        return decoded

    def _advance(self) -> DecodedBatch | None:
        if self._progress is None and self._waiting:
            self._progress = self._begin(memoryview(self._waiting.popleft()))
        progress = self._progress
        if progress is None or self._asked:  # until all has come: what is sliced is had again after each wait
            return None
        if not self._run(progress):
            self._own(progress)
            self._forget_sliced()
            return None
        return self._complete(progress)

    def needs(self) -> Needs | None:
        """What the stream waits for, once; None if nothing new."""
        needs, self._needs = self._needs, None
        return needs

    def asks(self, name: bytes) -> bool:
        """True if the peer has yet to fill the chunk or run of that name."""
        return name in self._asked

    def fill(self, name: bytes, data: bytes) -> None:
        """The peer's answer to a MISS, decoded. Raises BatchError if it was not asked for, CorruptStream if wrong."""
        if not self.asks(name):
            raise BatchError(f"FILL of {name.hex()[:16]} was not asked for")
        if not 1 <= len(data) <= LARGEST_CHUNK or fingerprint(data) != name:
            raise CorruptStream(f"filled chunk {name.hex()[:16]} does not match its fingerprint")
        self._asked.discard(name)
        self._keep(name, data)
        if name in self._lists:
            self._lists.discard(name)
            return
        place = self._store.put(name, data, self._writer)
        if place is not None:
            self._holdings.add(place)

    @property
    def gathered(self) -> int:
        """As of `SpanDecoder`: nothing is kept back."""
        return 0

    def let_go(self) -> list[bytes | memoryview]:
        """Likewise."""
        return []

    def learn_last(self, tokens: memoryview) -> None:
        """END's tokens: at most one LEARN of the tail."""
        parsed = parse(tokens)
        if len(parsed) > 1 or any(token[0] != LEARN for token in parsed):
            raise BatchError("END carries something else than one LEARN")
        for token in parsed:
            self._learn(token[1], token[3])
        self.close()

    def close(self) -> None:
        """Nothing more will be fed: give back what is shared with other streams."""
        self._note_learned()
        if self._context is not None:
            self._context.close()

    def _begin(self, data: memoryview) -> _Progress:
        batch = dissect(data)
        section = self._section(batch.section) if batch.section.records else b""
        if batch.codec == CODEC_CONTEXT and self._context is not None:
            literals = memoryview(self._context.decode(batch.literals, batch.literal_length))
        else:
            literals = memoryview(decode(batch.codec, batch.literals, batch.literal_length))
        return _Progress(batch, literals, section)

    def _section(self, section: Section) -> bytes:
        if not self._spans:
            raise BatchError("a section of records, which was not agreed on")
        return bytes(decode(section.codec, section.coded, section.length))

    def _run(self, progress: _Progress) -> bool:
        """Go through the tokens; False if one of them has to wait."""
        tokens = progress.batch.tokens
        while progress.at < len(tokens):
            opcode, n, offset, name = tokens[progress.at]
            if opcode == REFERENCE:
                data = self._chunk(name, progress)
                if data is None:
                    return False
                progress.deliver(data)
                progress.from_store += len(data)
                self._border()
            elif opcode == LITERAL:
                self._deliver_literal(progress, n)
            elif opcode == LEARN:
                self._learn(n, name)
                progress.verified += n
            elif opcode == RUN:
                if not self._unfold(n, name, progress):
                    return False
                continue
            elif not self._deliver_slice(progress, opcode, n, offset, name):
                return False
            progress.at += 1
        return True

    def _unfold(self, n: int, name: bytes, progress: _Progress) -> bool:
        """Put references in a run's place; False if the stream has to wait for its list."""
        if not self._runs:
            raise BatchError("a RUN, which was not agreed on")
        if name in self._asked:
            return False
        names = self._listed(n, name) or self._behind(n, name, progress)
        if names:
            at = progress.at
            progress.batch.tokens[at : at + 1] = [(REFERENCE, 0, 0, each) for each in names]
        return bool(names)

    def _listed(self, n: int, name: bytes) -> list[bytes]:
        """The run's chunks, if the peer has said which these are."""
        data = self._kept.get(name)
        if data is None:
            return []
        if len(data) != n * FINGERPRINT_BYTES:
            raise BatchError(f"a list of {len(data)} bytes for a RUN of {n} chunks")
        return [data[at : at + FINGERPRINT_BYTES] for at in range(0, len(data), FINGERPRINT_BYTES)]

    def _behind(self, n: int, name: bytes, progress: _Progress) -> list[bytes]:
        """The run's chunks, if they are what the store holds; none if that is not known yet, or the peer is asked."""
        before = progress.batch.tokens[progress.at - 1][3]
        place = self._place or self._held(before)
        names = stored_behind(self._store, self._holdings, place, n) if place is not None else []
        if len(names) < n and progress.looked != progress.at and not self._silent():
            progress.looked = progress.at
            self._needs = Needs(behind=names[-1] if names else before)
            return []
        if len(names) == n and fingerprint(b"".join(names)) == name:
            return names
        self._ask(name, progress)
        return []

    def _complete(self, progress: _Progress) -> DecodedBatch:
        if progress.delivered != progress.batch.plain:
            raise BatchError(f"batch delivers {progress.delivered} bytes where {progress.batch.plain} are declared")
        records, literal = progress.batch.section.records, progress.batch.literal_length > 0
        pieces: list[bytes | memoryview] = progress.out if records else [b"".join(progress.out)]
        self._progress = None
        self._kept.clear()
        self._counted.clear()
        self._counted_bytes = 0
        self._sliced.clear()
        self._note_learned()
        self._keep_tail()
        plain = progress.delivered + records
        self.total += plain
        verified, borrowed = progress.verified, literal and records > 0
        return DecodedBatch(pieces, progress.from_store, verified, progress.section, records, plain, borrowed)

    def _deliver_literal(self, progress: _Progress, n: int) -> None:
        piece = progress.literals[progress.position : progress.position + n]
        progress.position += n
        progress.deliver(piece)
        self._slice = None
        self._extend_tail(piece)

    def _deliver_slice(self, progress: _Progress, opcode: int, n: int, offset: int, name: bytes) -> bool:
        if opcode == MORE:
            if self._slice is None:
                raise BatchError("MORE without a SLICE before it")
            name, data, offset = self._slice
        else:
            found = self._chunk(name, progress)
            if found is None:
                return False
            data = found
            if name not in self._kept:
                self._keep(name, data)
                self._sliced.append(name)
        if offset + n > len(data):
            raise BatchError(f"slice {offset}+{n} exceeds its chunk of {len(data)} bytes")
        piece = data[offset : offset + n]
        progress.deliver(piece)
        progress.from_store += n
        self._slice = (name, data, offset + n)
        self._extend_tail(piece)
        if offset + n == len(data) == self._tail_length and b"".join(self._tail) == data:
            self._border()
        return True

    def _chunk(self, name: bytes, progress: _Progress) -> bytes | None:
        """The verified chunk, or None if the stream has to wait for it.

        What was asked for is waited for, even if it has come to the store by another way: the peer must see the MISS
        before it hears that the batch is consumed.
        """
        if name in self._asked:
            return None
        self._place = None
        return self._kept.get(name) or self._stored(name, progress)

    def _keep(self, name: bytes, data: bytes) -> None:
        self._kept[name] = data
        if name not in self._counted:
            self._counted.add(name)
            self._counted_bytes += len(data)
        if self._counted_bytes > KEPT_MAX:
            raise BatchError(f"a batch slices, or had to be filled, more than {KEPT_MAX} bytes of chunks")

    def _forget_sliced(self) -> None:
        """The batch waits, perhaps for long, and so may many."""
        for name in self._sliced:
            del self._kept[name]
        self._sliced.clear()

    def _stored(self, name: bytes, progress: _Progress) -> bytes | None:
        """The chunk from the store; None if it has to be obtained first."""
        place = self._held(name)
        try:
            data = self._store.read(name) if place is not None else b""
        except (ChunkMissing, ChunkInvalid):
            data = b""
        if data is None and not self._silent():
            self._needs = Needs(load=name)
        elif not data:
            self._ask(name, progress)
        else:
            progress.verified += len(data)
            self._place = place
            if place is not None and place[0] != self._container:
                self._container = place[0]
                self.entered = name
        return data or None

    def _ask(self, name: bytes, progress: _Progress) -> None:
        """Ask for the chunk or the run, and at once for all else in this batch that is not at hand."""
        tokens = progress.batch.tokens[progress.at :]
        missing = list(dict.fromkeys([name, *self._lacking(tokens)]))[:_LOOK_AHEAD]
        self._asked.update(missing)
        self._lists.update({token[3] for token in tokens if token[0] == RUN}.intersection(missing))
        self._needs = Needs(ask=missing)

    def _lacking(self, tokens: list[Token]) -> Iterator[bytes]:
        """What the tokens name and is not at hand, unless they teach it; and runs behind such chunks.

        All runs, if they begin with one that was not found: there will be others.
        """
        taught = {name for opcode, _, _, name in tokens if opcode == LEARN}
        astray = tokens[0][0] == RUN
        lacking = False
        for opcode, _, _, name in tokens:
            if opcode in (REFERENCE, SLICE):
                lacking = name[:CHECK_BYTES] not in taught and not self._at_hand(name)
                if lacking:
                    yield name
            elif opcode == RUN and (lacking or astray) and not self._at_hand(name):
                yield name

    def _at_hand(self, name: bytes) -> bool:
        """True if the chunk or run need not be asked for, or was asked for already."""
        return name in self._asked or name in self._kept or (self._held(name) is not None and self._readable(name))

    def _readable(self, name: bytes) -> bool:
        """What is held can be had: while the disk does not answer, only what is in memory."""
        if not self._silent():
            return True
        with suppress(ChunkMissing, ChunkInvalid):
            return self._store.read(name) is not None
        return False

    def _held(self, name: bytes) -> Place | None:
        """Where the chunk lies, if we have it and the peer may refer to it."""
        if self._learned:
            self._note_learned()
        place = self._store.find(name)
        return place if place is not None and self._holdings.shares(place) else None

    def _learn(self, n: int, check: bytes) -> None:
        if n != self._tail_length:
            raise BatchError(f"LEARN of {n} bytes where the tail has {self._tail_length}")
        data = self._tail[0] if len(self._tail) == 1 else b"".join(self._tail)
        name = fingerprint(data)
        if name[:CHECK_BYTES] != check:
            raise CorruptStream(f"a learned chunk of {n} bytes does not match its check")
        place = self._store.put(name, data, self._writer)
        if place is not None:
            self._learned.append(place)
        self._border()

    def _note_learned(self) -> None:
        """What the peer has taught it holds: said before anything is looked up, and when a batch is complete."""
        self._holdings.add_all(self._learned)
        self._learned.clear()

    def _border(self) -> None:
        self._tail.clear()
        self._tail_length = 0
        self._slice = None

    def _extend_tail(self, piece: bytes | memoryview) -> None:
        self._tail.append(piece)
        self._tail_length += len(piece)
        if self._tail_length > LARGEST_CHUNK:
            raise BatchError(f"more than {LARGEST_CHUNK} bytes without a chunk border")

    def _keep_tail(self) -> None:
        """The batch's memory is about to be used again: own what outlives it."""
        if self._tail:
            self._tail = [b"".join(self._tail)]

    def _own(self, progress: _Progress) -> None:
        """The batch waits and the memory it came in is about to be used again: own what is left of it."""
        if progress.owned:
            return
        progress.owned = True
        progress.literals = memoryview(bytes(progress.literals[progress.position :]))
        progress.position = 0
        delivered = b"".join(progress.out)
        progress.out = [delivered]
        if self._tail_length > len(delivered):
            self._keep_tail()
        elif self._tail:  # many streams may wait, and it is there already
            self._tail = [memoryview(delivered)[len(delivered) - self._tail_length :]]
