"""What follows from what was counted, of counts that are made up."""

from dataclasses import replace

import pytest

from dedupstore.chunker import AVERAGE
from proxy.analysis.chunks import Chunked
from proxy.analysis.compressibility import Compressed
from proxy.analysis.findings import REFERENCE_BYTES, Findings
from proxy.analysis.stores import Hits
from proxy.plan.line import Line

MB = 10**6
HALF, ALL = Compressed(2 * MB, MB), Compressed(MB, MB)
ONCE = Chunked(AVERAGE, MB, 40, 0.4 * MB, 40, 1.0, 0.0)
"""Forty chunks that come once, of 0.4 MB; the rest of a megabyte repeats them."""


def findings(compressed: Compressed = HALF, *stores: Hits) -> Findings:
    return Findings((ONCE,), compressed, compressed, compressed, stores or (Hits(64 * MB, 0.0),))


def test_each_chunk_that_is_known_crosses_as_a_reference() -> None:
    found = findings()
    alone, again = (found.crossing(replace(ONCE, chunks=chunks), HALF) for chunks in (40, 100))
    assert 0.2 < alone < 0.21, "half of what is new, and its tokens"
    assert again - alone == pytest.approx(60 * REFERENCE_BYTES / MB)


@pytest.mark.parametrize(("compressed", "rate", "spared"), [(HALF, 10e9, True), (ALL, 10e9, False), (HALF, 1e9, False)])
def test_compression_is_left_out_where_there_is_any_and_the_line_is_faster(
    compressed: Compressed, rate: float, spared: bool
) -> None:
    assert findings(compressed).spared(Line(rate, 0.01)) is spared


def test_a_larger_store_is_not_advised_for_what_it_hardly_finds_more() -> None:
    sizes = [Hits(64 * MB, 0.1), Hits(128 * MB, 0.39), Hits(256 * MB, 0.4)]
    assert findings(HALF, *sizes).store_for_once == sizes[1]
    assert findings(HALF, *sizes[:2], Hits(256 * MB, 0.5)).store_for_once.size == 256 * MB
