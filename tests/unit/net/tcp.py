"""TCP connections on loopback, of which a test has both ends."""

import select
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import PATIENCE, until

CONNECTIONS = Path("/proc/net/tcp")
"""Those that the kernel knows, also of ends that are closed."""


@contextmanager
def tcp_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The end that has connected, and the one that was accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as near:
        far, _ = listener.accept()
        with far:
            yield near, far


def await_reset(connection: socket.socket) -> None:
    """Wait until its kernel knows that the other end has reset it; nothing is read."""
    await_state(connection, 0)  # errors are told of without being asked for


def await_end(connection: socket.socket) -> None:
    """Wait until its kernel knows that the other end has ended its side."""
    await_state(connection, select.POLLRDHUP)


def await_state(connection: socket.socket, state: int) -> None:
    """Wait for that, as `poll` has it, or an error."""
    poll = select.poll()
    poll.register(connection, state)
    assert poll.poll(PATIENCE * 1000), "nothing has come"


def await_forgotten(connection: socket.socket) -> None:
    """Wait until the kernel has forgotten the other end, which was closed: whatever comes there is answered by RST."""
    ends = f" {_as_listed(connection.getpeername())} {_as_listed(connection.getsockname())} "
    until(lambda: ends not in CONNECTIONS.read_text(), "the kernel still knows the other end")


def _as_listed(address: tuple[str, int]) -> str:
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
