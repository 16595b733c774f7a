"""Two levels compared on the same literals: better ones are found to be better, and what no level finds is no gain."""

import random

from proxy.reduction.comparison import BYTES, Comparison
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
