"""Sizes of chunks: what is refused, what the bounds and the average mean, what counts as complete."""

import random

import pytest

from dedupstore.chunker import LARGEST_CHUNK, Chunker

KIB = 1 << 10
NOISE = random.Random(1).randbytes(4 << 20)


@pytest.mark.parametrize(
    ("sizes", "remedy"),
    [
        ((255, 16 * KIB, 64 * KIB), "use at least 256 bytes"),
        ((4 * KIB, 8 * KIB - 1, 64 * KIB), "use at least twice the minimum, 8192"),
        ((4 * KIB, 16 * KIB, 16 * KIB - 1), "use 16384 to 262144"),
        ((256, 512, 1023), "use 1024 to 262144"),
        ((4 * KIB, 16 * KIB, LARGEST_CHUNK + 1), "use 16384 to 262144"),
    ],
)
def test_sizes_that_do_not_fit_together(sizes: tuple[int, int, int], remedy: str) -> None:
    with pytest.raises(ValueError, match=remedy):
        Chunker(*sizes)


def test_the_largest_and_the_smallest_sizes_work() -> None:
    assert sum(Chunker(256, 512, 1024).cut(NOISE[:9999], final=True)) == 9999
    assert sum(Chunker(LARGEST_CHUNK // 2, LARGEST_CHUNK, LARGEST_CHUNK).cut(NOISE, final=True)) == len(NOISE)


@pytest.mark.parametrize("sizes", [(4, 16, 64), (2, 8, 32), (8, 32, 128), (1, 4, 16), (16, 64, 256), (4, 24, 96)])
def test_random_data_yields_the_average(sizes: tuple[int, int, int]) -> None:
    minimum, average, maximum = (size * KIB for size in sizes)
    lengths = Chunker(minimum, average, maximum).cut(NOISE, final=True)
    assert len(NOISE) / len(lengths) == pytest.approx(average, rel=0.15)
    assert min(lengths[:-1]) >= minimum
    assert max(lengths) <= maximum


def test_zeros_are_cut_at_the_maximum() -> None:
    assert Chunker().cut(bytes(150 * KIB)) == [64 * KIB, 64 * KIB]
    assert Chunker().cut(bytes(150 * KIB), final=True) == [64 * KIB, 64 * KIB, 22 * KIB]
    assert Chunker().cut(bytes(128 * KIB)) == [64 * KIB, 64 * KIB]


def test_a_piece_is_complete_only_when_nothing_can_change_it() -> None:
    chunker = Chunker()
    assert chunker.cut(b"") == chunker.cut(b"", final=True) == []
    assert chunker.cut(NOISE[:4096]) == []
    assert chunker.cut(NOISE[:4096], final=True) == [4096]
    first = chunker.cut(NOISE)[0]
    assert chunker.cut(NOISE[:first]) == []
    assert chunker.cut(NOISE[:first], final=True) == [first]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(kind: type) -> None:
    assert Chunker().cut(kind(NOISE)) == Chunker().cut(NOISE)


def test_borders_are_the_same_forever() -> None:
    """Stores and peers know chunks by their content: other borders would make them useless overnight."""
    known = [6699, 16876, 19736, 19972, 13801, 14924, 19558, 35132, 14236, 6787, 12533, 12285, 7461]
    assert Chunker().cut(NOISE[:200_000], final=True) == known
