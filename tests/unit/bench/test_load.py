"""What the sink does with its memory between runs; the ends themselves run in tests/integration/bench."""

import socket
from pathlib import Path

import pytest

from bench.load import HEADING, READ_BYTES, LoadFailure, answer, clear, same, sinking


def test_nothing_of_a_run_is_left_for_the_next() -> None:
    expected = memoryview(bytes(range(1, 256)) * 4096)
    room = memoryview(bytearray(expected) + bytearray(READ_BYTES))
    assert same(room[: len(expected)], expected)
    clear(room)
    assert not any(room)


def test_a_connection_that_ends_early_is_told_to_the_bench_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A traceback of the sink came with Ctrl-C, which ends the source first."""
    (file := tmp_path / "file").write_bytes(bytes(1000))
    with sinking(file) as (address, sink):
        with socket.create_connection(address) as source:
            source.sendall(HEADING.pack(0, 1000, 0) + bytes(10))
        with pytest.raises(LoadFailure, match="failed: the connection ended after 10 of 1000 bytes"):
            answer(sink)
        assert sink.wait() == 1
    assert capfd.readouterr().err == ""
