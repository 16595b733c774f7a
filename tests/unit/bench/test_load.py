"""What the sink does with its memory between runs, and what is told of answers; the ends themselves run in
tests/integration/bench."""

import socket
from pathlib import Path

import pytest

from bench.load import HEADING, READ_BYTES, LoadFailure, answer, clear, same, sinking, summary


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


def test_no_answer_took_longer_than_the_longest() -> None:
    """Of forty, the fewest that `make bench-wan` asks for, 99 of 100 were said to be answered in 40.6 s."""
    assert summary([float(seconds) for seconds in range(1, 41)]) == {"median": 20.5, "percentile_99": 39.61}
    assert summary([float(seconds) for seconds in range(101)]) == {"median": 50, "percentile_99": 99}
