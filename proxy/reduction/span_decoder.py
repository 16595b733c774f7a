"""Decodes the incoming direction of iSCSI streams: weaves records and payload into the bytes that the far array sent.

`SpanDecoder` wraps `Decoder` and is used like it. Whether a direction has spans shows in its first batch: if that has
no records, none of the later ones has (PROTOCOL.md, "Spans").
"""

from collections.abc import Callable

from proxy.iscsi.connection import Connection
from proxy.iscsi.errors import RecordError
from proxy.iscsi.pdu import Sender
from proxy.iscsi.portals import PortalTexts
from proxy.iscsi.prediction import Restorer
from proxy.iscsi.weaver import Weaver
from proxy.reduction.decoder import PIECES, DecodedBatch, Decoder
from proxy.reduction.errors import BatchError


class SpanDecoder:
    """One stream's incoming direction. Loop thread. Used as `Decoder` is, also after errors."""

    def __init__(
        self,
        decoder: Decoder,
        connection: Connection,
        sender: Sender,
        clock: Callable[[], float],
        texts: PortalTexts | None = None,
    ) -> None:
        """`sender`: what the far array is; `texts`: puts this side's portals into what a target says."""
        self.weaver = Weaver(connection, sender, texts)
        self.spans: bool | None = None
        """Whether this direction has records; None before its first batch."""
        self._connection = connection
        self._sender = sender
        self._decoder = decoder
        self.obtaining = decoder.obtaining
        """The decoder's."""
        self._restorer = Restorer()
        self._clock = clock

    @property
    def idle(self) -> bool:
        """True if every batch that was fed has been decoded."""
        return self._decoder.idle

    @property
    def total(self) -> int:
        """Plain bytes decoded so far."""
        return self._decoder.total

    def feed(self, data: memoryview) -> DecodedBatch | None:
        """Take a batch; decode it at once if none is before it, keep a copy otherwise."""
        return self._woven(self._decoder.feed(data))

    def keep(self, data: memoryview) -> None:
        """Take a batch without decoding it yet: the array, the store or other streams have to be waited for."""
        self._decoder.keep(data)

    def advance(self) -> DecodedBatch | None:
        """Decode the next batch; None if there is none or if it waits (see `obtaining`), or after an error."""
        return self._woven(self._decoder.advance())

    def decoded(self, codec: int, data: memoryview | bytes, length: int) -> memoryview | bytes:
        """As `Decoder.decoded`."""
        return self._decoder.decoded(codec, data, length)

    def finish(self, tokens: bytes) -> None:
        """As `Decoder.finish`; `let_go` may still be called."""
        self._decoder.finish(tokens)

    @property
    def gathered(self) -> int:
        """Bytes that are decoded but kept back, because the text that they belong to is not whole yet; or 0."""
        return self.weaver.gathered

    def let_go(self) -> list[bytes | memoryview]:
        """The direction has ended, or the rest of that text is not waited for: returns what was kept back."""
        return self.weaver.let_go()

    def close(self) -> None:
        """Nothing more will be fed: give back what is shared with other streams."""
        self._decoder.close()

    def _woven(self, decoded: DecodedBatch | None) -> DecodedBatch | None:
        """The batch with its pieces as the far array sent them."""
        if decoded is None:
            return None
        if self.spans is None:
            self.spans = bool(decoded.records)
            if not self.spans:
                self._connection.lose_sight()
            elif self._sender is Sender.TARGET and not self._connection.begun:
                raise BatchError("records from the acceptor, and the opener has sent none")
        if self.spans:
            pieces = self._weave(decoded)
            decoded.pieces = [b"".join(pieces)] if decoded.borrowed or len(pieces) > PIECES else pieces
            return decoded
        if decoded.records:
            raise BatchError("records in a direction that began without them")
        return decoded

    def _weave(self, decoded: DecodedBatch) -> list[bytes | memoryview]:
        weaver = self.weaver
        try:
            records = self._restorer.restore(decoded.section, decoded.records)
            if sum(map(len, records)) != decoded.records:
                raise BatchError(f"records of another length than the {decoded.records} bytes that are declared")
            weaver.records(records)
            weaver.payload(decoded.pieces)
            pieces = weaver.take(self._clock())
        except RecordError as error:
            raise BatchError(str(error)) from None
        if weaver.waiting:
            raise BatchError(f"{weaver.waiting} bytes of records come before the payload before them")
        return pieces
