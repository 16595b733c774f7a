"""The inward half of a relay: decodes the peer's batches as long as the array takes the bytes, and writes them to it.

While the array does not read, or while the store, the peer's next round of the loop or its answer to a MISS has to be
waited for, batches are kept undecoded; whatever ends such a wait calls `_deliver`. Bytes count as consumed once the
transport has them.
"""

import asyncio
from collections.abc import Callable

from proxy.net.blaming import Blaming, ChunkLost
from proxy.net.relay_owner import RelayOwner
from proxy.net.silence import Silence
from proxy.net.waits import Waits
from proxy.observe.counters import Traffic
from proxy.observe.waiting import Waiting
from proxy.protocol.errors import PeerError
from proxy.reduction.decoder import DecodedBatch, Decoder
from proxy.reduction.errors import BatchError
from proxy.reduction.span_decoder import SpanDecoder

_CPU, _PEER = Waiting.CPU, Waiting.PEER  # each batch passes here, and attributes of an enum class are slow to read

TEXT_SECONDS = 1.0
"""A far target's long text is kept until it is whole; after so many seconds without another byte it goes out as it is.
"""


class Delivery:
    """Delivers one stream to its array, from `begin` on. Loop thread."""

    def __init__(
        self,
        owner: RelayOwner,
        stream: int,
        decoder: Decoder | SpanDecoder,
        waits: Waits,
        traffic: Traffic,
        blaming: Blaming,
        *,
        answered: Callable[[], None],
        ended: Callable[[], None],
    ) -> None:
        """`answered` is called when the array was given bytes, `ended` when it was given the far array's end."""
        self.over = False
        """The far array has ended its side, and all that it sent was given to ours."""
        self._owner = owner
        self._stream = stream
        self._decoder = decoder
        self._obtaining = decoder.obtaining
        self._waits = waits
        self._traffic = traffic
        self._blaming = blaming
        self._answered = answered
        self._ended = ended
        self._transport: asyncio.Transport | None = None
        self._closed = False
        self._paused = False  # the array does not read
        self._held_by: Waiting | None = None  # what delivery waits for at this site, other than the array
        self._end: tuple[int, bytes] | None = None
        self._text = Silence(
            self._gathered, self._gathered, self._let_go, seconds=lambda: TEXT_SECONDS, interrupted=self._interrupted
        )

    # -- the array -----------------------------------------------------------------------------------------------

    def begin(self, transport: asyncio.Transport) -> None:
        """The array is connected."""
        self._transport = transport
        self._deliver()

    def pause(self) -> None:
        """The array does not read, and the transport holds as much for it as it should."""
        self._paused = True

    def resume(self) -> None:
        """The array has taken most of what the transport held."""
        self._paused = False
        self._deliver()

    def close(self) -> None:
        """The stream has ended, in whatever way: deliver nothing more."""
        self._closed = True
        self._transport = None
        self._text.stop()

    @property
    def held(self) -> bool:
        """True while delivery waits for the store, or for the peer's next round: either still holds a callback."""
        return self._held_by is not None

    # -- the peer ------------------------------------------------------------------------------------------------

    def data(self, batch: memoryview) -> None:
        """A batch has come; its memory is valid only during the call."""
        if self._closed:
            return
        self._traffic.received += len(batch)
        if not self._may_deliver():
            self._decoder.keep(batch)
        else:
            self._waits.inward(_CPU)
            with self._blaming:
                self._take_over(self._decoder.feed(batch))
        self._note_wait()

    def end(self, total: int, tokens: bytes) -> None:
        """The far array has ended its side."""
        self._end = total, tokens
        self._deliver()

    def filled(self, name: bytes, codec: int, size: int, data: bytes) -> None:
        """A FILL has come. Raises PeerError if the stream sent no MISS of that name, or if the data cannot be decoded.

        `size` 0: the peer no longer holds the chunk either.
        """
        if not (self._owner.misses.asking(self._stream) and self._obtaining.asks(name)):
            raise PeerError(f"FILL on stream {self._stream}", f"the stream has not asked for {name.hex()[:16]}")
        with self._blaming:
            if size == 0:
                raise ChunkLost("a chunk that was referred to is no longer held by either side")
            self._obtaining.fill(name, self._chunk(codec, size, data))
            self._traffic.verified += size
        self._deliver()

    def _chunk(self, codec: int, size: int, data: bytes) -> bytes:
        try:
            return bytes(self._decoder.decoded(codec, data, size))
        except BatchError as error:  # `Blaming` would name a DATA frame
            raise PeerError(f"FILL on stream {self._stream}", str(error)) from None

    # -- delivering ----------------------------------------------------------------------------------------------

    def _deliver(self) -> None:
        with self._blaming, self._owner.rounds:
            while not self._decoder.idle and self._may_deliver():
                self._waits.inward(_CPU)
                if not self._take_over(self._decoder.advance()):
                    break
            self._end_if_complete()
        self._note_wait()

    def _may_deliver(self) -> bool:
        """False while the array, the store or the peer's next round is waited for; the end of that calls `_deliver`.

        A stream that has asked for chunks is decoded even if the array does not read, since other streams may not ask
        before its batch has been decoded (`Misses`).
        """
        stopped = self._paused and not self._owner.misses.asking(self._stream)
        if self._transport is None or stopped or self._held_by is not None:
            return False
        if self._owner.worker.congested:
            self._held_by = Waiting.STORE
            self._owner.worker.when_relieved(self._go_on)
        elif self._owner.rounds.over:
            self._held_by = _CPU
            self._owner.rounds.wait(self._go_on)
        return self._held_by is None

    def _take_over(self, decoded: DecodedBatch | None) -> bool:
        """Hand decoded bytes to the array; False if there were none."""
        if decoded is None:
            self._obtain()
            return False
        assert self._transport is not None
        self._transport.writelines(decoded.pieces)
        self._owner.misses.settle(self._stream)
        self._owner.streams.consumed(self._stream)
        self._answered()
        self._text.watch()
        self._traffic.delivered += sum(map(len, decoded.pieces))
        self._traffic.from_store += decoded.from_store
        self._owner.reading.gave(decoded.from_store)
        self._traffic.verified += decoded.verified
        self._owner.worker.kick()
        if (entered := self._obtaining.entered) is not None:
            self._obtaining.entered = None
            self._owner.worker.prefetch(entered, spare=True)
        return True

    def _obtain(self) -> None:
        """Have the chunks that the decoder waits for loaded from the store, or ask the peer for them."""
        needs = self._obtaining.needs()
        if needs is None:
            return
        if needs.load is not None:
            self._held_by = Waiting.STORE
            self._owner.worker.load(needs.load, self._go_on, self._owner.reading, patient=False, soon=needs.soon)
        elif needs.load_behind is not None:
            self._held_by = Waiting.STORE
            self._owner.worker.load_behind(needs.load_behind, self._go_on, self._owner.reading)
        else:
            self._traffic.misses += len(needs.ask)
            self._owner.misses.ask(self._stream, needs.ask)

    def _go_on(self) -> None:
        self._held_by = None
        self._deliver()
        self._owner.pump()

    def _note_wait(self) -> None:
        """Tell `Waits` what delivery waits for now."""
        if self._paused or self._transport is None:
            self._waits.inward(Waiting.ARRAY)
        elif self._held_by is not None:
            self._waits.inward(self._held_by)
        else:
            self._waits.inward(_PEER if self._decoder.idle else Waiting.FILL)

    def _end_if_complete(self) -> None:
        if self._end is None or self.over or not self._decoder.idle or self._transport is None:
            return
        total, tokens = self._end
        if total != self._decoder.total:
            raise BatchError(f"END after {total} bytes, but {self._decoder.total} were sent")
        self._decoder.finish(tokens)
        self.over = True
        self._let_go()
        self._transport.write_eof()
        self._ended()

    # -- a text of the far target that is kept until it is whole ----------------------------------------------------

    def _gathered(self) -> int:
        return self._decoder.gathered

    def _interrupted(self) -> bool:
        """True if the far array may have sent more that is still on its way, or here and not decoded."""
        return not (self._owner.reachable and self._decoder.idle)

    def _let_go(self) -> None:
        """The far target has stopped, or ended, within a text: give the array what there is of it."""
        if self._transport is not None and (pieces := self._decoder.let_go()):
            self._traffic.delivered += sum(map(len, pieces))
            self._transport.writelines(pieces)
