"""Decodes batches into plain bytes: delivers what their tokens say, in order, and learns the chunks that LEARN marks.

`Obtaining` gets the chunks that tokens refer to, and says what is to be done if one is not at hand: the batch then
stops its stream, not the loop, and `advance` goes on with it when something has changed.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from dedupstore.chunker import LARGEST_CHUNK
from dedupstore.fingerprint import CHECK_BYTES, fingerprint
from dedupstore.store import ChunkStore
from proxy.reduction.ahead import AheadMemory
from proxy.reduction.batch import CODEC_CONTEXT, CODEC_ZSTD, ReceivedBatch, Section, dissect, token_bytes
from proxy.reduction.compression import decode
from proxy.reduction.contexts import ContextReader
from proxy.reduction.errors import BatchError, CorruptStream
from proxy.reduction.holdings import Holdings
from proxy.reduction.obtaining import Obtaining
from proxy.reduction.tokens import LEARN, LITERAL, MORE, REFERENCE, RUN, Token, pack, parse, unpack

_BEHIND = 32 << 10
_BEHIND_EACH = 64
_BEHIND_LISTED = 16
"""When a batch has to ask the peer, the batches behind it are searched for what they lack, up to _BEHIND bytes. Counted
are their tokens, _BEHIND_EACH for each batch, and _BEHIND_LISTED for each chunk of a RUN, whose look-up takes half as
long as that of a REFERENCE."""

_PACKED_EACH = 256
"""Tokens that are packed together."""
_APART_MAX = 8
"""Pieces that are given to the array as they are: joining copies a whole batch, and many pieces cost more than that."""
PIECES = 256
"""Pieces that a batch may have while it waits, or for the array to take; more are joined. A peer may slice a chunk into
32,000, each of which takes 180 bytes until the array has taken the last."""


@dataclass(slots=True)
class DecodedBatch:
    """Bytes for the array, how many of them came from the store, and how many bytes BLAKE3 has verified."""

    pieces: list[bytes | memoryview]
    """The bytes for the array, in order."""
    from_store: int
    verified: int
    section: bytes = b""
    """Predicted records, to be restored and woven with the bytes."""
    records: int = 0
    """Bytes of these records, once restored."""
    borrowed: bool = False
    """Some pieces lie in the memory that the batch came in, which is used again once `feed` has returned to its caller:
    they have to be woven and copied before that."""

    @property
    def data(self) -> bytes:
        """All pieces at once."""
        return b"".join(self.pieces)


class _Progress:
    """The present batch, and how far its tokens are carried out."""

    __slots__ = (
        "at",
        "batch",
        "before",
        "delivered",
        "from_store",
        "learned",
        "literals",
        "out",
        "owned",
        "packed",
        "position",
        "section",
        "tokens",
    )

    def __init__(self, batch: ReceivedBatch, literals: memoryview, section: bytes) -> None:
        self.batch = batch
        self.section = section
        self.literals = literals
        self.tokens = batch.tokens
        self.packed: deque[bytes] = deque()  # the tokens behind `tokens`, once the batch has had to wait
        self.before = b""  # name of the chunk that was referred to last, which a RUN follows
        self.at = 0  # next token
        self.position = 0  # next literal byte
        self.delivered = 0
        self.out: list[bytes | memoryview] = []
        self.owned = False
        self.from_store = 0
        self.learned = 0

    def deliver(self, piece: bytes | memoryview) -> None:
        """Add a piece. Raises BatchError, before it costs memory, if the batch yields more than it declares."""
        self.delivered += len(piece)
        if self.delivered > self.batch.plain:
            raise BatchError(f"batch delivers more than the {self.batch.plain} bytes that it declares")
        self.out.append(piece)

    @property
    def left(self) -> Iterator[Token]:
        """The tokens that are not carried out yet."""
        return chain(self.tokens[self.at :], chain.from_iterable(map(unpack, self.packed)))

    def pack(self) -> None:
        """Pack the rest of the tokens, as the batch waits: parsed they take forty times their length.

        All streams of a peer may wait. A few tokens are packed together: the batch may have to wait again for each.
        """
        for end in range(len(self.tokens), self.at, -_PACKED_EACH):
            self.packed.appendleft(pack(self.tokens[max(self.at, end - _PACKED_EACH) : end]))
        self.tokens.clear()
        self.at = 0

    def unpack(self) -> None:
        """Put the next packed tokens into `tokens`, the former of which are all carried out."""
        self.tokens, self.at = unpack(self.packed.popleft()), 0


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
        zstd: bool = False,
        spans: bool = False,
        runs: bool = False,
        silent: Callable[[], bool] = lambda: False,
        ahead: AheadMemory | None = None,
    ) -> None:
        """`writer`: the store keeps chunks of the same writer together.

        `context` (for codec 2), `zstd` (codec 1), `spans` (records), `runs`: what was agreed on with the peer.

        `silent`: whether the store's disk does not answer. `ahead`: the tunnel's account, by default one of its own.
        """
        self.obtaining = Obtaining(store, holdings, writer, silent, ahead or AheadMemory())
        """Gets the chunks that batches name, and says what a batch waits for."""
        self._context = context
        self._foreign = ({CODEC_ZSTD} if not zstd else set()) | ({CODEC_CONTEXT} if context is None else set())
        self._spans = spans
        self._runs = runs
        self._waiting: deque[bytes] = deque()
        self._progress: _Progress | None = None
        self._tail: list[bytes | memoryview] = []
        self._tail_length = 0
        self._slice: tuple[bytes, bytes, int] | None = None  # name, chunk, offset that MORE goes on at
        self._broken = False
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
        decoded = self._advance()
        self._broken = False
        return decoded

    def keep(self, data: memoryview) -> None:
        """Take a batch without decoding it yet: the array, the store or other streams have to be waited for."""
        self._waiting.append(bytes(data))

    def advance(self) -> DecodedBatch | None:
        """Decode the next batch; None if there is none or if it waits (see `obtaining`), or after an error."""
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
        if progress is None or self.obtaining.asking:
            return None
        if not self._run(progress):
            self.obtaining.wait(progress.left, self._behind())
            self._own(progress)
            progress.pack()
            return None
        return self._complete(progress)

    @property
    def gathered(self) -> int:
        """As in `SpanDecoder`: nothing is kept back."""
        return 0

    def let_go(self) -> list[bytes | memoryview]:
        """As in `SpanDecoder`: nothing is kept back."""
        return []

    def finish(self, tokens: bytes) -> None:
        """The far array has ended, and END had these tokens: learn the last chunk, and release everything."""
        parsed = parse(tokens)
        if len(parsed) > 1 or any(token[0] != LEARN for token in parsed):
            raise BatchError("END carries something else than one LEARN")
        for token in parsed:
            self._learn(token[1], token[3])
        self.close()

    def close(self) -> None:
        """Nothing more will be fed: give back what is shared with other streams, and drop what nobody took.

        The stream's parts refer to each other, so the garbage collector may come to them late, and what waits here may
        be a whole window.
        """
        self.obtaining.close()
        self._waiting.clear()
        self._progress = None
        self._border()
        if self._context is not None:
            self._context.close()

    def decoded(self, codec: int, data: memoryview | bytes, length: int) -> memoryview | bytes:
        """Exactly `length` bytes, of codec 0 or, if it was agreed on, 1: neither needs earlier batches."""
        if codec in self._foreign:
            raise BatchError(f"codec {codec}, which was not agreed on")
        return decode(codec, data, length)

    def _begin(self, data: memoryview) -> _Progress:
        batch = dissect(data)
        if not self._runs and any(token[0] == RUN for token in batch.tokens):
            raise BatchError("a RUN, which was not agreed on")
        section = self._section(batch.section) if batch.section.records else b""
        if batch.codec == CODEC_CONTEXT and self._context is not None:
            literals = memoryview(self._context.decode(batch.literals, batch.literal_length))
        else:
            literals = memoryview(self.decoded(batch.codec, batch.literals, batch.literal_length))
        return _Progress(batch, literals, section)

    def _behind(self) -> Iterator[ReceivedBatch]:
        """The batches that wait behind the present one, as far as _BEHIND allows."""
        left = _BEHIND
        for data in self._waiting:
            left -= token_bytes(data) + _BEHIND_EACH
            batch = _dissected(data) if left >= 0 else None
            if batch is None:
                return
            left -= _BEHIND_LISTED * sum(n for opcode, n, _, _ in batch.tokens if opcode == RUN)
            if left < 0:
                return
            yield batch

    def _section(self, section: Section) -> bytes:
        if not self._spans:
            raise BatchError("a section of records, which was not agreed on")
        return bytes(self.decoded(section.codec, section.coded, section.length))

    def _run(self, progress: _Progress) -> bool:
        """Carry out all tokens; False if one of them has to wait."""
        while self._carry_out(progress):
            if not progress.packed:
                return True
            progress.unpack()
        return False

    def _carry_out(self, progress: _Progress) -> bool:
        """Carry out the tokens that are unpacked; False if one of them has to wait."""
        tokens, chunk = progress.tokens, self.obtaining.chunk
        while progress.at < len(tokens):
            opcode, n, offset, name = tokens[progress.at]
            if opcode == RUN:
                if not self._unfold(progress, n, name):
                    return False
                continue
            if opcode == REFERENCE:
                data = chunk(name)
                if data is None:
                    return False
                progress.deliver(data)
                progress.from_store += len(data)
                progress.before = name
                self._border()
            elif opcode == LITERAL:
                self._deliver_literal(progress, n)
            elif opcode == LEARN:
                self._learn(n, name)
                progress.learned += n
            elif not self._deliver_slice(progress, opcode, n, offset, name):
                return False
            progress.at += 1
        return True

    def _unfold(self, progress: _Progress, n: int, name: bytes) -> bool:
        """Deliver what is at hand of the RUN that is next, and replace it by references to the others; False if it is
        not known yet to which chunks."""
        names, place = self.obtaining.run(n, name, before=progress.before)
        if not names:
            return False
        count = 0
        if place is not None:
            count, data = self.obtaining.stretch(place, names, progress.batch.plain - progress.delivered)
            if count:
                progress.deliver(data)
                progress.from_store += len(data)
        progress.tokens[progress.at : progress.at + 1] = [(REFERENCE, 0, 0, each) for each in names[count:]]
        return True

    def _complete(self, progress: _Progress) -> DecodedBatch:
        if progress.delivered != progress.batch.plain:
            raise BatchError(f"batch delivers {progress.delivered} bytes where {progress.batch.plain} are declared")
        records, literal = progress.batch.section.records, progress.batch.literal_length > 0
        apart = records or (not literal and len(progress.out) <= _APART_MAX)
        pieces: list[bytes | memoryview] = progress.out if apart else [b"".join(progress.out)]
        self._progress = None
        verified = progress.learned + self.obtaining.done()
        self._keep_tail()
        self.total += progress.delivered + records
        borrowed = literal and records > 0
        return DecodedBatch(pieces, progress.from_store, verified, progress.section, records, borrowed)

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
            found = self.obtaining.sliced(name)
            if found is None:
                return False
            data = found
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

    def _learn(self, n: int, check: bytes) -> None:
        if n != self._tail_length:
            raise BatchError(f"LEARN of {n} bytes where the tail has {self._tail_length}")
        data = self._tail[0] if len(self._tail) == 1 else b"".join(self._tail)
        name = fingerprint(data)
        if name[:CHECK_BYTES] != check:
            raise CorruptStream(f"a learned chunk of {n} bytes does not match its check")
        self.obtaining.learn(name, data)
        self._border()

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
        """Copy the tail: the memory that the batch came in is about to be used again."""
        if self._tail:
            self._tail = [b"".join(self._tail)]

    def _own(self, progress: _Progress) -> None:
        """Copy what is left of a batch that waits: the memory that it came in is about to be used again.

        If it has waited before, that is copied already; but if it has delivered many pieces since, they are joined:
        each takes 200 bytes, however short it is.
        """
        if progress.owned and len(progress.out) < PIECES:
            return
        progress.owned = True
        progress.literals = memoryview(bytes(progress.literals[progress.position :]))
        progress.position = 0
        delivered = b"".join(progress.out)
        progress.out = [delivered] if delivered else []
        if self._tail_length > len(delivered):
            self._keep_tail()
        elif self._tail:  # no second copy: many streams may wait, and the tail is in `delivered`
            self._tail = [memoryview(delivered)[len(delivered) - self._tail_length :]]


def _dissected(data: bytes) -> ReceivedBatch | None:
    """The batch, or None if it is malformed, which is reported when its turn comes."""
    try:
        return dissect(memoryview(data))
    except BatchError:
        return None
