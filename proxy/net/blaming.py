"""Decides whose fault an error in a stream is, and so whether it ends the stream or the tunnel."""

import logging
from collections.abc import Callable

from proxy.observe.counters import Traffic
from proxy.protocol.codes import ResetCode
from proxy.protocol.errors import PeerError
from proxy.reduction.errors import BatchError, CorruptStream

log = logging.getLogger(__name__)


class ChunkLost(Exception):
    """A chunk that the peer referred to is held by neither side. Nobody is to blame, but the stream cannot go on."""


class Blaming:
    """A context manager in which exceptions end the stream or the tunnel, by whose fault they are.

    BatchError (a broken rule) is the peer's fault and ends the tunnel. CorruptStream (wrong bytes) and ChunkLost end
    this stream. So does any other Exception: it is a defect of our own, after which nobody knows which bytes have gone.
    PeerError is left to the caller. (A class and not a generator because every batch passes through it.) Loop thread.
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
        """`breach` ends the tunnel, `close` the stream, with a reason. `traffic`: where mismatches are counted."""
        self._stream = stream
        self._name = name
        self._traffic = traffic
        self._breach = breach
        self._close = close

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if error is None or not isinstance(error, Exception) or isinstance(error, PeerError):
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
        """Log an error that is this program's own fault, and end the stream."""
        log.error("stream %d to %s: a defect", self._stream, self._name, exc_info=error)
        self._close(ResetCode.INTERNAL, f"a defect: {type(error).__name__}")
