"""Two sites that carry one iSCSI connection, without anything between them but sections and payload."""

from collections.abc import Iterable

from proxy.iscsi.connection import Connection, Observer
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Sender
from proxy.iscsi.portals import Portals, PortalTexts
from proxy.iscsi.prediction import Predictor, Restorer
from proxy.iscsi.span import Kind, Span
from proxy.iscsi.weaver import Weaver


class Direction:
    """One direction of the connection, from array to array."""

    def __init__(self, near: Connection, far: Connection, sender: Sender, portals: Portals | None = None) -> None:
        self.framer = Framer(near, sender)
        self.weaver = Weaver(far, sender, None if portals is None else PortalTexts(portals))
        self.spans: list[Span] = []
        self._predictor = Predictor()
        self._restorer = Restorer()

    def send(self, data: bytes, size: int = 1 << 20, now: float = 0.0) -> bytes:
        """What comes out on the far side when these bytes come in pieces of so many bytes."""
        view = memoryview(data)
        pieces = (view[at : at + size] for at in range(0, len(view), size))
        return b"".join(self.carry(self.framer.receive(piece, now), now) for piece in pieces)

    def pause(self) -> bytes:
        """What comes out when the source pauses."""
        return self.carry(self.framer.pause(), 0.0)

    def give_up(self) -> bytes:
        """What comes out when it pauses for long."""
        return self.carry(self.framer.give_up(), 0.0)

    def finish(self) -> bytes:
        """What comes out when the source ends."""
        return self.carry(self.framer.finish(), 0.0) + b"".join(self.weaver.let_go())

    def carry(self, spans: Iterable[Span], now: float) -> bytes:
        """From near to far site."""
        spans = [span._replace(data=bytes(span.data)) for span in spans]
        self.spans += spans
        section = b"".join(self._predictor.predict(bytes(span.data)) for span in spans if span.kind is Kind.RECORD)
        self.weaver.records(self._restorer.restore(section))
        for span in spans:
            if span.kind is Kind.PAYLOAD:
                self.weaver.payload([span.data])
        return b"".join(self.weaver.take(now))

    def records(self) -> list[bytes]:
        """Those that were cut since the last call."""
        return [bytes(span.data) for span in self._flushed() if span.kind is Kind.RECORD]

    def payload(self) -> list[Span]:
        """That which was cut since the last call."""
        return [span for span in self._flushed() if span.kind is Kind.PAYLOAD]

    def _flushed(self) -> list[Span]:
        spans, self.spans = self.spans, []
        return spans


class Pair:
    """Both directions, and what each site knows."""

    def __init__(self, observer: Observer | None = None, portals: Portals | None = None) -> None:
        """`observer`, and `portals` of what the target names: of the initiator's site."""
        self.near = Connection(observer)
        self.far = Connection()
        self.out = Direction(self.near, self.far, Sender.INITIATOR)
        self.back = Direction(self.far, self.near, Sender.TARGET, portals)

    def direction(self, sender: Sender) -> Direction:
        """The one that this side sends by."""
        return self.out if sender is Sender.INITIATOR else self.back
