"""TCP connections on loopback, of which a test has both ends."""

import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import PATIENCE


@contextmanager
def tcp_pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The end that has connected, and the one that was accepted."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as near:
        far, _ = listener.accept()
        with far:
            yield near, far


def await_reset(connection: socket.socket) -> None:
    """Wait until its kernel knows that the other end has reset it; nothing is read."""
    poll = select.poll()
    poll.register(connection, 0)
    assert poll.poll(PATIENCE * 1000), "no reset has come"
