"""The lab's story goes on while a site is started again."""

import socket
import threading
from pathlib import Path

import pytest

from bench.lab.story import tunnel_is_up, wire_bytes
from bench.sites import Site


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{", b"HTTP/1.1 503 No\r\n\r\n"])
def test_a_site_that_is_ended_while_it_answers(tmp_path: Path, answer: bytes) -> None:
    """The story ended with a traceback, and began anew."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answering, args=(listener, answer), daemon=True).start()
        site = Site("east", tmp_path, listener.getsockname()[1])
        assert not tunnel_is_up(site)
        assert wire_bytes(site) == 0


def answering(listener: socket.socket, answer: bytes) -> None:
    """Two askers get it, then the connection ends."""
    for _ in range(2):
        with listener.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(answer)
