"""What can go wrong in a tunnel, by whose fault it is."""

from typing import TYPE_CHECKING

from proxy.protocol.codes import CloseCode, FrameType

if TYPE_CHECKING:
    from proxy.protocol.reader import Frame


_NAMES = {kind.value: kind.name for kind in FrameType}


class PeerError(Exception):
    """The peer broke the protocol: the tunnel ends with CLOSE 6."""

    def __init__(self, frame: str, reason: str) -> None:
        """`frame` names type, stream and number, as far as they are known."""
        super().__init__(frame, reason)
        self.frame = frame
        self.reason = reason

    @classmethod
    def of(cls, frame: "Frame", reason: str) -> "PeerError":
        """The error that names this frame by type, stream and number."""
        return cls(describe(frame.type, frame.stream, frame.number), reason)

    def __str__(self) -> str:
        return f"{self.frame} broke the protocol: {self.reason}"


class HelloRefused(Exception):
    """The peer's HELLO does not lead to a lane: the connection has to be closed with this code and reason."""

    def __init__(self, code: CloseCode, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class OpenRefused(Exception):
    """No stream can be opened now; the message says why."""


class Misuse(Exception):
    """Our own code called the tunnel in a way that it must not."""


def describe(kind: int, stream: int, number: int) -> str:
    """Words for a frame: "DATA 17 of stream 5", "PING"."""
    name = _NAMES.get(kind, f"frame of type 0x{kind:02x}")
    if kind < FrameType.OPEN and not stream and not number:
        return name
    return f"{name} {number} of stream {stream}"
