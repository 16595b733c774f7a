"""What the sink does with its memory between runs; the ends themselves run in tests/integration/bench."""

from bench.load import READ_BYTES, clear, same


def test_nothing_of_a_run_is_left_for_the_next() -> None:
    expected = memoryview(bytes(range(1, 256)) * 4096)
    room = memoryview(bytearray(expected) + bytearray(READ_BYTES))
    assert same(room[: len(expected)], expected)
    clear(room)
    assert not any(room)
