"""Distinct bytes: exact while all chunks are remembered, close and bounded when they are not."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupstore.chunker import Chunker
from dedupstore.fingerprint import fingerprint
from proxy.analysis.chunks import Chunked, Cutter, Distinct


def chunked(content: bytes, pieces: int = 1, most: int = 1 << 20) -> Chunked:
    cutter = Cutter(4096, most)
    step = max(1, len(content) // pieces)
    for at in range(0, len(content), step):
        for cut in cutter.cut(content[at : at + step]):
            assert cut.data
    list(cutter.cut(b"", final=True))
    return cutter.result()


@given(st.binary(max_size=20_000), st.integers(0, 40_000), st.integers(1, 9))
def test_as_the_chunker_cuts_whatever_the_buffers(head: bytes, more: int, pieces: int) -> None:
    content = head + random.Random(more).randbytes(more) + head
    lengths = Chunker(1024, 4096, 16384).cut(content, final=True)
    names: dict[bytes, int] = {}
    start = 0
    for length in lengths:
        names[fingerprint(content[start : start + length])] = length
        start += length
    found = chunked(content, pieces)
    assert (found.total, found.chunks, found.distinct) == (len(content), len(lengths), sum(names.values()))
    assert (found.sampled, found.margin) == (1, 0)


def test_duplicates() -> None:
    once = random.Random(1).randbytes(1 << 20)
    assert chunked(once).duplicates == 0
    assert chunked(once * 4).duplicates == pytest.approx(0.75, abs=0.01)
    assert chunked(b"").duplicates == 0


def test_a_sample_is_bounded_and_close() -> None:
    """With one heavy chunk that no sample should be misled by."""
    draw = random.Random(2)
    distinct = Distinct(most=1000)
    total = 0
    for _ in range(40_000):
        name, length = draw.getrandbits(64), draw.randint(1, 9)
        total += length
        distinct.note(name, length)
        distinct.note(0, 64)
    estimate, count, margin = distinct.estimate()
    assert 500 < count * distinct.share <= 1000
    assert distinct.share == 1 / 64
    assert abs(estimate - total) < 2 * margin < 0.3 * total


def test_what_is_not_in_the_sample_is_neither_new_nor_known() -> None:
    distinct = Distinct(most=2)
    assert [distinct.note(name, 1) for name in (0, 2, 1)] == [True, True, True]
    assert [distinct.note(name, 1) for name in (0, 2, 1, 4)] == [False, False, None, True]
