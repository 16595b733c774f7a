"""Writers at a target that does not do what they ask for: that is told, and there are no figures."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from bench.datasets import Dataset
from bench.initiator.pdu import Digests, Opcode, Pdu, Reader
from bench.replay.writers import WriterFailure, alike, write
from bench.sites import Address


@contextlib.contextmanager
def refusing(answer: Pdu) -> Iterator[Address]:
    """A target that answers the first PDU so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                Reader(connection).read()
                connection.sendall(b"".join(answer.encode(Digests())))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()
        thread.join()


def test_a_login_that_is_refused_is_told() -> None:
    """The writer's thread ended with a traceback, and the run after two minutes with another one: of no writes."""
    refusal = Pdu(Opcode.LOGIN_RESPONSE, rest=bytes(16) + bytes([2, 3]) + bytes(10))
    with refusing(refusal) as via:
        arrays: Any = SimpleNamespace(via=via, inside=contextlib.nullcontext)
        with pytest.raises(WriterFailure, match="writer 1: login refused: status class 2, detail 3"):
            write(arrays, [alike(1, Dataset("writers", 1 << 20), 4096)], 1.0)
