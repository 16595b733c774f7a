"""Borders depend on content alone: not on how it arrives, and not on where it lies."""

import random

from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker

CHUNKERS = [Chunker(), Chunker(256, 1024, 4096), Chunker(300, 1000, 2001), Chunker(2048, 8192, 65536)]

chunkers = st.sampled_from(CHUNKERS)
seeds = st.integers(0, 1 << 32)


def content(seed: int, length: int) -> bytes:
    """Noise with runs of zeros and repetitions in it, as volumes have."""
    draw = random.Random(seed)
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < length:
        noise = draw.randbytes(draw.randrange(1, 20_000))
        pieces.append(draw.choice([noise, noise, bytes(len(noise)), noise[:100] * 50]))
    return b"".join(pieces)[:length]


def borders(lengths: list[int], start: int = 0) -> list[int]:
    positions = []
    for length in lengths:
        start += length
        positions.append(start)
    return positions


@given(chunkers, seeds, st.integers(0, 200_000))
def test_chunks_cover_the_data_within_bounds(chunker: Chunker, seed: int, length: int) -> None:
    lengths = chunker.cut(content(seed, length), final=True)
    assert sum(lengths) == length
    assert all(chunker.minimum - 1 <= n <= chunker.maximum for n in lengths[:-1])
    assert all(0 < n <= chunker.maximum for n in lengths[-1:])


@given(chunkers, seeds, st.integers(0, 120_000), st.lists(st.integers(1, 30_000), max_size=30))
def test_feeding_in_pieces_makes_no_difference(chunker: Chunker, seed: int, length: int, feeds: list[int]) -> None:
    data = content(seed, length)
    lengths: list[int] = []
    kept, position = bytearray(), 0
    for feed in [*feeds, length]:
        kept += data[position : position + feed]
        position = min(length, position + feed)
        cut = chunker.cut(kept, final=position == length)
        del kept[: sum(cut)]
        lengths += cut
    assert not kept
    assert lengths == chunker.cut(data, final=True)


@given(seeds, st.integers(0, 50_000), st.integers(1, 3))
def test_borders_come_back_after_inserted_bytes(seed: int, where: int, inserted: int) -> None:
    """After twenty maximum lengths at the latest, in practice after two or three chunks."""
    chunker = CHUNKERS[1]
    data = random.Random(seed).randbytes(where + 20 * chunker.maximum)
    before = set(borders(chunker.cut(data, final=True)))
    changed = data[:where] + bytes(inserted) + data[where:]
    after = {border - inserted for border in borders(chunker.cut(changed, final=True)) if border > where}
    assert len(before & after) >= 10
