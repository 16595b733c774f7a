"""Batches that were not taken yet: tokens are written into the last one, those before it are full."""

from collections import deque
from collections.abc import Sequence

from dedupstore.store import ChunkStore, Place
from proxy.reduction.batch import NO_SECTION, Section, assemble
from proxy.reduction.compression import Compression
from proxy.reduction.holdings import Holdings
from proxy.reduction.outgoing import OutgoingBatch
from proxy.reduction.tokens import learn_token, literal_token, more_token, slice_token
from proxy.reduction.underway import Underway

GRAIN_MAX = 256 << 10
"""Literal bytes of one batch, at most. It is less on a slow line, so that no frame keeps the line busy for long."""

BATCH_TARGET = 192 << 10
"""A batch is to be taken at this many plain bytes, or at twice that where none are literal."""


class Drafts:
    """The drafts of one stream's outgoing direction. Loop thread."""

    def __init__(
        self, store: ChunkStore, holdings: Holdings, compression: Compression, underway: Underway, plain_max: int
    ) -> None:
        """`plain_max`: plain bytes at which a batch is to be taken in any case."""
        self._store = store
        self._holdings = holdings
        self._compression = compression
        self._underway = underway
        self._plain_max = plain_max
        self._full: deque[OutgoingBatch] = deque()
        self._full_plain = 0  # plain bytes of these
        self.taken = 0
        """Plain bytes of batches that were taken, without records."""
        self.draft = OutgoingBatch()
        """The batch that is being written."""
        self.sliced: tuple[bytes, int] | None = None
        """The chunk that the last SLICE named, and the offset at which MORE would go on; None behind a literal. The
        caller sets it to None at each border."""
        self.grain = GRAIN_MAX
        """Literal bytes at which a batch is full; at least 1."""

    # -- what there is -----------------------------------------------------------------------------------------

    @property
    def plain(self) -> int:
        """Plain bytes of the batch being written, and of those that are full."""
        return self._full_plain + self.draft.plain

    @property
    def full(self) -> bool:
        """True if a batch is full."""
        return bool(self._full) or self.draft.literal >= self.grain

    @property
    def ready(self) -> bool:
        """True if a batch is full, or delivers enough to be taken."""
        if self._full:
            return True
        draft = self.draft
        literal = draft.literal
        plain = draft.plain
        return literal >= self.grain or plain >= self._plain_max or plain >= 2 * BATCH_TARGET - literal

    @property
    def next_plain(self) -> int:
        """Plain bytes of the batch that `take` would give now."""
        return self._full[0].plain if self._full else self.draft.plain

    # -- writing -----------------------------------------------------------------------------------------------

    def literal(self, data: memoryview) -> None:
        """Write these bytes as literals, into as many batches as the grain calls for."""
        while data:
            draft = self.draft
            room = self.grain - draft.literal
            if room <= 0:
                self.seal()
                continue
            piece = bytes(data[:room])
            n = len(piece)
            draft.tokens.append(literal_token(n))
            draft.literals.append(piece)
            draft.literal += n
            draft.plain += n
            self.sliced = None
            data = data[n:]

    def slice(self, name: bytes, place: Place, length: int, offset: int, n: int) -> None:
        """Write a SLICE or MORE: n bytes, from `offset` on, of a chunk of `length` bytes that is stored at `place`."""
        draft = self.draft
        if self.sliced == (name, offset):  # the peer has the chunk at hand
            draft.tokens.append(more_token(n))
        else:
            draft.name(name, length)
            if place[0] not in draft.pinned:
                draft.pinned.add(place[0])
                self._store.pin(place[0])
            draft.tokens.append(slice_token(name, offset, n))
        self.sliced = (name, offset + n)
        draft.plain += n

    def refer(self, names: Sequence[bytes], place: Place, length: int) -> None:
        """Write references, as of `OutgoingBatch`."""
        draft = self.draft
        draft.refer(names, place, length)
        if place[0] not in draft.pinned:
            draft.pinned.add(place[0])
            self._store.pin(place[0])

    def learn(self, name: bytes, length: int, place: Place | None) -> None:
        """Write a LEARN: the last `length` bytes are a chunk. `place`: where our store has just put it; None if the
        peer holds it already, or our store has no room for it."""
        draft = self.draft
        draft.tokens.append(learn_token(length, name))
        if place is not None:
            draft.learned.append((name, place))
            self._underway.teach(name)

    def seal(self) -> None:
        """Count the batch being written as full, and begin another; does nothing if it delivers nothing."""
        if self.draft.plain:
            self._full.append(self.draft)
            self._full_plain += self.draft.plain
            self.draft = OutgoingBatch()

    # -- taking ------------------------------------------------------------------------------------------------

    def take(self, section: Section = NO_SECTION) -> OutgoingBatch | None:
        """The next batch, with those records; None if it would deliver nothing.

        Its chunks stay pinned until `Underway` is told that it was delivered, or that it never will be.
        """
        draft = self._full[0] if self._full else self.draft  # removed once it is written: until then `close` unpins it
        if not (draft.plain or section.records):
            return None
        tokens = draft.write(self._underway.runs.room if draft.referring else 0)
        codec, encoded = self._compression.encode(draft.literals, draft.literal)
        draft.data = assemble(draft.plain, codec, tokens, draft.literal, encoded, section)
        draft.after_deduplication = len(tokens) + draft.literal + section.length
        self._underway.send(draft)
        self.taken += draft.plain
        if self._full:
            self._full.popleft()
            self._full_plain -= draft.plain
        else:
            self.draft = OutgoingBatch()
        draft.plain += section.records
        draft.records = section.records
        del draft.tokens, draft.referring, draft.literals  # `data` has them
        return draft

    def ending(self) -> tuple[int, bytes]:
        """What END says: the total of plain bytes, and the LEARN of the last chunk if no batch carries it."""
        draft, self.draft = self.draft, OutgoingBatch()
        self._holdings.add_all([place for _, place in draft.learned])  # now, as nothing says when END is consumed
        return self.taken, b"".join(draft.tokens)

    def close(self) -> None:
        """Release the pins of batches that were not taken; `Underway` releases those of the others."""
        for draft in (*self._full, self.draft):
            for container in draft.pinned:
                self._store.unpin(container)
        self._full.clear()
        self._full_plain = 0
        self.draft = OutgoingBatch()
        self._compression.close()
