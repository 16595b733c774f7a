"""Encodes plain bytes into batches: has what the source sends cut into chunks, and the chunks sent.

Delivery is not chunking. What has arrived can be delivered at any time (`flush`), in the middle of a chunk. LEARN says
later where the chunk ended, or nothing has to, when the rest goes as a SLICE. So borders depend on content alone.
`Matcher` decides how a chunk is sent, `Drafts` in which batch.
"""

from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy.reduction.batch import BATCH_PLAIN_MAX
from proxy.reduction.beginnings import Beginnings
from proxy.reduction.compression import Compression
from proxy.reduction.course import Course
from proxy.reduction.drafts import Drafts
from proxy.reduction.holdings import Holdings
from proxy.reduction.matcher import Matcher
from proxy.reduction.relief import Relief
from proxy.reduction.runs import Order
from proxy.reduction.underway import Underway

READ_BYTES = 128 << 10
"""Bytes read from an array at once: each read costs some twenty calls, and more bytes would leave the cache."""

FAR = 1 << 62
"""Bytes to the next forced border, as long as none is known."""

_SURE = 512
"""Bytes that have to be the same behind a stored chunk for its end to be a border of the data, too."""


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
        relief: Relief | None = None,
    ) -> None:
        """`writer`: the store keeps chunks of the same writer together. `beginnings`: of chunks behind forced borders.

        `order`: of the peer's store; None if the peer knows no runs. `relief`: of that store; None if it needs none.
        """
        self._chunker = chunker
        self.compression = compression
        self.underway = Underway(store, holdings, order, relief or Relief())
        """Batches that were taken and are not consumed yet."""
        plain_max = BATCH_PLAIN_MAX - READ_BYTES - chunker.maximum  # one read and one chunk more still fit
        self.drafts = Drafts(store, holdings, compression, self.underway, plain_max)
        """Batches that were not taken yet."""
        self.take = self.drafts.take
        """`Drafts.take`."""
        self.ending = self.drafts.ending
        """`Drafts.ending`."""
        self.course = Course(store, holdings, self.underway, beginnings or Beginnings(1))
        """Where the stream is among the stored chunks; its `mark` is read and set at forced borders."""
        self._matcher = Matcher(store, writer, self.course, self.drafts, self.underway)
        self._view = memoryview(bytearray())  # until the source first sends: a peer may open many streams at once
        self._start = 0  # where the incomplete chunk begins
        self._sent = 0  # how many of its bytes are in a batch
        self._end = 0
        self.border_in = FAR
        """Bytes from the end of what has come to the next border that will be forced. In the last half of an average
        chunk before that, content makes no border."""
        self._border_margin = chunker.average // 2

    @property
    def grain(self) -> int:
        """Literal bytes at which a batch is full; at least 1."""
        return self.drafts.grain

    @grain.setter
    def grain(self, grain: int) -> None:
        self.drafts.grain = grain

    @property
    def pending(self) -> tuple[int, int]:
        """Plain bytes that were not taken yet; and of these, in the batch being written, what the peer has to find."""
        drafts = self.drafts
        draft = drafts.draft
        return drafts.plain + self._end - self._start - self._sent, draft.known

    @property
    def ready(self) -> bool:
        """True if a batch is full, or delivers enough to be taken."""
        return self.drafts.ready

    @property
    def shortest(self) -> int:
        """The fewest bytes of a chunk that ends where its content says so."""
        return self._chunker.minimum

    @property
    def unsent(self) -> int:
        """Bytes of the incomplete chunk that are in no batch yet."""
        return self._end - self._start - self._sent

    def affordable(self, credit: int) -> int:
        """How many bytes may be read from the array while `credit` plain bytes may be sent."""
        return credit

    def buffer(self, most: int) -> memoryview:
        """Where the source is to be read to: between 1 and `most` (at least 1) bytes."""
        if len(self._view) - self._end <= READ_BYTES:
            self._move(self._chunker.maximum + READ_BYTES + 1)
        return self._view[self._end : self._end + min(most, READ_BYTES)]

    def shrink(self) -> None:
        """The source is silent: keep no more memory than what has come takes. What `buffer` gave before is invalid."""
        self._move(self._end - self._start + 1)  # one byte more is looked at: see `_cut`

    def received(self, n: int, *, lazy: bool = False) -> None:
        """The source has written n bytes to the start of `buffer()`.

        `lazy`: a border will be forced soon; until then, or until a call without `lazy`, chunks need not be cut.
        """
        self._end += n
        if self._end - self._start >= (self._chunker.maximum + 1 if lazy else self._chunker.minimum):
            self._cut()

    def flush(self, *, patient: bool = False) -> None:
        """The source pauses: put what is left into the batch. `take` all before the next pause.

        `patient`: what may go as a SLICE once `Course.wanted` is loaded stays for the next `flush`, which must come
        soon.
        """
        if self._end - self._start > self._sent:
            self._sent = self._matcher.piece(self._view[self._start : self._end], self._sent, patient=patient)

    def border(self) -> None:
        """Force a border: end the incomplete chunk here, whatever its content says.

        The last such border must be 512 bytes back or more: denser ones would cost more tokens than a batch may have.
        What `buffer` gave before is invalid afterwards.
        """
        self._cut(final=True)
        self._start = self._sent = self._end = 0
        self.course.bordered = True

    def whole(self, data: memoryview) -> None:
        """Send all that lies between two forced borders, without copying it. No incomplete chunk may be before it."""
        view, self._view = self._view, data
        self._start, self._sent, self._end, self.border_in = 0, 0, len(data), 0
        self.border()
        self._view = view

    def finish(self) -> None:
        """The source has ended: what is left is a chunk. `take` the last batches, then ask `ending`."""
        self._cut(final=True)

    def close(self) -> None:
        """Release the buffer, and the pins of batches that were not taken; `underway` releases those of the others."""
        self.drafts.close()
        self._view, self._start, self._sent, self._end = memoryview(b""), 0, 0, 0  # the relay may be collected late

    def _move(self, room: int) -> None:
        """Move the incomplete chunk to the beginning of a buffer of `room` bytes."""
        kept = self._end - self._start
        view = self._view if len(self._view) == room else memoryview(bytearray(room))
        view[:kept] = self._view[self._start : self._end]
        self._view = view
        self._start, self._end = 0, kept

    def _repeat(self, last: int, *, final: bool) -> int:
        """Send the chunks that repeat what is stored behind the last one: to compare takes a fifth of the time that it
        takes to cut and to name. Returns where the rest begins. `last`, `final`: as in `_cut`.

        The first of them is left to `_cut`, and all behind it, if
        - bytes behind it were delivered before the store held it,
        - it may have ended with its stream, as what is stored behind it is not as the data for at least _SURE bytes,
        - or it is shorter than any of ours: a peer may have taught more of those than a batch has tokens for.
        """
        start, end, shortest = self._start, self._end, self._chunker.minimum
        same, place, ends, names = self.course.repeated(self._view[start:end])
        n = at = 0
        for length in ends:
            sound = length + _SURE <= same and start + length <= last and length - at >= shortest
            if length < self._sent or not (sound or (final and start + length == end)):
                break
            n, at = n + 1, length
        if n:
            self._matcher.chunks(self._view[start : start + at], self._sent, place, ends[:n], names[:n])
            self._sent = 0
        return start + at

    def _cut(self, *, final: bool = False) -> None:
        """Send the chunks that are complete, with `final` also what is left.

        A border just before the end of what has come has to be found before bytes behind it are delivered: otherwise
        the far side would have these in its tail, which a LEARN names as a whole. FastCDC looks at bytes in pairs from
        each chunk's start, and at one byte beyond a border, so the last one of an odd number is not seen until another
        follows. Therefore the chunker is always given one byte behind the end as well, whatever it is, as the last
        chunk may start anywhere. That byte may cause a border at the end or behind it, which does not count, except
        after `maximum` bytes.
        """
        end, maximum = self._end, self._chunker.maximum
        last = min(end + self.border_in - self._border_margin, end)
        start = self._repeat(last, final=final)
        for length in self._chunker.cut(self._view[start : end + 1]):
            border = start + length
            if border > last or (border == end and length < maximum):
                break
            self._matcher.chunk(self._view[start:border], self._sent)
            self._sent = 0
            start = border
        if final and start < end:
            self._matcher.chunk(self._view[start:end], self._sent)
            self._sent = 0
            start = end
        self._start = start
