"""Two levels compared on the same literals: better ones are found to be better, and what no level finds is no gain.

Of many streams that want to know a few find it out at once.
"""

import random

from proxy.reduction.comparison import AT_ONCE, BYTES, PATIENCE, Comparison, Comparisons
from tests.unit.reduction.sites import noise

BATCH = 64 << 10


def compared(comparison: Comparison, content: bytes) -> float:
    """What comes of it as soon as enough was seen, and not before."""
    for at in range(0, len(content), BATCH):
        left = comparison.see(content[at : at + BATCH])
        if at + BATCH < BYTES:
            assert left is None
        elif left is not None:
            return left
    raise AssertionError("it was never known")


def words(size: int) -> bytes:
    """Words in no order, whose repetitions a higher level searches for longer."""
    draw = random.Random(1)
    vocabulary = [draw.randbytes(draw.randrange(3, 9)) for _ in range(3000)]
    return b"".join(draw.choices(vocabulary, k=size // 4))[:size]


def test_a_higher_level_leaves_less_of_words() -> None:
    content = words(BYTES)
    assert compared(Comparison(1, 9), content) < 0.97
    assert compared(Comparison(9, 1), content) > 1.03


def test_nothing_is_gained_on_noise() -> None:
    assert 0.999 < compared(Comparison(1, 12), noise(BYTES)) < 1.001


def test_a_few_streams_compare_at_once() -> None:
    """All others wait until one of them is through; dozens at once would take hundreds of MiB."""
    comparisons, streams = Comparisons(), [object() for _ in range(2 * AT_ONCE)]
    first = [comparisons.of(stream, (1, 3), 1) for stream in streams]
    assert [comparison is not None for comparison in first] == [True] * AT_ONCE + [False] * AT_ONCE
    assert [comparisons.of(stream, (1, 3), 1) for stream in streams] == first
    comparisons.end(streams[0])
    assert comparisons.of(streams[-1], (1, 3), 1) is not None
    assert comparisons.of(streams[0], (1, 3), 1) is None


def test_other_levels_are_compared_anew_in_the_same_place() -> None:
    comparisons, streams = Comparisons(), [object() for _ in range(AT_ONCE)]
    first = [comparisons.of(stream, (1, 3), 1) for stream in streams]
    other = comparisons.of(streams[0], (3, 6), 1)
    assert other is not None
    assert other is not first[0]
    assert other.levels == (3, 6)


def test_who_brings_little_keeps_no_place_that_another_one_wants() -> None:
    """A stream may stop within its comparison, or bring 100 bytes now and then: four of these kept all others out."""
    comparisons, streams = Comparisons(), [object() for _ in range(AT_ONCE)]
    first = [comparisons.of(stream, (1, 3), 1) for stream in streams]
    for _ in range(PATIENCE // BATCH - 1):
        assert comparisons.of("another", (1, 3), BATCH) is None
        assert comparisons.of("a slower one", (1, 3), BATCH // 2) is None
        assert [comparisons.of(stream, (1, 3), 100) for stream in streams] == first
    assert comparisons.of("another", (1, 3), BATCH) is not None
    assert comparisons.of("a slower one", (1, 3), BATCH) is None, "the one that has just begun may be quick"
    assert [comparisons.of(stream, (1, 3), 100) for stream in streams] == [None, *first[1:]]


def test_streams_that_all_bring_as_much_do_not_drive_each_other_out() -> None:
    comparisons, waiting = Comparisons(), [object() for _ in range(8 * AT_ONCE)]
    compared = 0
    for _ in range(8):
        for _ in range(BYTES // BATCH):
            for stream in tuple(waiting):
                comparison = comparisons.of(stream, (1, 3), BATCH)
                if comparison is not None and comparison.see(bytes(BATCH)) is not None:
                    comparisons.end(stream)
                    waiting.remove(stream)
        compared += AT_ONCE
        assert len(waiting) == 8 * AT_ONCE - compared
