"""A connection of two arrays between two sites without a wire: each direction is a `Stream` that may have spans."""

from typing import cast

from dedupstore.chunker import Chunker
from dedupstore.store import ChunkStore
from proxy.iscsi.connection import Connection
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Sender
from proxy.reduction.contexts import ContextReader
from proxy.reduction.decoder import Decoder
from proxy.reduction.encoder import Encoder
from proxy.reduction.outgoing import OutgoingBatch
from proxy.reduction.span_decoder import SpanDecoder
from proxy.reduction.span_encoder import SpanEncoder
from proxy.reduction.windows import ContextMemory
from tests.unit.iscsi.pdus import digests, login, login_answer
from tests.unit.reduction.sites import SMALL_CHUNKS, Site, Stream, decoder_of, encoder_of


def no_time() -> float:
    return 0.0


def span_decoder(site: Site, connection: Connection | None = None, sender: Sender = Sender.INITIATOR) -> SpanDecoder:
    """One stream's incoming direction, which may have records."""
    context = ContextReader(ContextMemory())
    decoder = Decoder(cast(ChunkStore, site.store), site.holdings, context=context, zstd=True, spans=True, runs=True)
    return SpanDecoder(decoder, connection or Connection(), sender, no_time)


class Direction(Stream):
    """What one array says to the other."""

    encoder: Encoder | SpanEncoder  # type: ignore[assignment]
    decoder: Decoder | SpanDecoder  # type: ignore[assignment]

    def __init__(self, near: Site, far: Site, chunker: Chunker) -> None:
        super().__init__(near, far, chunker=chunker)
        self.batches: list[OutgoingBatch] = []

    @property
    def cost(self) -> int:
        """Plain bytes of the batches."""
        return sum(batch.plain for batch in self.batches)

    def take(self) -> None:
        before = len(self.undecoded)
        super().take()
        self.batches += list(self.undecoded)[before:]

    def say(self, data: bytes, size: int = 1 << 20) -> None:
        """Write in reads of so many bytes, pause, and have all arrive."""
        for at in range(0, len(data), size):
            self.write(data[at : at + size])
        self.pause()
        self.settle()

    def give_up(self) -> None:
        """The pause has become long."""
        assert isinstance(self.encoder, SpanEncoder)
        self.encoder.give_up()
        self.pause()
        self.settle()


class Talk:
    """Both directions. The near site's array opens the stream, as an initiator would."""

    def __init__(
        self, near: Site, far: Site, chunker: Chunker = SMALL_CHUNKS, *, opener: bool = True, acceptor: bool = True
    ) -> None:
        """`opener`, `acceptor`: whether they know of spans; otherwise they code plain bytes."""
        self.fell: list[tuple[str, bool]] = []
        self.near, self.far = Connection(), Connection()
        self.out, self.back = Direction(near, far, chunker), Direction(far, near, chunker)
        if acceptor:
            self.out.decoder = span_decoder(far, self.far, Sender.INITIATOR)
        if opener:
            self.back.decoder = span_decoder(near, self.near, Sender.TARGET)
            self.out.encoder = SpanEncoder(
                encoder_of(near, chunker), Framer(self.near, Sender.INITIATOR), no_time, fell=self._fell
            )
        if acceptor:
            self.back.encoder = SpanEncoder(
                encoder_of(far, chunker),
                Framer(self.far, Sender.TARGET),
                no_time,
                opener=self._opener_has_spans,
                fell=self._fell,
            )

    def log_in(self, header_digest: bool = False, data_digest: bool = False) -> None:
        """To full feature phase, with digests or without."""
        keys = digests(header_digest, data_digest)
        self.out.say(login(keys))
        self.back.say(login_answer(keys))

    def end(self) -> None:
        """Both arrays end their sides, and all that they said has arrived."""
        self.out.end()
        self.back.end()

    def direction(self, sender: Sender) -> Direction:
        """The one that this array's PDUs go."""
        return self.out if sender is Sender.INITIATOR else self.back

    def _opener_has_spans(self) -> bool:
        assert isinstance(self.out.decoder, SpanDecoder)
        return bool(self.out.decoder.spans)

    def _fell(self, reason: str, recognised: bool) -> None:
        self.fell.append((reason, recognised))


def plain_talk(near: Site, far: Site) -> Talk:
    """Between sites that know nothing of spans."""
    talk = Talk(near, far, opener=False, acceptor=False)
    talk.out.decoder, talk.back.decoder = decoder_of(far), decoder_of(near)
    return talk
