"""What is asked of the kernel, and whether it has done so."""

import socket
from collections.abc import Iterator

import pytest

from proxy.net.sockets import make_room

SIZE = 1 << 20


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as near:
        accepted, _ = listener.accept()
        with accepted:
            yield near


def test_there_is_room_and_a_single_byte_is_still_told_of(connection: socket.socket) -> None:
    make_room(connection, SIZE)
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) >= SIZE
    assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1


def test_a_socket_that_has_no_such_thing_stays_as_it_is() -> None:
    near, far = socket.socketpair()
    with near, far:
        make_room(near, SIZE)
        far.send(b"x")
        assert near.recv(10) == b"x"


def test_a_closed_connection_is_no_error(connection: socket.socket) -> None:
    connection.close()
    make_room(connection, SIZE)
