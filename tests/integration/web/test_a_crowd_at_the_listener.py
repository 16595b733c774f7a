"""Row 38: many connections, slow readers, idlers and floods at the status listener; replication goes on unmoved."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from bench.sites import Site
from proxy.web.routes import API
from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import Array, receipt, send, whole
from tests.integration.bed.sites import Bed
from tests.integration.peers.stage import watch_memory
from tests.meanwhile import meanwhile
from tests.patience import PATIENCE

SIZE = 8 << 20
CROWD = 300
LIVE = f"GET {API}/live HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
HALF = b"GET /api/v1/status HTTP/1.1\r\nHost: loc"
FLOOD = f"GET {API}/status HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 50
MOST_GROWTH = 96 << 20
"""Bytes, with the store's and the streams' own."""


@contextlib.contextmanager
def crowd(site: Site) -> Iterator[None]:
    """Silent ones, half requests, viewers that never read; and some who ask without end and read nothing, again and
    again."""
    ends = list[socket.socket]()

    def flood(over: threading.Event) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError), connect(site) as connection:
                connection.settimeout(1)
                connection.sendall(FLOOD)
                over.wait(0.05)

    for number in range(CROWD):
        with contextlib.suppress(OSError):
            end = connect(site)
            ends.append(end)
            end.sendall((b"", HALF, LIVE)[number % 3] or b"G")
    try:
        with meanwhile(flood, flood, flood):
            yield
    finally:
        for end in ends:
            end.close()


def connect(site: Site) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", site.status_port), timeout=PATIENCE)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return connection


def test_replication_goes_on(bed: Bed) -> None:
    with Array() as array:
        pair = bed.pair(array.address)
        with pair.running():
            growth = watch_memory(pair.east)
            with crowd(pair.east):
                for number in range(3):
                    content = volume(f"crowd {number}", SIZE)
                    sending = send(cut(content, 1 << 17), pair.entrance)
                    whole(receipt(content), sending)
            assert growth() < MOST_GROWTH
            pair.east.wait_for(lambda: pair.east.get("/healthz")[0] == 200, "answers no more", PATIENCE)
