"""The source sends the next piece when the last one was answered: it is not idle, it waits.

On a long line for the round trip, on a short one for the far array.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bench.sites import Address, free_port
from tests.integration.bed.ends import Array, Arrival, connect
from tests.integration.bed.sites import Bed, logged, run
from tests.integration.bed.verdicts import limited_by
from tests.integration.bed.wire import Wire

PIECE = 4 << 10
SERVICE = 0.1


def answer(arrival: Arrival) -> None:
    """At once."""
    while take(arrival.connection):
        arrival.connection.sendall(b"done")


def answer_late(arrival: Arrival) -> None:
    """As a slow disk would."""
    while take(arrival.connection):
        time.sleep(SERVICE)
        arrival.connection.sendall(b"done")


def take(connection: socket.socket) -> bool:
    """A whole piece; False if there is none."""
    return len(connection.recv(PIECE, socket.MSG_WAITALL)) == PIECE


@contextlib.contextmanager
def asking(entrance: Address) -> Iterator[None]:
    """An array with one command under way at a time."""
    enough = threading.Event()

    def ask() -> None:
        with connect(entrance) as near:
            while not enough.is_set():
                near.sendall(bytes(PIECE))
                near.recv(4, socket.MSG_WAITALL)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


@pytest.mark.patient
def test_over_a_long_line(bed: Bed) -> None:
    """That is warned of, once it has lasted."""
    wire = Wire(("127.0.0.1", free_port()), delay=0.05)
    with Array(answer) as array, wire:
        pair = bed.pair(array.address, tunnel_address=wire.far, dialled=wire.address)
        run(*pair.sites)
        with asking(pair.entrance):
            stream = limited_by(pair.east, "round trip or window", words="the arrays take turns: ")
            assert stream["waiting_seconds"]["answer"] > 0
            logged(pair.east, "IST-505, peer west: the arrays take turns: ")
        bed.close()


def test_with_a_slow_array(bed: Bed) -> None:
    with Array(answer_late) as array, bed.pair(array.address).running() as pair, asking(pair.entrance):
        limited_by(pair.east, "far array", words="the arrays take turns: ")
