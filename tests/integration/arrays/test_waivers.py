"""Connections that have given back credit, because others lacked it, go on: what they send then fits what is left."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from tests.integration.bed.contents import volume
from tests.integration.bed.ends import Array, Arrival, connect, hears
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE

CONNECTIONS, BUSY = 12, 2
WRITE = 2 << 20
REST_SECONDS = 6.0
SCARCE = {"window": "4MiB", "memory": "16MiB"}


def send_back(arrival: Arrival) -> None:
    """All that comes."""
    while data := arrival.connection.recv(256 << 10):
        arrival.connection.sendall(data)


def write(connection: socket.socket, content: bytes) -> None:
    sending = threading.Thread(target=connection.sendall, args=[content], daemon=True)
    sending.start()
    hears(connection, content)
    sending.join(PATIENCE)


def test_connections_that_were_at_rest_go_on(bed: Bed) -> None:
    with Array(send_back) as array, bed.pair(array.address, tunnel=SCARCE).running() as pair, ExitStack() as stack:
        connections = [stack.enter_context(connect(pair.entrance, PATIENCE)) for _ in range(CONNECTIONS)]
        workers = stack.enter_context(ThreadPoolExecutor(CONNECTIONS))

        def each(some: list[socket.socket], words: str) -> None:
            contents = [volume(f"{words} {number}", WRITE) for number in range(len(some))]
            list(workers.map(write, some, contents))

        each(connections, "first")
        end = time.monotonic() + REST_SECONDS
        while time.monotonic() < end:
            each(connections[:BUSY], f"busy {time.monotonic()}")
        each(connections, "last")
