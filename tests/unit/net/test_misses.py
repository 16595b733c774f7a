"""What streams lack is asked for by a few at once; each has its turn, whoever ends meanwhile."""

import asyncio
from collections.abc import Sequence

import hypothesis.strategies as st
import pytest
from hypothesis import given

from proxy.net.misses import AT_ONCE, Misses
from tests.unit.net.loop import Loop

EVENTS = st.lists(st.tuples(st.sampled_from(["ask", "settle"]), st.integers(1, 3 * AT_ONCE)), max_size=300)


class Wire:
    """What was asked for, in order."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Sequence[bytes]]] = []
        self.loop = Loop()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(asyncio, "get_running_loop", lambda: self.loop)
            self.misses = Misses(lambda stream, names: self.sent.append((stream, names)), lambda: None)

    def settle(self, *streams: int) -> None:
        """All at once, as where the tunnel ends."""
        for stream in streams:
            self.misses.settle(stream)
        self.loop.run(0)

    def names_of(self, stream: int) -> list[Sequence[bytes]]:
        return [names for asking, names in self.sent if asking == stream]


def full() -> Wire:
    """As many streams ask as may."""
    wire = Wire()
    for stream in range(AT_ONCE):
        wire.misses.ask(stream, [b"first"])
    return wire


def test_a_stream_that_asks_may_ask_for_more() -> None:
    wire = full()
    wire.misses.ask(100, [b"a"])
    wire.misses.ask(3, [b"more"])
    assert wire.names_of(3) == [[b"first"], [b"more"]]


def test_others_wait_until_one_has_decoded_its_batch() -> None:
    wire = full()
    wire.misses.ask(100, [b"a", b"b"])
    wire.misses.ask(101, [b"c"])
    assert not wire.misses.asking(100)
    wire.settle(5)
    assert wire.sent[AT_ONCE:] == [(100, [b"a", b"b"])]
    assert wire.misses.asking(100)
    assert not wire.misses.asking(5)
    wire.settle(100)
    assert wire.sent[AT_ONCE + 1 :] == [(101, [b"c"])]


def test_who_comes_later_waits_behind_who_waits() -> None:
    wire = full()
    wire.misses.ask(100, [b"a"])
    wire.misses.settle(0)
    wire.misses.ask(101, [b"c"])
    wire.settle()
    assert wire.sent[AT_ONCE:] == [(100, [b"a"])]


def test_those_that_end_take_no_turn() -> None:
    """Neither alone nor, as the tunnel ends, with all others: nothing may be asked of a stream that is no more."""
    wire = full()
    wire.misses.ask(100, [b"a"])
    wire.misses.ask(101, [b"c"])
    wire.settle(100, 0)
    assert wire.sent[AT_ONCE:] == [(101, [b"c"])]
    wire.misses.ask(102, [b"d"])
    wire.settle(*range(AT_ONCE), 101, 102)
    assert len(wire.sent) == AT_ONCE + 1


def test_what_has_not_asked_settles_without_effect() -> None:
    wire = full()
    wire.settle(100)
    assert len(wire.sent) == AT_ONCE


@given(EVENTS)
def test_nobody_is_forgotten_and_never_too_many_ask(events: list[tuple[str, int]]) -> None:
    wire = Wire()
    wanting: set[int] = set()
    for event, stream in events:
        if event == "settle":
            wire.settle(stream)
            wanting.discard(stream)
        elif stream not in wanting:
            wire.misses.ask(stream, [b"x"])
            wanting.add(stream)
        asking = {stream for stream in range(1, 3 * AT_ONCE + 1) if wire.misses.asking(stream)}
        assert asking <= wanting
        assert len(asking) == min(AT_ONCE, len(wanting))
