"""Two sites that carry one iSCSI connection, without anything between them but sections and payload."""

from collections.abc import Callable
from typing import NamedTuple

from proxy.iscsi.connection import Connection, Observer
from proxy.iscsi.framer import Framer
from proxy.iscsi.pdu import Sender
from proxy.iscsi.portals import NearPortals, Portal, PortalTexts
from proxy.iscsi.prediction import Predictor, Restorer
from proxy.iscsi.span import Address, Spans, address_of
from proxy.iscsi.weaver import Weaver
from tests.unit.iscsi.pdus import login, login_answer


class Span(NamedTuple):
    """What a Framer told of."""

    data: bytes | memoryview
    is_payload: bool
    address: Address | None = None


class Cut(list[Span]):
    """All that it told of, in order."""

    def record(self, record: bytes, coming: int) -> None:
        self.append(Span(record, False))

    def payload(self, data: memoryview, address: Address | None) -> None:
        self.append(Span(data, True, address))


def byte_of(address: Address) -> int:
    """From the volume's start."""
    return address % address_of(1, 0)


class OneForAll:
    """Knows one portal for every other, or none."""

    def __init__(self, portal: Portal | None) -> None:
        self.portal = portal

    def instead(self, named: Portal) -> Portal | None:
        """The one."""
        return self.portal

    def replaced(self, number: int) -> None:
        """Nobody is told."""

    def passed(self, reason: str) -> None:
        """Nobody is told."""


class Direction:
    """One direction of the connection, from array to array."""

    def __init__(self, near: Connection, far: Connection, sender: Sender, portals: NearPortals | None = None) -> None:
        self.framer = Framer(near, sender)
        self.weaver = Weaver(far, sender, None if portals is None else PortalTexts(portals))
        self.came = 0
        """Bytes that have come out on the far side."""
        self.spans: list[Span] = []
        self._predictor = Predictor()
        self._restorer = Restorer()

    def send(self, data: bytes, size: int = 1 << 20, now: float = 0.0) -> bytes:
        """What comes out on the far side when these bytes come in pieces of so many bytes."""
        view = memoryview(data)
        came = b""
        for at in range(0, len(view), size):
            cut = Cut()
            self.framer.receive(view[at : at + size], now, cut)
            came += self.carry(cut, now)
        return came

    def pause(self) -> bytes:
        """What comes out when the source pauses."""
        return self._carried(self.framer.pause)

    def give_up(self) -> bytes:
        """What comes out when it pauses for long."""
        return self._carried(self.framer.give_up)

    def finish(self) -> bytes:
        """What comes out when the source ends."""
        return self.give_up() + self._out(self.weaver.let_go())

    def carry(self, cut: Cut, now: float) -> bytes:
        """From near to far site."""
        spans = [span._replace(data=bytes(span.data)) for span in cut]
        self.spans += spans
        section = b"".join(self._predictor.predict(bytes(span.data)) for span in spans if not span.is_payload)
        self.weaver.records(self._restorer.restore(section, 1 << 20))
        for span in spans:
            if span.is_payload:
                self.weaver.payload([span.data])
        return self._out(self.weaver.take(now))

    def _out(self, pieces: list[bytes | memoryview]) -> bytes:
        came = b"".join(pieces)
        self.came += len(came)
        return came

    def _carried(self, what: Callable[[Spans], None]) -> bytes:
        cut = Cut()
        what(cut)
        return self.carry(cut, 0.0)

    def records(self) -> list[bytes]:
        """Those that were cut since the last call."""
        return [bytes(span.data) for span in self._flushed() if not span.is_payload]

    def payload(self) -> list[Span]:
        """That which was cut since the last call."""
        return [span for span in self._flushed() if span.is_payload]

    def _flushed(self) -> list[Span]:
        spans, self.spans = self.spans, []
        return spans


class Pair:
    """Both directions, and what each site knows."""

    def __init__(
        self, observer: Observer | None = None, portals: NearPortals | None = None, far: Observer | None = None
    ) -> None:
        """`observer`, and `portals` of what the target names: of the initiator's site; `far`: observer of the other."""
        self.near = Connection(observer)
        self.far = Connection(far)
        self.out = Direction(self.near, self.far, Sender.INITIATOR)
        self.back = Direction(self.far, self.near, Sender.TARGET, portals)

    def log_in(self, keys: bytes = b"", more: bytes = b"") -> None:
        """Both have these keys; the initiator alone has `more`."""
        self.out.send(login(keys + more))
        self.back.send(login_answer(keys))

    def direction(self, sender: Sender) -> Direction:
        """The one that this side sends by."""
        return self.out if sender is Sender.INITIATOR else self.back
