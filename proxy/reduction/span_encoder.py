"""Encodes the outgoing direction of iSCSI streams: payload goes through `Encoder`, records go into sections.

`SpanEncoder` wraps `Encoder` and is used like it. Whether a direction has spans shows in its first batch: if that has
no records, none of the later ones has. The opener decides by what its array sends first; the acceptor does what the
opener does (PROTOCOL.md, "Spans").
"""

from collections import deque
from collections.abc import Callable

from proxy.iscsi.framer import Framer
from proxy.iscsi.prediction import Predictor
from proxy.iscsi.record import PLAIN
from proxy.reduction.batch import BATCH_PLAIN_MAX, CODEC_NONE, CODEC_ZSTD, NO_SECTION, Section
from proxy.reduction.compression import WORTH_TRYING, Compression, zstd
from proxy.reduction.drafts import BATCH_TARGET
from proxy.reduction.encoder import Encoder
from proxy.reduction.outgoing import OutgoingBatch
from proxy.reduction.payload import Payload

_TARGET = 2 * BATCH_TARGET
"""A batch is to be taken at this many plain bytes, also where they are literal: each batch has a section of its own."""

_RECORDS_TARGET = 32 << 10
"""At so many bytes (at the grain, if that is less) records wait no longer for the chunk before them to be complete."""

_compress = zstd(3)

LOOK_BYTES = 64 << 10
"""Bytes that are read before they are looked at, unless long PDUs come: all of them may be records, of which a batch
takes no more than RECORDS_MAX."""
_LOOK_MOST = LOOK_BYTES + (4 << 10)
"""The same while payload comes that a header has announced: that becomes no records."""
_MARGIN = 64
_EXPANSION = 12
"""Records may be longer than the PDUs they stand for: bytes read become at most a twelfth, and a few bytes, more."""


class SpanEncoder:
    """One stream's outgoing direction. Loop thread. Used as `Encoder` is."""

    def __init__(
        self,
        encoder: Encoder,
        framer: Framer,
        clock: Callable[[], float],
        *,
        opener: Callable[[], bool] | None = None,
        fell: Callable[[str, bool], None] | None = None,
    ) -> None:
        """`opener`: on the acceptor's side, whether the opener's direction has spans, asked when the array speaks.

        `fell` is told why the rest of the direction goes as it is, and whether it began as iSCSI.
        """
        self.framer = framer
        self._encoder = encoder
        self._drafts = encoder.drafts
        self.course = encoder.course
        """The encoder's."""
        self._clock = clock
        self._opener = opener
        self._fell = fell
        self._predictor = Predictor()
        self.underway = encoder.underway
        """The encoder's."""
        self._payload = Payload(encoder)
        self.payload = self._payload.place
        """As `Spans.payload`."""
        self._view = memoryview(bytearray())  # until the array first sends
        self._filled = 0  # bytes of that which were read and not looked at
        self._goal = LOOK_BYTES  # bytes at which these are looked at
        self._gathers = False  # they are not looked at before, unless the source pauses
        self._plain = False  # what comes goes to the encoder as it is
        self._records: deque[tuple[int, bytes]] = deque()
        """Records in no batch yet, each with how many bytes of payload come before it."""
        self._records_length = 0
        self._due = min(encoder.grain, _RECORDS_TARGET)
        """Bytes of records at which they wait no longer."""
        self.records_taken = 0
        """Bytes of records in batches that were taken."""
        self.records_coded = 0
        """Bytes that these took in sections, in their codec."""

    # -- as of Encoder -----------------------------------------------------------------------------------------

    @property
    def compression(self) -> Compression:
        """The compression of the payload's literals."""
        return self._encoder.compression

    @property
    def grain(self) -> int:
        """Literal bytes at which a batch is full, or bytes of records that no payload follows; at least 1."""
        return self._drafts.grain

    @grain.setter
    def grain(self, grain: int) -> None:
        self._drafts.grain = grain
        self._due = min(grain, _RECORDS_TARGET)

    @property
    def pending(self) -> tuple[int, int]:
        """Plain bytes that were not taken yet; and of these, in the batch being written, what the peer has to find.

        Bytes that were not looked at count as the most that they may come to. The length of records is subtracted from
        what the peer has to find, since their section may be longer than they are.
        """
        pending, known = self._encoder.pending
        records = self._records_length
        unseen = self.framer.held + self._filled
        unseen += unseen // (_EXPANSION - 1)  # as `affordable` has it
        return pending + records + unseen, known - records if known > records else 0

    @property
    def ready(self) -> bool:
        """True if a batch is full, or delivers enough to be taken."""
        drafts, records = self._drafts, self._records_length
        if not records:
            return drafts.ready
        return drafts.plain + records >= _TARGET or records >= self._due or drafts.full

    @property
    def unsent(self) -> int:
        """Bytes that have come and are in no batch yet."""
        return self._encoder.unsent + self.framer.held + self._filled

    def affordable(self, credit: int) -> int:
        """How many bytes may be read from the array while `credit` plain bytes may be sent."""
        return credit if self._plain else credit - credit // _EXPANSION - _MARGIN

    def buffer(self, most: int) -> memoryview:
        """Where the source is to be read to: between 1 and `most` (at least 1) bytes."""
        if self._plain:
            return self._encoder.buffer(most)
        if not self._view:
            self._view = memoryview(bytearray(2 * _LOOK_MOST))
        return self._view[self._filled : min(self._filled + most, self._goal)]

    def shrink(self) -> None:
        """The source is silent: keep no more memory than what has come takes. What `buffer` gave before is invalid."""
        if not self._filled:
            self._view = memoryview(bytearray())
        self._payload.shrink()

    def received(self, n: int) -> None:
        """The source has written n bytes to the start of `buffer()`."""
        if self._plain:
            self._encoder.received(n)
        elif self._opener is not None and not self._framing():
            self._pass_all(n)
        else:
            self._filled += n
            if self._filled == self._goal or not self._gathers:
                self._look()

    def _look(self) -> None:
        """Have the framer cut what was read into records and payload."""
        encoder, framer = self._encoder, self.framer
        if filled := self._filled:
            unsent = encoder.unsent + framer.held + filled  # records may make it longer
            if self._drafts.plain + self._records_length + unsent * 9 // 8 > BATCH_PLAIN_MAX:
                self._drafts.seal()
            self._filled = 0
            framer.receive(self._view[:filled], self._clock(), self)
            self._payload.settle(lazy=not self._plain)  # what is plain from now on is not settled by `flush`
            if self._records_length >= self._due:
                self._payload.settle(lazy=False)
                encoder.flush()
        awaited = framer.awaited
        self._gathers = awaited > 0
        self._goal = self._worth_reading(awaited) if awaited else LOOK_BYTES

    def _worth_reading(self, awaited: int) -> int:
        """How many bytes to read before the next look: up to the end of the header behind the PDU that is under way.

        So the payload of a long PDU comes in few pieces. If there is room, the next PDU is read as well, so that two
        share the cost of a look. `awaited`: `Framer.awaited`.
        """
        if awaited > _LOOK_MOST:
            rest = awaited % LOOK_BYTES
            return rest if rest > _LOOK_MOST - LOOK_BYTES else LOOK_BYTES
        announced = self.framer.announced
        both = awaited + self.framer.usual_length
        return both if announced and both - announced <= _LOOK_MOST else awaited

    def flush(self, *, patient: bool = False) -> None:
        """The source pauses: put what is left into the batch. `take` all before the next pause."""
        if not self._plain:
            self._look()
            self.framer.pause(self)
            self._payload.settle(lazy=False)
        self._encoder.flush(patient=patient)

    @property
    def came(self) -> int:
        """Bytes that have come from the source, as long as they are looked at."""
        return self.framer.total + self._filled

    def give_up(self) -> None:
        """The source has stopped within a PDU: the rest goes as it is. `flush` and `take` what was held."""
        if not self._plain:
            self._look()
            self.framer.give_up(self)
            self._payload.settle(lazy=False)

    def finish(self) -> None:
        """The source has ended: what is left is a chunk. `take` the last batches, then ask `ending`."""
        self._fell = None  # the rest of a PDU goes as it is, but that need not be reported: nothing follows
        self.give_up()
        self._encoder.finish()

    def ending(self) -> tuple[int, bytes]:
        """What END says: the total of plain bytes, and the LEARN of the last chunk if no batch carries it."""
        total, tokens = self._drafts.ending()
        return total + self.records_taken, tokens

    def take(self) -> OutgoingBatch | None:
        """As `Drafts.take`: the next batch, or None if there is none that delivers anything."""
        return self._drafts.take(self._section() if self._records else NO_SECTION)

    def close(self) -> None:
        """Release the buffers, and the pins of batches that were not taken."""
        self._view, self._filled = memoryview(b""), 0
        self._encoder.close()

    # -- spans -------------------------------------------------------------------------------------------------

    def _framing(self) -> bool:
        """Whether what the acceptor's array sends is framed; asked once, when it first sends."""
        assert self._opener is not None
        framing = self._opener()
        self._opener = None
        return framing

    def _pass_all(self, n: int) -> None:
        """What has come goes as it is, and so does all that follows."""
        self._plain = True
        self.framer.connection.lose_sight()
        self._payload.pour(self._view[:n])
        self._payload.settle(lazy=False)
        self._view = memoryview(bytearray())

    def record(self, record: bytes, coming: int) -> None:
        """As `Spans.record`."""
        if record[0] == PLAIN:
            self._plain = True
            self._payload.lose_sight()
            recognised = bool(self._records or self.records_taken)
            if self._fell is not None:
                self._fell(self.framer.fallen or "", recognised)
            if not recognised:
                return  # no record was sent before, so the direction simply has none
        payload = self._payload
        if coming:
            payload.coming = coming
        self.course.follows = True
        self._records.append((payload.given, record))
        self._records_length += len(record)

    def _section(self) -> Section:
        """The records that go with the next batch: none goes before the payload that is before it.

        Records that announce payload of this batch must go. Of others no more go than fill a batch, as with literals.
        """
        records, grain, predict = self._records, self._drafts.grain, self._predictor.predict
        taken = self._drafts.taken + self._drafts.next_plain
        predicted = []
        length = 0
        while records and records[0][0] <= taken - (length >= grain):
            record = records.popleft()[1]
            length += len(record)
            predicted.append(predict(record))
        if not length:
            return NO_SECTION
        self._records_length -= length
        self.records_taken += length
        section = _section_of(length, b"".join(predicted))
        self.records_coded += len(section.coded)
        return section


def _section_of(records: int, predicted: bytes) -> Section:
    """The section of these records, compressed if that gains anything: what is predicted well is short already."""
    coded = _compress(predicted) if len(predicted) >= WORTH_TRYING else predicted
    if len(coded) < len(predicted):
        return Section(records, CODEC_ZSTD, len(predicted), coded)
    return Section(records, CODEC_NONE, len(predicted), predicted)
