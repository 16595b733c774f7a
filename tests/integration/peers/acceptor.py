"""The far side of one stream, played by the test: takes what a site sends, and asks for what it likes."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

from bench.sites import Address
from proxy.protocol.codes import Capability, FrameType
from proxy.protocol.credit import cost_of
from proxy.protocol.frames import decode_fill, encode_ack, encode_credit, encode_end, encode_miss
from proxy.protocol.hello import CREDIT_MAX, CREDIT_MIN
from proxy.protocol.reader import Frame, encode
from proxy.reduction.batch import dissect
from proxy.reduction.compression import decode
from proxy.reduction.tokens import REFERENCE, SLICE
from tests.integration.bed.ends import connect, how_it_ends, whole
from tests.integration.peers.scripted import ScriptedLane


class Acceptor:
    """Rogue as the far side of one stream that west opens: takes batches, and keeps count."""

    def __init__(self, lane: ScriptedLane) -> None:
        self.lane = lane
        self.lean = Capability.LEAN in lane.capabilities
        self.references: list[bytes] = []
        self.codecs: set[int] = set()
        self.records = 0
        """Bytes of records."""
        opening = lane.expect(FrameType.OPEN)
        self.stream = opening.stream
        self.cost = self.sent = 0
        self.acknowledge(opening)
        self.say(FrameType.ACCEPT)

    def say(self, kind: FrameType, payload: bytes = b"") -> None:
        """The next frame of the stream's other direction."""
        self.lane.send(encode(kind, self.stream, self.sent, payload))
        self.sent += 1

    def take(self, rate: float = 0.0) -> bytes:
        """Take everything to the end of the array's side, without saying that it was consumed; the literal bytes.

        `rate`: bytes a second, as if the line were slow; what comes over such a one is consumed at once.
        """
        literals = b""
        while (frame := self.lane.receive()).type != FrameType.END:
            time.sleep(len(frame.payload) / rate if rate else 0.0)
            self.acknowledge(frame)
            if frame.type == FrameType.DATA:
                batch = dissect(memoryview(frame.payload))
                self.codecs.add(batch.codec)
                self.records += batch.section.records
                self.cost += cost_of(batch.plain + batch.section.records, len(frame.payload), lean=self.lean)
                self.references += [token[3] for token in batch.tokens if token[0] in (REFERENCE, SLICE)]
                literals += decode(batch.codec, batch.literals, batch.literal_length)
                if rate:
                    self.credit()
        self.acknowledge(frame)
        return literals

    def consume(self) -> None:
        """Say that the far array has taken everything, and ended its side."""
        self.credit(CREDIT_MAX)
        self.say(FrameType.END, encode_end(0, b""))

    def credit(self, more: int = CREDIT_MIN) -> None:
        """Say that the far array has taken everything so far, and how much more may come."""
        consumed = encode_credit([(self.stream, self.cost, self.cost + more)])
        self.lane.send(encode(FrameType.CREDIT, 0, 0, consumed))

    def miss(self, names: list[bytes]) -> dict[bytes, bytes]:
        """Ask for the chunks; what comes."""
        self.say(FrameType.MISS, encode_miss(names))
        fills: dict[bytes, bytes] = {}
        while len(fills) < len(names):
            frame = self.lane.expect(FrameType.FILL)
            self.acknowledge(frame)
            name, codec, size, data = decode_fill(frame.payload)
            fills[name] = bytes(decode(codec, data, size))
        return fills

    def acknowledge(self, frame: Frame) -> None:
        """A numbered frame of the stream has come."""
        if frame.stream:
            self.lane.send(encode(FrameType.ACK, 0, 0, encode_ack([(frame.stream, frame.number + 1)])))


@contextlib.contextmanager
def sending(entrance: Address, content: bytes) -> Iterator[socket.socket]:
    """An array's connection to rogue that sends the content and ends its side, while the test plays rogue."""

    def send() -> None:
        near.sendall(content)
        near.shutdown(socket.SHUT_WR)

    with connect(entrance) as near:
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        yield near
        sender.join()


def replicate(entrance: Address, lane: ScriptedLane, content: bytes) -> tuple[Acceptor, bytes]:
    """An array sends the content and ends its side; rogue takes it all, of which the literal bytes are given back."""
    with sending(entrance, content) as near:
        acceptor = Acceptor(lane)
        literals = acceptor.take()
        acceptor.consume()
        whole(b"", how_it_ends(near))
    return acceptor, literals
