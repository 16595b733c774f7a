"""Windows that streams get, and that a receiver never counts more of them than an honest sender."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.reduction.errors import BatchError
from proxy.reduction.windows import (
    WINDOW_LOG_MAX,
    WINDOW_LOG_MIN,
    WINDOWS_MAX,
    ContextClaims,
    ContextMemory,
    cost_of,
)

MIB = 1 << 20


def claims_of(live: set[int]) -> ContextClaims:
    return ContextClaims(live.__contains__)


def test_a_single_stream_gets_the_longest_window() -> None:
    assert claims_of({1}).claim(1, 1) == WINDOW_LOG_MAX


def test_streams_that_begin_together_share() -> None:
    live = set(range(16))
    claims = claims_of(live)
    windows = [1 << claims.claim(stream, 16) for stream in sorted(live)]
    assert sum(windows) <= WINDOWS_MAX
    assert windows[:14] == [4 * MIB] * 14
    assert min(windows) >= 2 * MIB


@pytest.mark.parametrize("streams", [64, 65, 1000])
def test_however_many_there_are_the_shortest_window_is_had_as_long_as_there_are_any(streams: int) -> None:
    """Of many connections most rest. With more than 64 none had a window, the only busy one neither."""
    live = set(range(streams))
    claims = claims_of(live)
    windows = [claims.claim(stream, streams) for stream in sorted(live)]
    assert windows == [WINDOW_LOG_MIN] * 63 + [0] * (streams - 63)


def test_something_remains_for_those_that_come_later() -> None:
    live = set(range(9))
    claims = claims_of(live)
    assert [1 << claims.claim(stream, 1) >> 20 if stream < 6 else claims.claim(stream, 1) for stream in live] == [
        32,
        16,
        8,
        4,
        2,
        1,
        0,
        0,
        0,
    ]


def test_what_a_stream_had_comes_back_when_the_peer_has_forgotten_it() -> None:
    live = {1, 3, 5}
    claims = claims_of(live)
    assert claims.claim(1, 1) == WINDOW_LOG_MAX
    assert claims.claim(3, 1) == WINDOW_LOG_MAX - 1
    live.remove(1)
    assert claims.claim(5, 1) == WINDOW_LOG_MAX - 1


def test_a_stream_keeps_what_it_got_and_may_grow() -> None:
    live = {1, 3}
    claims = claims_of(live)
    assert claims.claim(1, 64) == WINDOW_LOG_MIN
    assert claims.claim(1, 2) == WINDOW_LOG_MAX
    assert claims.claim(1, 64) == WINDOW_LOG_MAX


@given(st.lists(st.tuples(st.sampled_from(["claim", "end", "hear"]), st.integers(0, 11), st.integers(1, 64))))
def test_the_receiver_never_counts_more_than_the_sender(steps: list[tuple[str, int, int]]) -> None:
    """A frame's begin and its stream's end arrive at once or any time before the sender hears that it is over."""
    live = set(range(12))
    claims, memory, held = claims_of(live), ContextMemory(), dict[int, int]()
    for step, stream, streams in steps:
        if step == "claim" and stream in live and (window_log := claims.claim(stream, streams)):
            memory.give(held.pop(stream, 0))
            memory.take(cost_of(1 << window_log))
            held[stream] = 1 << window_log
        elif step == "end" and stream in live:
            memory.give(held.pop(stream, 0))
        elif step == "hear" and stream not in held:
            live.discard(stream)


def test_the_receiver_refuses_what_is_beyond() -> None:
    memory = ContextMemory()
    memory.take(WINDOWS_MAX)
    with pytest.raises(BatchError, match="zstd windows of more than"):
        memory.take(1)
    memory.give(WINDOWS_MAX)
    memory.take(WINDOWS_MAX)
