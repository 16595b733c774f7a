"""Replication over plain TCP: a source that sends a volume, and a sink that hashes what arrives.

The source sends the volume in writes of a given size, ends its side, and waits. The sink hashes (BLAKE3) until the end
and answers with hash and length; so the elapsed time runs until the far end has everything, and a transfer is verified
when both agree with what the source generated. `Sink` serves connections in threads.
"""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Self

from blake3 import blake3

from bench.sites import Address

READ_BYTES = 256 << 10
PATIENCE_SECONDS = 300.0
"""How long a single write, or the sink's answer, may take."""
SO_RCVBUFFORCE = 33
RECEIPT = struct.Struct(">32sQ")
"""The sink's answer: BLAKE3 and number of the bytes that it received."""


@dataclass(frozen=True)
class Transfer:
    """One volume that was sent."""

    bytes: int
    seconds: float
    """From the connection to the sink's answer."""
    verified: bool
    """What arrived is, byte for byte, what was sent."""
    complaint: str = ""
    """Why it is not verified."""

    @property
    def rate(self) -> float:
        """Plain bytes a second."""
        return self.bytes / self.seconds if self.seconds else 0.0


def replicate(
    buffers: Iterable[bytes],
    address: Address,
    progress: Callable[[int], None] = lambda count: None,
    control: str = "",
) -> Transfer:
    """Send all buffers, one write each, to a sink; `progress` is told the bytes of each. Never raises for the network.

    The clock starts when the first buffer is there. Buffers are hashed while they are sent, so the speed is bounded by
    BLAKE3 on one core. `control`: the connection's congestion control; by default the kernel's.
    """
    waiting = iter(buffers)
    ready = chain(list(islice(waiting, 1)), waiting)
    hasher, sent, started = blake3(), 0, time.monotonic()
    try:
        with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if control:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            for buffer in ready:
                hasher.update(buffer)
                connection.sendall(buffer)
                sent += len(buffer)
                progress(len(buffer))
            connection.shutdown(socket.SHUT_WR)
            receipt = _read_receipt(connection)
    except OSError as error:
        return Transfer(sent, time.monotonic() - started, False, f"the connection failed after {sent} bytes: {error}")
    seconds = time.monotonic() - started
    complaint = _compare(receipt, hasher.digest(), sent)
    return Transfer(sent, seconds, not complaint, complaint)


def _read_receipt(connection: socket.socket) -> bytes:
    receipt = b""
    while len(receipt) < RECEIPT.size:
        part = connection.recv(RECEIPT.size - len(receipt))
        if not part:
            break
        receipt += part
    return receipt


def _compare(receipt: bytes, fingerprint: bytes, sent: int) -> str:
    """What is wrong, or nothing."""
    if len(receipt) != RECEIPT.size:
        return "the sink ended without its receipt"
    received_fingerprint, received = RECEIPT.unpack(receipt)
    if received != sent:
        return f"{sent} bytes were sent, but {received} arrived"
    return "" if received_fingerprint == fingerprint else "the bytes that arrived differ from those that were sent"


class Sink:
    """A listener on loopback that hashes whatever arrives, each connection in a thread. A context manager."""

    def __init__(
        self, pause_every: int = 0, pause_seconds: float = 0.0, host: str = "127.0.0.1", window: int = 0
    ) -> None:
        """`pause_every`, `pause_seconds`: as a slow array, stop reading for so long after each so many bytes.

        `window`: the most bytes that it lets be on their way to it (needs root); 0: as many as the kernel likes.
        """
        self._pause_every = pause_every
        self._pause_seconds = pause_seconds
        self._listener = socket.create_server((host, 0))
        self._window = window
        if window:  # forced: what an unprivileged process may set is less than 1 MB; locked: it does not grow
            self._listener.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 2 * window)
            self._clamp(self._listener)
        self._open: set[socket.socket] = set()
        self._received = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, name="sink", daemon=True)

    @property
    def address(self) -> Address:
        """Where it listens."""
        host, port = self._listener.getsockname()
        return host, port

    @property
    def received(self) -> int:
        """Bytes so far, of all connections. Usable from any thread."""
        return self._received

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._listener)
        self._thread.join()
        for connection in list(self._open):
            _end(connection)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed by __exit__
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=[connection], name="sink connection", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """Hash to the end, then answer. A connection that fails gets no receipt: the source notices."""
        try:
            connection.sendall(self._swallow(connection))
        except OSError:
            pass
        finally:
            self._open.discard(connection)
            connection.close()

    def _clamp(self, end: socket.socket) -> None:
        """Bound the window. The kernel forgets the bound when it learns the size of segments, so this is repeated."""
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, self._window)

    def _swallow(self, connection: socket.socket) -> bytes:
        hasher, received, room = blake3(), 0, memoryview(bytearray(READ_BYTES))
        while count := connection.recv_into(room):
            hasher.update(room[:count])
            if self._window:
                self._clamp(connection)
            if self._pause_every and (received + count) // self._pause_every > received // self._pause_every:
                time.sleep(self._pause_seconds)
            received += count
            with self._lock:
                self._received += count
        return RECEIPT.pack(hasher.digest(), received)


def _end(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in it
    except OSError:
        pass
    finally:
        end.close()
