"""Makes the encoder and the decoder of each stream of a peer, as configured here and agreed with the peer."""

import time
from collections.abc import Callable
from functools import partial
from typing import Literal

from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Sender
from proxy.iscsi.portals import NearPortals, PortalTexts
from proxy.net.environment import Environment
from proxy.net.tally import Tally
from proxy.net.worker import StoreWorker
from proxy.observe.counters import Traffic
from proxy.observe.volumes import Volumes
from proxy.protocol.codes import Capability
from proxy.protocol.tunnel import Tunnel
from proxy.reduction.adaptive import AdaptiveCompression
from proxy.reduction.ahead import AheadMemory
from proxy.reduction.comparison import Comparisons
from proxy.reduction.compression import Compression, Compressor, zstd
from proxy.reduction.contexts import ContextReader
from proxy.reduction.decoder import Decoder
from proxy.reduction.effort import Effort
from proxy.reduction.encoder import Encoder
from proxy.reduction.holdings import Holdings
from proxy.reduction.relief import Relief
from proxy.reduction.runs import Order
from proxy.reduction.span_decoder import SpanDecoder
from proxy.reduction.span_encoder import SpanEncoder
from proxy.reduction.sparing import Sparing
from proxy.reduction.windows import ContextClaims, ContextMemory

Carries = Literal["tcp", "iscsi", "auto"]
"""What a forward's connections carry, in the configuration's words."""

_CLOCK = time.monotonic
"""Not the loop's clock, which knows whole milliseconds only: an array near by answers in less."""


class Coders:
    """Encoder and decoder of one stream, which is plain bytes here; for iSCSI see `SpanCoders`. Loop thread."""

    def __init__(self, encoder: Encoder | SpanEncoder, decoder: Decoder | SpanDecoder) -> None:
        self.encoder = encoder
        self.decoder = decoder
        self.tally: Tally | None = None
        """Follows the iSCSI connection and counts what it does; None where the stream cannot be one."""
        self._sampled = 0  # bytes that the source had sent at the last `sample`

    def close(self) -> None:
        """The stream has ended, in whatever way: both release what they hold."""
        self.encoder.close()
        self.decoder.close()

    def note(self, traffic: Traffic) -> None:
        """Copy what the coders have counted into `traffic`."""
        traffic.compression_microseconds = int(self.encoder.compression.seconds * 1e6)
        traffic.spared = self.encoder.compression.spared
        traffic.relieved = self.encoder.underway.relieved

    def sample(self, raw: int) -> None:
        """To be called once a second with the total of bytes from the source.

        If that has not grown, the encoder's buffer is given back: hundreds of sources may be silent.
        """
        if raw == self._sampled:
            self.encoder.shrink()
        self._sampled = raw

    @property
    def held(self) -> int:
        """Bytes of the source that wait for the rest of their PDU; a flush does not send them."""
        return 0

    @property
    def came(self) -> int:
        """Bytes that have come from the source; not counted any more once they are no longer looked at for PDUs."""
        return 0

    @property
    def understood(self) -> bool:
        """True if an iSCSI login was followed to its end."""
        return False

    def give_up(self) -> None:
        """The source has stopped within a PDU: what is held, and all that follows, goes as plain bytes."""

    def look_ahead(self, worker: StoreWorker) -> None:
        """Have the store load the chunk that an iSCSI stream seems to repeat next.

        The encoder of such a stream compares with that chunk even where the source does not pause; for what is loaded
        at pauses see `Pauses`.
        """


class SpanCoders(Coders):
    """The coders of a stream that may be an iSCSI connection."""

    encoder: SpanEncoder
    decoder: SpanDecoder
    tally: Tally

    def __init__(self, encoder: SpanEncoder, decoder: SpanDecoder, tally: Tally) -> None:
        super().__init__(encoder, decoder)
        self.tally = tally

    def close(self) -> None:
        super().close()
        self.tally.close()

    def note(self, traffic: Traffic) -> None:
        super().note(traffic)
        framer, weaver = self.encoder.framer, self.decoder.weaver
        traffic.pdus = framer.pdus + weaver.pdus
        traffic.records = self.encoder.records_taken
        traffic.records_compressed = self.encoder.records_coded
        traffic.digests_computed = weaver.digests
        traffic.digests_wrong = framer.wrong_digests

    @property
    def held(self) -> int:
        return self.encoder.framer.held

    @property
    def came(self) -> int:
        return self.encoder.came

    @property
    def understood(self) -> bool:
        return self.tally.connection.full_feature

    def give_up(self) -> None:
        self.encoder.give_up()

    def look_ahead(self, worker: StoreWorker) -> None:
        if (wanted := self.encoder.course.take_wanted()) is not None:
            worker.guess(wanted)


class CoderFactory:
    """Makes the coders of one peer's streams, and holds what they share. Loop thread."""

    def __init__(
        self,
        environment: Environment,
        tunnel: Tunnel,
        streams: Callable[[], int],
        relief: Relief,
        volumes: Volumes,
    ) -> None:
        """`streams` returns how many streams there are now. `relief`: of the peer's store; `volumes`: the peer's."""
        self._environment = environment
        self._tunnel = tunnel
        self._streams = streams
        self._volumes = volumes
        self._memory = ContextMemory()
        self._ahead = AheadMemory()
        self._claims = ContextClaims(tunnel.streams.remembers)
        self._comparisons = Comparisons()
        self._order = Order(_CLOCK)
        self._relief = relief
        self._sparing = Sparing(lambda: tunnel.scheduler.capped)

    def coders(
        self,
        stream: int,
        holdings: Holdings,
        protocol: Carries | None,
        share: str,
        fell: Callable[[str, bool], None],
        portals: NearPortals | None = None,
    ) -> Coders:
        """Make the coders of one more stream.

        `protocol`: what the forward is configured to carry; None on the acceptor's side, which does as the opener does.
        `share`: the name of the stream's share, for which volumes are counted.
        `fell` is called when a direction goes on as plain bytes, with the reason, and whether it began as iSCSI.
        `portals` replaces the addresses that a target names; None: they pass unchanged.
        """
        agreed = self._tunnel.agreed
        spans = protocol != "tcp" and agreed(Capability.ZSTD) and agreed(Capability.SPANS)
        if protocol == "iscsi" and not spans:
            fell("the peer's version does not know iSCSI", False)
        writer = next(self._environment.writers)  # not the stream's number: streams of other peers have the same
        encoder = self._encoder(stream, holdings, writer, spans=spans)
        decoder = self._decoder(holdings, writer, spans=spans)
        if not spans:
            return Coders(encoder, decoder)
        opens = protocol is not None
        ours, theirs = (Sender.INITIATOR, Sender.TARGET) if opens else (Sender.TARGET, Sender.INITIATOR)
        tally = Tally(self._volumes, share)
        texts = None if portals is None else PortalTexts(portals)
        weaving = SpanDecoder(decoder, tally.connection, theirs, _CLOCK, texts)
        framer = Framer(tally.connection, ours)
        opener = None if opens else lambda: bool(weaving.spans)
        return SpanCoders(SpanEncoder(encoder, framer, _CLOCK, opener=opener, fell=fell), weaving, tally)

    def _encoder(self, stream: int, holdings: Holdings, writer: int, *, spans: bool) -> Encoder:
        return Encoder(
            self._environment.chunker,
            self._environment.worker.store,
            holdings,
            self._compression(stream),
            writer,
            self._environment.beginnings if spans else None,
            self._order if self._tunnel.agreed(Capability.RUNS) else None,
            self._relief,
        )

    def _decoder(self, holdings: Holdings, writer: int, *, spans: bool) -> Decoder:
        agreed, worker = self._tunnel.agreed, self._environment.worker
        return Decoder(
            worker.store,
            holdings,
            writer,
            ContextReader(self._memory) if agreed(Capability.CONTEXTS) else None,
            zstd=agreed(Capability.ZSTD),
            spans=spans,
            runs=agreed(Capability.RUNS),
            silent=worker.is_silent,
            ahead=self._ahead,
        )

    def _compression(self, stream: int) -> Compression:
        """The compression that is configured here, as far as it is agreed with the peer."""
        codec, level = self._environment.config.compression.codec, self._environment.config.compression.level
        if codec == "none" or not self._tunnel.agreed(Capability.ZSTD):
            return Compressor(None)
        if level != "auto":
            return Compressor(zstd(level), f"zstd {level}")
        effort = Effort(self._environment.load, self._tunnel.round_trip, self._sparing)
        pressed = partial(self._tunnel.streams.pressed, stream)
        return AdaptiveCompression(effort, pressed, partial(self._claim_window, stream), self._comparisons)

    def _claim_window(self, stream: int) -> int:
        if not self._tunnel.agreed(Capability.CONTEXTS):
            return 0
        return self._claims.claim(stream, self._streams())
