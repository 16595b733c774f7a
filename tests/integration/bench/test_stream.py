"""The stream that `make bench-wan` sends from east."""

import contextlib
import socket

import pytest

from bench.datasets import Dataset
from bench.overwan.streams import ENDLESS, Stream
from tests.integration.bench.no_line import NO_LINE


def test_an_interrupt_does_not_wait_for_a_line_that_is_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        stream = Stream(NO_LINE, mute.getsockname(), Dataset("unanswered", ENDLESS))
        with contextlib.ExitStack() as line, pytest.raises(KeyboardInterrupt):
            interrupt(stream, mute, line)
        assert not stream.wait().verified, "it ends with what is around it"


def interrupt(stream: Stream, mute: socket.socket, line: contextlib.ExitStack) -> None:
    """Where bytes have begun to arrive, and no answer ever will."""
    with stream:
        connection = line.enter_context(mute.accept()[0])
        assert connection.recv(10)
        raise KeyboardInterrupt
