"""The receiving direction of a stream: frames in order, each once, and what came ahead of a gap kept within bounds."""

from collections import deque

from proxy.protocol.codes import DATA
from proxy.protocol.credit import DATA_OVERHEAD, cost_of
from proxy.protocol.errors import Misuse, PeerError
from proxy.protocol.frames import decode_data
from proxy.protocol.outgoing import UNCREDITED_BYTES, UNCREDITED_FRAMES
from proxy.protocol.reader import Frame
from proxy.protocol.window import ReceiveWindow


class KeptLedger:
    """What all receiving directions of a tunnel keep ahead of gaps, in bytes of payload."""

    __slots__ = ("total", "uncredited")

    def __init__(self) -> None:
        self.total = 0
        self.uncredited = 0


class Incoming:
    """One stream's receiving direction."""

    __slots__ = ("_costs", "_kept", "_kept_cost", "_lean", "_ledger", "_uncredited", "expected", "plain", "window")

    def __init__(self, ledger: KeptLedger, window: ReceiveWindow, *, lean: bool) -> None:
        """`lean`: capability LEAN was agreed on (`cost_of`)."""
        self.window = window
        self._lean = lean
        self._costs: deque[tuple[int, int]] = deque()  # cost and plain cost of each DATA frame that the driver has
        self.expected = 0
        """Number of the next frame to be delivered."""
        self.plain = 0
        """Plain bytes delivered."""
        self._ledger = ledger
        self._kept: dict[int, tuple[Frame, int]] = {}  # by number: what came ahead of a gap, and plain bytes of DATA
        self._kept_cost = 0  # costs of the DATA frames in `_kept`
        self._uncredited = 0  # how many other frames are in `_kept`

    def has(self, number: int) -> bool:
        """True if the frame of that number has arrived before."""
        return number < self.expected or number in self._kept

    def charge(self, frame: Frame, now: float, round_trip: float) -> int:
        """Charge DATA to the peer's credit, in the order of arrival. Returns its plain bytes, 0 for other frames.

        Raises PeerError if it exceeds the credit, or is no batch. Times in seconds.
        """
        if frame.type != DATA:
            return 0
        plain = decode_data(frame.payload)
        self.window.arrive(cost_of(plain, len(frame.payload), lean=self._lean), now, round_trip)
        return plain

    def deliver(self, frame: Frame, plain: int) -> None:
        """The DATA frame is next in order, and is given to the driver now: count it."""
        self.plain += plain
        self._costs.append((cost_of(plain, len(frame.payload), lean=self._lean), plain + DATA_OVERHEAD))

    def consume(self, now: float, round_trip: float) -> None:
        """The array has taken the next DATA frame. Raises Misuse if there is none."""
        if not self._costs:
            raise Misuse("more DATA was consumed than has arrived")
        self.window.consume(*self._costs.popleft(), now, round_trip)

    def waive(self, amount: int) -> None:
        """A WAIVE is next in order. Raises PeerError if DATA before it is not consumed, or if it exceeds the credit."""
        if self._costs:
            raise PeerError("WAIVE", "DATA that came before it is not consumed")
        self.window.waive(amount)

    def press(self) -> bool:
        """Grow the window if the peer has nearly used it up while the array kept pace; True if a CREDIT has to go."""
        return self.window.press(self._kept_cost)

    def keep(self, frame: Frame, plain: int) -> None:
        """Keep a copy of a frame that came ahead of a gap, until the gap closes.

        Credit bounds how much DATA is kept. Raises PeerError if more frames of other types have to be kept than an
        honest peer sends, and for DATA that comes after END.
        """
        size = len(frame.payload)
        if frame.type == DATA:
            if self.window.ended:
                raise PeerError.of(frame, "it comes after END, when there is no room for it any more")
            self._kept_cost += cost_of(plain, size, lean=self._lean)
        else:
            self._uncredited += 1
            self._ledger.uncredited += size
            if self._uncredited > UNCREDITED_FRAMES or self._ledger.uncredited > UNCREDITED_BYTES:
                raise PeerError.of(frame, f"too much came ahead of frame {self.expected}, which is missing")
        self._kept[frame.number] = frame._replace(payload=bytes(frame.payload)), plain
        self._ledger.total += size

    def next_kept(self) -> tuple[Frame, int] | None:
        """The kept frame that is next in order, and its plain bytes; it is kept no longer. None if it has not come."""
        if not self._kept:
            return None
        kept = self._kept.pop(self.expected, None)
        if kept is not None:
            self._drop(*kept)
        return kept

    def close(self) -> None:
        """The stream is over: keep nothing, give the credit back."""
        for frame, plain in self._kept.values():
            self._drop(frame, plain)
        self._kept.clear()
        self._costs.clear()
        self.window.close()

    def _drop(self, frame: Frame, plain: int) -> None:
        self._ledger.total -= len(frame.payload)
        if frame.type == DATA:
            self._kept_cost -= cost_of(plain, len(frame.payload), lean=self._lean)
        else:
            self._uncredited -= 1
            self._ledger.uncredited -= len(frame.payload)
