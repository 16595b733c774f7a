"""Records on their way: one endless zstd frame a direction, in which a header finds those before it; or alone."""

from collections.abc import Callable

from proxy.reduction.batch import CODEC_CONTEXT, CODEC_NONE, CODEC_ZSTD, Section
from proxy.reduction.compression import WORTH_TRYING, decode, zstd
from proxy.reduction.contexts import ContextReader, ContextWriter
from proxy.reduction.windows import RECORDS_COST, RECORDS_WINDOW_LOG, ContextMemory

_LEVEL = 3

_alone = zstd(_LEVEL)


class SectionWriter:
    """One direction's records, before they are sent."""

    def __init__(self, claim: Callable[[], bool]) -> None:
        """`claim`: asked once, whether there is memory for a frame on both sides."""
        self._claim = claim
        self._frame: ContextWriter | None = None
        self._begun = False

    def encode(self, records: bytes) -> Section:
        """The section of a batch that will be sent: the next one builds on it. At least one record."""
        if not self._begun:
            self._begun = True
            self._frame = ContextWriter(_LEVEL, RECORDS_WINDOW_LOG, sampled=False) if self._claim() else None
        if self._frame is not None:
            return Section(CODEC_CONTEXT, len(records), self._frame.encode(records))
        coded = _alone(records) if len(records) >= WORTH_TRYING else records
        if len(coded) < len(records):
            return Section(CODEC_ZSTD, len(records), coded)
        return Section(CODEC_NONE, len(records), records)

    def close(self) -> None:
        """The direction has ended: hold nothing."""
        self._frame = None


class SectionReader:
    """The same on the far side. After an error it must not be used any more, except to `close` it."""

    def __init__(self, memory: ContextMemory) -> None:
        """`memory`: what the frames of all streams count against."""
        self._frame = ContextReader(memory, RECORDS_WINDOW_LOG, lambda _: RECORDS_COST)

    def decode(self, section: Section) -> bytes:
        """The records, of exactly the declared length. Raises BatchError."""
        if section.codec == CODEC_CONTEXT:
            return self._frame.decode(section.coded, section.length)
        return bytes(decode(section.codec, section.coded, section.length))

    def close(self) -> None:
        """The direction has ended: give the window back."""
        self._frame.close()
