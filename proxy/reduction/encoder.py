"""Plain bytes in, batches out: chunking, references, literals, learn marks.

Delivery is not chunking. What has arrived can be delivered at any time (`flush`), in the middle of a chunk; the
chunk's border is told later by LEARN, or needs no telling when the rest goes as a SLICE. So borders depend on content
alone. While the data follows what was stored before, even the piece of a chunk before a pause needs no literal
bytes: the chunk that was stored after the last one is expected, and if the piece is its beginning, it goes as SLICE.
"""

from collections import deque

from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore, Place
from proxy.reduction.batch import BATCH_PLAIN_MAX, NO_SECTION, Section, assemble
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.compression import Compression
from proxy.reduction.course import Course, Mark, Stored
from proxy.reduction.draft import Draft, EncodedBatch
from proxy.reduction.holdings import Holdings
from proxy.reduction.prefix import common_prefix
from proxy.reduction.runs import Order
from proxy.reduction.tokens import learn_token, literal_token, more_token, slice_token
from proxy.reduction.underway import Underway

READ_BYTES = 128 << 10
"""How much is read from an array at once: each read costs some twenty calls, and more would leave the cache."""

BATCH_TARGET = 192 << 10
"""A batch is to be taken at this many plain bytes, or at twice that where none are literal."""

GRAIN_MAX = 256 << 10
"""Literal bytes of one batch, at most. On a slow line less, so that no frame keeps the line busy for long."""

_WORTH_SLICING = 64
"""Bytes: a SLICE takes up to 39 itself."""
_WORTH_FOLLOWING = 512
"""Bytes of a slice where a chunk may consist of several: shorter ones would cost more tokens than a batch may have."""
_ROOMY = 3072
"""A chunk of so many bytes may have two slices that are shorter, at its beginning and at its end. Elsewhere few bytes
go as they are, and what comes behind them as a slice again."""
_FOLLOWED_MAX = 2 << 20
"""A batch that has named so many bytes of chunks names no more for slices of chunks that are not known: whole chunks
need the rest of NAMED_MAX, and few bytes must not have the peer read more than this."""

FAR = 1 << 62
"""Bytes to a border that nobody knows of."""


class Encoder:
    """One stream's outgoing direction. Loop thread.

    The array's bytes are read into `buffer()` and announced by `received`; `take` yields what is to be sent.
    """

    def __init__(
        self,
        chunker: Chunker,
        store: ChunkStore,
        holdings: Holdings,
        compression: Compression,
        writer: int = 0,
        beginnings: Beginnings | None = None,
        order: Order | None = None,
    ) -> None:
        """`writer`: what the store is to keep together. `beginnings`: of chunks behind forced borders.

        `order`: of the peer's store; None if the peer knows no runs.
        """
        self._chunker = chunker
        self._writer = writer
        self._store = store
        self._holdings = holdings
        self.compression = compression
        self.underway = Underway(store, holdings, order)
        """Batches that were taken."""
        self._view = memoryview(bytearray())  # until the source first sends: a peer may open many streams at once
        self._start = 0  # where the incomplete chunk begins
        self._sent = 0  # up to where its bytes are in a batch
        self._end = self._total = 0
        self._draft = Draft()
        self._course = Course(store, holdings, self.underway, beginnings or Beginnings(1))
        self._slice: tuple[bytes, int] | None = None  # chunk that SLICE named, and the offset that MORE goes on at
        self._expected: Stored | None = None  # chunk that was sent by SLICE, and where in it the incomplete one begins
        self._known = False  # the last complete chunk was sent by what is stored
        self._surprised = False  # the incomplete chunk is not the expected one
        self._sealed: deque[Draft] = deque()  # batches that are full
        self._sealed_plain = 0
        self.follows = False
        """A chunk that is not known goes as slices as far as it repeats what was stored one after another."""
        self.border_in = FAR
        """Bytes from the end of what has come to the next border that will be forced. In the last half of an average
        chunk before that, content makes no border."""
        self._border_margin = chunker.average // 2
        self._plain_max = BATCH_PLAIN_MAX - READ_BYTES - chunker.maximum  # with one read and one chunk more it is legal
        self.grain = GRAIN_MAX
        """Literal bytes at which a batch is full; at least 1."""

    @property
    def wanted(self) -> bytes | None:
        """A chunk whose container, once loaded, would let the next pause go as a SLICE."""
        return self._course.wanted

    @wanted.setter
    def wanted(self, wanted: bytes | None) -> None:
        self._course.wanted = wanted

    @property
    def plain(self) -> int:
        """Plain bytes in the batch being written, and in those that are full."""
        return self._sealed_plain + self._draft.plain

    @property
    def pending(self) -> tuple[int, int]:
        """Plain bytes that were not taken; and of these, in the batch being written, what the peer knows."""
        return self.plain + self.unsent, self._draft.plain - self._draft.literal

    @property
    def full(self) -> bool:
        """True if a batch can hold no more."""
        return bool(self._sealed) or self._draft.literal >= self.grain

    @property
    def ready(self) -> bool:
        """True if a batch is full, or delivers enough to be taken."""
        draft = self._draft
        return self.full or draft.plain >= min(self._plain_max, 2 * BATCH_TARGET - draft.literal)

    @property
    def shortest(self) -> int:
        """Bytes of a chunk that content ends, at least."""
        return self._chunker.minimum

    @property
    def next_plain(self) -> int:
        """Plain bytes of the batch that `take` would give now."""
        return self._sealed[0].plain if self._sealed else self._draft.plain

    @property
    def unsent(self) -> int:
        """Bytes of the incomplete chunk that are in no batch yet."""
        return self._end - self._sent

    def affordable(self, credit: int) -> int:
        """How many of the array's bytes may be read for that many plain bytes."""
        return credit

    def buffer(self, most: int) -> memoryview:
        """Where the source is to be read to: between 1 and `most` (at least 1) bytes."""
        if len(self._view) - self._end <= READ_BYTES:
            self._move(self._chunker.maximum + READ_BYTES + 1)
        return self._view[self._end : self._end + min(most, READ_BYTES)]

    def shrink(self) -> None:
        """The source is silent: take no more room than what has come. What `buffer` gave before is of no more use."""
        self._move(self._end - self._start + 1)  # one is lent: see `_cut_ahead`

    def received(self, n: int, *, lazy: bool = False) -> None:
        """The source has written n bytes to the start of `buffer()`.

        `lazy`: a border will be forced soon; until then, or until `received` is called without, chunks may wait.
        """
        self._end += n
        if self._end - self._start >= (self._chunker.maximum + 1 if lazy else self._chunker.minimum):
            self._cut(final=False)

    def flush(self, *, patient: bool = False) -> None:
        """The source pauses: put what is left into the batch. `take` all before the next pause.

        `patient`: what may go as a SLICE once `wanted` is loaded stays for the next `flush`, which must come soon.
        """
        if self._end > self._sent:
            self._cut_ahead()
        if self._end > self._sent and not self._flush_expected() and not (patient and self.wanted is not None):
            self._literal(self._end)

    def border(self) -> None:
        """Force a border: end the incomplete chunk here, whatever its content says.

        The last such border must be 512 bytes back or more: denser ones would cost more tokens than a batch may have.
        What `buffer` gave before is of no use any more.
        """
        self._cut(final=True)
        self._start = self._sent = self._end = 0
        self._course.bordered = True

    def whole(self, data: memoryview) -> None:
        """All that lies between two forced borders, without a copy of it. Nothing incomplete may be before it."""
        view, self._view = self._view, data
        self._start, self._sent, self._end, self.border_in = 0, 0, len(data), 0
        self.border()
        self._view = view

    @property
    def mark(self) -> Mark:
        """Where the stream is in what is stored; to be asked at a border."""
        return self._course.last, self._course.inside, self._known

    @mark.setter
    def mark(self, mark: Mark) -> None:
        """What comes next goes on from there; to be set at a border. Whether that is still stored shows in its use."""
        self._course.last, self._course.inside, self._known = mark

    def finish(self) -> None:
        """The source has ended: what is left is a chunk. `take` the last batches, then ask `ending`."""
        self._cut_ahead()
        self._cut(final=True)

    def ending(self) -> tuple[int, bytes]:
        """What END says: the total of plain bytes, and the mark to learn the last chunk if no batch carries it."""
        draft, self._draft = self._draft, Draft()
        self._holdings.add_all([place for _, place in draft.learned])
        return self._total, b"".join(draft.tokens)

    def take(self, section: Section = NO_SECTION) -> EncodedBatch | None:
        """The next batch, with those records; None if it would deliver nothing.

        Its chunks stay pinned until `underway` is told that it was delivered, or that it never will be.
        """
        draft = self._sealed[0] if self._sealed else self._draft  # there until it is written, so that `close` knows it
        if not (draft.plain or section.records):
            return None
        tokens = draft.write(self.underway.run_room if draft.referring else 0)
        codec, encoded = self.compression.encode(draft.literals, draft.literal)
        data = assemble(draft.plain, codec, tokens, draft.literal, encoded, section)
        self.underway.send(draft)
        plain, reduced = draft.plain + section.records, len(tokens) + draft.literal + section.length
        if self._sealed:
            self._sealed.popleft()
            self._sealed_plain -= draft.plain
        else:
            self._draft = Draft()
        return EncodedBatch(
            data, plain, draft.literal, reduced, draft.references, draft.named, draft.lists, draft.pinned, draft.learned
        )

    def close(self) -> None:
        """Release the pins of what was not taken, and the room; batches that were are released by `Underway`."""
        for draft in (*self._sealed, self._draft):
            for container in draft.pinned:
                self._store.unpin(container)
        self._sealed.clear()
        self._sealed_plain = 0
        self._draft = Draft()
        self._view, self._start, self._sent, self._end = memoryview(b""), 0, 0, 0  # its relay may be garbage for long
        self.compression.close()

    def _move(self, room: int) -> None:
        """The incomplete chunk to the beginning of so many bytes."""
        kept = self._end - self._start
        view = self._view if len(self._view) == room else memoryview(bytearray(room))
        view[:kept] = self._view[self._start : self._end]
        self._view = view
        self._start, self._sent, self._end = 0, self._sent - self._start, kept

    def _cut(self, final: bool) -> None:
        start = self._start
        last = self._end + self.border_in - self._border_margin
        for length in self._chunker.cut(self._view[start : self._end], final):
            if start + length > last:
                break
            self._chunk(start, start + length)
            start += length
        if final and start < self._end:
            self._chunk(start, self._end)
            start = self._end
        self._start = start

    def _cut_ahead(self) -> None:
        """Find a border just before the end of what has come, before bytes behind it are delivered.

        (Then the far side would have them in its tail, which a LEARN names as a whole.) FastCDC looks at bytes in pairs
        from the chunk's start, and at one byte beyond a border: in an odd number of bytes the last one goes unseen
        until another follows. So one is lent, whatever it is; a border at the end or behind it would be its doing.
        """
        length = self._end - self._start
        if length < self._chunker.minimum or length % 2 == 0:
            return
        start = self._start
        for n in self._chunker.cut(self._view[start : self._end + 1]):
            if start + n >= min(self._end, self._end + self.border_in - self._border_margin + 1):
                break
            self._chunk(start, start + n)
            start += n
        self._start = start

    def _chunk(self, start: int, end: int) -> None:
        """A complete chunk: refer to it, or deliver and learn it."""
        data = self._view[start:end]
        name = fingerprint(data)
        if (place := self._known_at(name, end - start)) is not None:
            self._refer(name, place, start, end)
        elif (
            self.follows
            and (self._known or self._course.bordered or self._expected)  # otherwise there is no candidate
            and (stored := self._candidate(start, end)) is not None
        ):
            self._follow(name, start, end, stored)
        else:
            self._literal(end)
            self._learn(name, data)
            self._known = False
        if self._course.bordered:
            self._course.note(name, data)
        self._slice = self._expected = None
        self._surprised = False
        self._sent = end

    def _known_at(self, name: bytes, length: int) -> Place | None:
        """Where that chunk of so many bytes lies, if the batch may refer to it."""
        place = self._store.find(name)
        if place is not None and self._course.may_refer(name, place) and self._draft.may_name(name, length):
            return place
        return None

    def _refer(self, name: bytes, place: Place, start: int, end: int) -> None:
        if self._sent <= start:
            draft = self._draft
            draft.refer(name, place, end - start)
            self._total += end - start
            self._pin(place[0])
        elif end - self._sent >= _WORTH_SLICING:
            self._slice_to(name, place, end - start, self._sent - start, end)
        else:
            self._literal(end)
            self._draft.tokens.append(learn_token(end - start, name))
        self._course.passed(name, place)
        self._known = True

    def _follow(self, name: bytes, start: int, end: int, stored: Stored) -> None:
        """Send a chunk that is not known: as slices as far as what is stored goes on like it, the rest literally."""
        border, known = self._slice_along(start, end, stored)
        rest = self._view[border:end]
        if start < border < end:
            name = fingerprint(rest)  # what is behind a whole chunk may have been learned alone
            if not known and (place := self._known_at(name, end - border)) is not None:
                self._refer(name, place, border, end)
                return
        mark = self.mark
        self._literal(end)
        if border < end:
            self._learn(name, rest)
        if known:
            self.mark = mark
        self._known = known

    def _slice_along(self, start: int, end: int, stored: Stored | None) -> tuple[int, bool]:
        """Send what repeats `stored`, and what was stored behind that, as slices.

        Few bytes, which go as they are, may lead to the end of a stored chunk, but not twice in a row. Returns where
        the chunk begins that is left to be learned, and whether its end was found in what is stored.
        """
        border, bridged = start, False
        while stored is not None:
            name, place, data, at = stored
            n = common_prefix(data, at, self._view[self._sent : end])
            last = self._sent + n == end
            few = n < _WORTH_FOLLOWING and at < len(data)
            if few and not last and (bridged or at + n < len(data)):
                break
            sliced = not few or (end - start >= _ROOMY and (last or self._sent == start))
            if sliced and n and not self._draft.may_name(name, len(data), _FOLLOWED_MAX):
                break
            sliced = self._tell(stored, self._sent + n, sliced=sliced)
            bridged = few
            if at + n < len(data):
                self._course.inside = name, place, at + n
                return border, last
            if sliced and self._sent - border == len(data) and data.startswith(self._view[border : self._sent]):
                border = self._sent  # the peer sees the whole chunk, and so a border
            self._course.passed(name, place)
            if last:
                return border, True
            stored = self._course.continuation()
        return border, False

    def _candidate(self, start: int, end: int) -> Stored | None:
        """What is stored that this chunk may repeat, from what was not sent of it on; None if nothing is known."""
        if self._expected is not None and not self._surprised and self._course.may_still(self._expected):
            name, place, data, at = self._expected
            at += self._sent - start
            return Stored(name, place, data, at) if at <= len(data) else None
        stored = self._course.recall(self._view[start:end], self._course.continuation() if self._known else None)
        if stored is None or self._sent == start:
            return stored
        at = stored.at + self._sent - start
        return stored._replace(at=at) if stored.data.startswith(self._view[start : self._sent], stored.at) else None

    def _tell(self, stored: Stored, end: int, *, sliced: bool = True) -> bool:
        """Send the bytes up to `end`, which are those of `stored` from its `at` on. True if they go as a slice."""
        if end - self._sent < _WORTH_SLICING or not sliced:
            self._literal(end)
            return False
        self._slice_to(stored.name, stored.place, len(stored.data), stored.at, end)
        return True

    def _slice_to(self, name: bytes, place: Place, length: int, offset: int, end: int) -> None:
        """Send the bytes up to `end` as a slice from that offset on, of a stored chunk of so many bytes."""
        n = end - self._sent
        if self._slice == (name, offset):  # the peer has the chunk at hand
            self._draft.tokens.append(more_token(n))
        else:
            self._draft.name(name, length)
            self._pin(place[0])
            self._draft.tokens.append(slice_token(name, offset, n))
        self._slice = (name, offset + n)
        self._count(n)
        self._sent = end

    def _literal(self, end: int) -> None:
        while self._sent < end:
            draft = self._draft
            n = min(end - self._sent, self.grain - draft.literal)
            if n <= 0:
                self.seal()
                continue
            draft.tokens.append(literal_token(n))
            draft.literals.append(bytes(self._view[self._sent : self._sent + n]))
            draft.literal += n
            self._count(n)
            self._sent += n
            self._slice = None

    def seal(self) -> None:
        """The batch is full, or is to count as that, if it delivers anything: another one is begun."""
        if self._draft.plain:
            self._sealed.append(self._draft)
            self._sealed_plain += self._draft.plain
            self._draft = Draft()

    def _learn(self, name: bytes, data: memoryview) -> None:
        self._draft.tokens.append(learn_token(len(data), name))
        place = self._store.put(name, data, self._writer)
        self._course.passed(name, place)
        if place is not None:
            self._draft.learned.append((name, place))
            self.underway.teach(name)

    def _flush_expected(self) -> bool:
        """Send the incomplete chunk's bytes as slices of what is expected, as far as they are the same.

        A slice up to the expected chunk's end may be a border, and it is not known yet whether there is one (the
        expected chunk may have ended with its stream). So its last byte goes as a literal.
        """
        if self._surprised or self._end - self._sent < _WORTH_SLICING:
            return False
        if self._expected is None or not self._course.may_still(self._expected):
            self._expected = self._course.recall(self._view[self._start : self._end], self._course.continuation())
        began = self._sent
        while self._expected is not None and self._sent < self._end:
            name, place, data, begins = self._expected
            at = begins + self._sent - self._start
            n = common_prefix(data, at, self._view[self._sent : self._end])
            crosses = at + n == len(data)
            worth = n >= _WORTH_FOLLOWING or self._sent == began  # more of the short ones would be too many tokens
            if self._sent + n < self._end and not (crosses and worth and self.follows):
                self._surprised = True
                return False
            if not self._draft.may_name(name, len(data)):
                return False
            end = self._sent + n
            self._tell(Stored(name, place, data, at), end - crosses)
            self._literal(end)
            if self._sent < self._end:
                self._cross(name, place)
        return self._sent == self._end

    def _cross(self, name: bytes, place: Place) -> None:
        """The chunk is over, the incomplete one is not, and goes on like the chunk after that."""
        self._course.passed(name, place)
        following = self._course.continuation()
        self._expected = None if following is None else following._replace(at=self._start - self._sent)

    def _count(self, n: int) -> None:
        self._draft.plain += n
        self._total += n

    def _pin(self, container: int) -> None:
        """The batch refers to a chunk that lies there."""
        if container not in self._draft.pinned:
            self._draft.pinned.add(container)
            self._store.pin(container)
