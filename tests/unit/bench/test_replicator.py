"""The replicator: verified means identical, and everything else is noticed."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from bench.datasets import Dataset
from bench.replicator import Sink, replicate
from bench.sites import Address
from tests.patience import PATIENCE

VOLUME = Dataset("any", (3 << 20) + 17, 38, 10)


@contextmanager
def relay(target: Address, alter: Callable[[bytes], bytes]) -> Iterator[Address]:
    """A bad middle: passes one connection on, altered, and the answer back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            near, _ = listener.accept()
            with near, socket.create_connection(target) as far:
                while data := near.recv(1 << 16):
                    far.sendall(alter(data))
                far.shutdown(socket.SHUT_WR)
                while answer := far.recv(1 << 16):
                    near.sendall(answer)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join()


@pytest.mark.parametrize("size", [1, 4096, 1 << 20])
def test_what_arrives_unchanged_is_verified(size: int) -> None:
    volume = VOLUME if size > 1 else Dataset("any", 1000)
    told: list[int] = []
    with Sink() as sink:
        transfer = replicate(volume.writes(size), sink.address, told.append)
    assert transfer.verified
    assert not transfer.complaint
    assert transfer.bytes == sum(told) == volume.size
    assert transfer.rate > 0


def test_several_at_once() -> None:
    with Sink() as sink:
        results: list[bool] = []
        threads = [
            threading.Thread(target=lambda: results.append(replicate(VOLUME, sink.address).verified), daemon=True)
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [True] * 8


def test_a_changed_byte_is_noticed() -> None:
    changed: list[bool] = []

    def flip(data: bytes) -> bytes:
        if changed:
            return data
        changed.append(True)
        return bytes([data[0] ^ 1]) + data[1:]

    with Sink() as sink, relay(sink.address, flip) as address:
        transfer = replicate(VOLUME, address)
    assert not transfer.verified
    assert "differ" in transfer.complaint


def test_a_lost_byte_is_noticed() -> None:
    with Sink() as sink, relay(sink.address, lambda data: data[:-1]) as address:
        transfer = replicate(Dataset("any", 1000), address)
    assert transfer.complaint == "1000 bytes were sent, but 999 arrived"


def test_a_sink_that_ends_early_is_noticed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            while connection.recv(1 << 16):
                pass
            connection.sendall(b"short")
            connection.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        transfer = replicate(VOLUME, listener.getsockname())
        thread.join()
    assert transfer.complaint == "the sink ended without its receipt"


def test_nobody_there_is_a_complaint_not_an_exception(free_port: Callable[[], int]) -> None:
    transfer = replicate(VOLUME, ("127.0.0.1", free_port()))
    assert not transfer.verified
    assert "connection failed after 0 bytes" in transfer.complaint


def test_leaving_the_sink_ends_its_connections() -> None:
    with Sink() as sink:
        connection = socket.create_connection(sink.address)
        connection.sendall(b"begun")
    connection.settimeout(PATIENCE)
    with connection, suppress(ConnectionResetError):
        while connection.recv(100):
            pass
