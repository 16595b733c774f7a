"""Who is to blame for an error in a stream, and what ends by it."""

import logging
from collections.abc import Callable

from proxy.observe.counters import Traffic
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import PeerError
from proxy.reduction.errors import BatchError, CorruptStream

log = logging.getLogger(__name__)


class ChunkLost(Exception):
    """A chunk that the peer referred to can be had of nobody; nobody is to blame, but the stream cannot go on."""


class Blaming:
    """A context that looks at errors before anybody else does; no generator: each batch passes through it.

    A broken rule is the peer's doing and ends the tunnel; wrong bytes end this stream, and so does a defect of our own:
    after it nobody knows which bytes have gone. What the tunnel blames the peer for is for the caller. Loop thread.
    """

    __slots__ = ("_breach", "_close", "_name", "_stream", "_traffic")

    def __init__(
        self,
        stream: int,
        name: str,
        traffic: Traffic,
        breach: Callable[[str], None],
        close: Callable[[ResetCode, str], None],
    ) -> None:
        """`breach` ends the tunnel with that reason, `close` the stream; `traffic`: where mismatches are counted."""
        self._stream = stream
        self._name = name
        self._traffic = traffic
        self._breach = breach
        self._close = close

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if not isinstance(error, Exception) or isinstance(error, PeerError):
            return False
        if isinstance(error, BatchError):
            self._breach(f"DATA on stream {self._stream}: {error}")
        elif isinstance(error, CorruptStream):
            self._traffic.mismatches += 1
            log.error("stream %d to %s: %s", self._stream, self._name, error)
            self._close(ResetCode.CORRUPT, str(error))
        elif isinstance(error, ChunkLost):
            self._close(ResetCode.CHUNK_LOST, str(error))
        else:
            self.defect(error)
        return True

    def defect(self, error: Exception) -> None:
        """An error that nobody but this program is to blame for."""
        log.error("stream %d to %s: a defect", self._stream, self._name, exc_info=error)
        self._close(ResetCode.INTERNAL, f"a defect: {type(error).__name__}")
