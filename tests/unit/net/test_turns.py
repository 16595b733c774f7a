"""Few streams are read in a round of the loop, and each comes round."""

from collections import Counter
from functools import partial

import pytest

from proxy.net.turns import AT_ONCE, TURN, Turns
from tests.unit.net.loop import Loop
from tests.unit.net.sources import MANY, READ, Source, contended


@pytest.fixture
def turns(loop: Loop) -> Turns:
    return Turns()


def test_one_that_is_alone_is_never_told_to_wait(turns: Turns, loop: Loop) -> None:
    source = Source(turns)
    for _ in range(10):
        assert source.round() == 2 * TURN
        loop.next_round()


def test_few_are_read_in_a_round_and_all_come_round(turns: Turns, loop: Loop) -> None:
    sources = contended(turns, loop)
    waited = Counter[Source]()
    for _ in range(1000):
        read = [source for source in sources if source.round()]
        assert len(read) == AT_ONCE
        assert not any(source.reads for source in sources)
        waited.update(sources)
        assert max(waited.values()) <= MANY // AT_ONCE + 2
        for source in read:
            del waited[source]
        loop.next_round()


def test_a_turn_is_long(turns: Turns, loop: Loop) -> None:
    sources = contended(turns, loop)
    assert sum(source.round() for source in sources) == AT_ONCE * TURN


def test_one_that_fails_keeps_nobody_from_their_turn(turns: Turns, loop: Loop) -> None:
    came: list[str] = []

    def fails() -> None:
        raise RuntimeError("a defect")

    turns.wait("first", fails)
    for name in "abcdef":
        turns.wait(name, partial(came.append, name))
    with pytest.raises(RuntimeError):
        loop.run(1.0)
    loop.run(1.0)
    assert came == list("abcdef")


def test_who_asks_something_small_never_waits(turns: Turns, loop: Loop) -> None:
    sources = [Source(turns) for _ in range(MANY)]
    for _ in range(10):
        for source in sources:
            source.round()
        assert not turns.spend("asks", 512, more=False)
        loop.next_round()


def test_who_has_been_read_to_the_end_makes_room_for_the_next(turns: Turns, loop: Loop) -> None:
    first = next(source for source in contended(turns, loop) if source.reads)
    assert turns.spend(first, 100, more=False)
    turns.wait(first, first.go_on)


def test_once_nobody_waits_nobody_has_to(turns: Turns, loop: Loop) -> None:
    one, other = Source(turns), Source(turns)
    one.round()
    other.round()
    assert [one.reads, other.reads] == [True, False]
    loop.next_round()
    assert one.round() == other.round(TURN - READ) + TURN + READ == 2 * TURN
