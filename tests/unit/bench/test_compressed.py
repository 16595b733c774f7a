"""What zstd alone makes of volumes."""

from bench.compressed import compressed
from bench.datasets import Dataset


def test_one_piece_compresses_as_far_as_the_data_allow() -> None:
    size = 2 << 20
    assert compressed(Dataset("any", size)) >= size
    assert 0.5 < compressed(Dataset("any", size, 38)) / size < 0.65


def test_zstd_alone_finds_what_is_far_away_only_with_a_long_window() -> None:
    size = 6 << 20
    content = b"".join(Dataset("twice", size))
    assert compressed([content, content], 12) < 1.02 * size < compressed([content, content], 3)
