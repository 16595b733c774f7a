"""The two ends of a replication: an array that sends, and one that receives and remembers how each connection ended.

`Array` listens. By default it takes all bytes of a connection until the other side ends its own, answers with a
receipt (BLAKE3 and length of what came), and closes. `send` is the near array: it sends, ends its side, and reads the
answer. How a connection ended is one of three words, because the difference is what these tests are about: END (the
other side ended it in order), RESET (it was torn down), and OPEN (not yet).

What came is judged by `whole`, `torn`, `prefix_of`, `hears` and `same`, not by bare comparisons: other bytes than were
sent, and an end that the origin did not make, are WrongBytes, and such a test gets no second run.
"""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from blake3 import blake3

from bench.sites import Address
from tests.patience import PATIENCE

OPEN, END, RESET = "open", "end", "reset"
READ_BYTES = 256 << 10
_ACCEPTED_WITHIN = 0.3
"""Seconds in which the kernel takes a connection for which there is room: it does so at once."""
_LINGER_RESET = struct.pack("ii", 1, 0)


@dataclass
class Arrival:
    """One connection at an array: what has come on it, and how it ended."""

    connection: socket.socket
    data: bytearray = field(default_factory=bytearray)
    ended: str = OPEN
    over: threading.Event = field(default_factory=threading.Event)
    """Set when the array has done with the connection."""

    def wait(self, seconds: float = PATIENCE) -> Self:
        """Wait until it is over. Raises TimeoutError."""
        if not self.over.wait(seconds):
            raise TimeoutError(f"the connection is still open after {len(self.data)} bytes and {seconds:.0f} s")
        return self


Behaviour = Callable[[Arrival], None]
"""What an array does with a connection, in a thread of its own. Resets may be raised through it."""


class Array:
    """A listener on loopback. A context manager; `arrivals` has its connections in their order."""

    def __init__(
        self, behaviour: Behaviour | None = None, *, address: Address = ("127.0.0.1", 0), receive_buffer: int = 0
    ) -> None:
        """`receive_buffer`: the kernel's for each connection, in bytes; 0 leaves it to the kernel."""
        self.arrivals: list[Arrival] = []
        self._behaviour = behaviour or acknowledge
        self._changed = threading.Condition()
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._listener = socket.create_server(address, family=family)
        if receive_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.address: Address = self._listener.getsockname()[:2]
        self._thread = threading.Thread(target=self._accept, name="array", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        hang_up(self._listener)
        self._thread.join()
        for arrival in self.arrivals:
            hang_up(arrival.connection)
            arrival.over.wait(PATIENCE)

    def arrival(self, number: int = 0, seconds: float = PATIENCE) -> Arrival:
        """Wait for a connection, counted from 0. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.arrivals) > number, seconds):
                raise TimeoutError(f"only {len(self.arrivals)} connections have come")
            return self.arrivals[number]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed by __exit__
                return
            arrival = Arrival(connection)
            with self._changed:
                self.arrivals.append(arrival)
                self._changed.notify_all()
            threading.Thread(target=self._serve, args=[arrival], name="arrival", daemon=True).start()

    def _serve(self, arrival: Arrival) -> None:
        try:
            self._behaviour(arrival)
        except OSError:
            arrival.ended = RESET
        finally:
            arrival.connection.close()
            arrival.over.set()


@contextlib.contextmanager
def full_backlog() -> Iterator[Address]:
    """Who connects there waits: nobody accepts, and what fits into the listener's queue is there already."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as held:
        address: Address = listener.getsockname()
        with contextlib.suppress(TimeoutError):
            while True:
                held.enter_context(connect(address, _ACCEPTED_WITHIN))
        yield address


def swallow(arrival: Arrival) -> None:
    """Take everything until the end."""
    room = memoryview(bytearray(READ_BYTES))
    while count := arrival.connection.recv_into(room):
        arrival.data += room[:count]
    arrival.ended = END


def acknowledge(arrival: Arrival) -> None:
    """Take everything until the end, and answer with the receipt."""
    swallow(arrival)
    arrival.connection.sendall(receipt(arrival.data))


def echo(arrival: Arrival) -> None:
    """Answer what comes with itself, as it comes."""
    while part := arrival.connection.recv(READ_BYTES):
        arrival.data += part
        arrival.connection.sendall(part)
    arrival.ended = END


def unless_marked(released: threading.Event) -> Behaviour:
    """As `acknowledge`, but of what begins with "!" it takes no more than that before it is released, whatever happens.

    Nor is it released by the test's patience: then those that it holds up would seem not to wait for it.
    """

    def behave(arrival: Arrival) -> None:
        arrival.data += arrival.connection.recv(1)
        if arrival.data == b"!":
            released.wait()
        acknowledge(arrival)

    return behave


def receipt(content: bytes | bytearray) -> bytes:
    """What proves to the sender that exactly this has come."""
    return _receipt(blake3(content), len(content))


def _receipt(hasher: blake3, length: int) -> bytes:
    return hasher.digest() + length.to_bytes(8, "big")


@dataclass(frozen=True)
class Sending:
    """How a transfer went, as the sending array saw it."""

    sent: int
    """Bytes that its TCP took."""
    ended: str
    answer: bytes
    seconds: float
    stalled: float
    """Longest single write, in seconds."""

    @property
    def data(self) -> bytes:
        """The answer: what came back."""
        return self.answer


def held(number: int, released: threading.Event) -> Callable[[int], None]:
    """As `pause` of `send`: after the write of that number nothing is sent until the event. AssertionError if it never
    comes."""

    def wait(written: int) -> None:
        assert written != number or released.wait(PATIENCE)

    return wait


class Heard(NamedTuple):
    """What came on a connection until the other side ended it, and END or RESET."""

    data: bytes
    ended: str


def connect(address: Address, seconds: float = PATIENCE) -> socket.socket:
    """A connection on which every wait has a limit, and small writes go out at once."""
    connection = socket.create_connection(address, timeout=seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def send(
    writes: Iterable[bytes | memoryview],
    address: Address,
    pause: Callable[[int], None] | None = None,
    *,
    patience: float = PATIENCE,
) -> Sending:
    """Send, end our side, and read the answer to its end. `pause` is called after each write, with its number.

    Raises WrongBytes for the receipt of anything else.
    """
    hasher = blake3()
    sent, answer, stalled, ended, started = 0, b"", 0.0, RESET, time.monotonic()
    try:
        with connect(address, patience) as connection:
            for number, write in enumerate(writes):
                began = time.monotonic()
                connection.sendall(write)
                stalled = max(stalled, time.monotonic() - began)
                sent += len(write)
                hasher.update(write)
                if pause:
                    pause(number)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(READ_BYTES):
                answer += part
            ended = END
    except ConnectionError:
        pass
    proof = _receipt(hasher, sent)
    if ended == END and len(answer) == len(proof) and answer != proof:
        raise WrongBytes(
            f"{sent} bytes were sent, and the receipt is for {int.from_bytes(answer[-8:], 'big')}, or others"
        )
    return Sending(sent, ended, answer, time.monotonic() - started, stalled)


def how_it_ends(connection: socket.socket) -> Heard:
    """Read until the other side ends the connection, either way."""
    received = b""
    try:
        while part := connection.recv(READ_BYTES):
            received += part
    except ConnectionError:
        return Heard(received, RESET)
    return Heard(received, END)


def how_dialling_ends(address: Address) -> Heard:
    """As `how_it_ends`, of a new connection: its reset may come before the kernel has said that it is there."""
    try:
        with connect(address) as connection:
            return how_it_ends(connection)
    except ConnectionResetError:
        return Heard(b"", RESET)


class WrongBytes(AssertionError):
    """Other bytes came than were sent, or an end that the origin did not make: no stall explains that."""


class Came(Protocol):
    """Bytes that came one way, and how that ended: `Arrival`, `Sending` with its answer, `Heard`."""

    @property
    def data(self) -> bytes | bytearray: ...

    @property
    def ended(self) -> str: ...


def prefix_of(content: bytes, came: Came) -> None:
    """A prefix has come, and all of it if it ended in order. Raises WrongBytes."""
    same(content[: len(came.data)], came.data)
    if came.ended == END and len(came.data) < len(content):
        raise WrongBytes(f"ended in order after {len(came.data)} of {len(content)} bytes")


def whole(content: bytes, came: Came, ended: str = END, *, why: Callable[[], object] = str) -> None:
    """Exactly this has come, and that end. Raises WrongBytes; AssertionError, with `why`, if it was torn down."""
    prefix_of(content, came)
    found = len(came.data)
    assert found == len(content), f"only {found} of {len(content)} bytes came, then: {came.ended} {why()}"
    if came.ended == END != ended:
        raise WrongBytes(f"ended in order, which nobody did: {ended} is right")
    assert came.ended == ended, f"ended by {came.ended}, where {ended} is right {why()}"


def torn(content: bytes, came: Came) -> None:
    """A prefix has come, and a reset, since the origin made no end. Raises WrongBytes."""
    prefix_of(content, came)
    if came.ended == END:
        raise WrongBytes(f"ended in order after {len(came.data)} bytes, which nobody did")
    assert came.ended != OPEN, "it is still open"


def hears(connection: socket.socket, content: bytes) -> None:
    """This comes next. Raises WrongBytes for other bytes or an end; OSError."""
    heard = b""
    while len(heard) < len(content):
        part = connection.recv(len(content) - len(heard))
        prefix_of(content, Heard(heard + part, OPEN if part else END))
        heard += part


def same(content: bytes | bytearray | memoryview, found: bytes | bytearray | memoryview) -> None:
    """Raises WrongBytes if they differ."""
    if found != content:
        at = next((at for at, (a, b) in enumerate(zip(content, found, strict=False)) if a != b), "the end of one")
        raise WrongBytes(f"{len(found)} bytes where {len(content)} are right; they differ from {at} on")


def reset(connection: socket.socket) -> None:
    """End a connection by RST."""
    reset_once_closed(connection)
    connection.close()


def reset_once_closed(connection: socket.socket) -> None:
    """Whoever closes the connection ends it by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)


def hang_up(end: socket.socket) -> None:
    """Close a socket, and wake the thread that waits in it."""
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        end.close()
