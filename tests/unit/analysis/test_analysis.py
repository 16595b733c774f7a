"""What is found in generated volumes is what was generated, and what follows from it is sensible."""

import pytest

from bench.datasets import Dataset
from proxy.analysis.analysis import Analysis, Bounds
from proxy.analysis.compressibility import Stretches
from proxy.analysis.findings import Findings
from proxy.config.model import Store
from proxy.config.units import show_size
from proxy.plan.line import Line
from tests.memory import tracing

MIB = 1 << 20
FIELD = Line(45e6, 0.1, 0.01)


def analyzed(volume: Dataset, bounds: Bounds | None = None) -> Findings:
    analysis = Analysis(volume.size, bounds)
    for buffer in volume:
        analysis.feed(buffer)
    return analysis.finish()


def test_a_volume_like_the_field_tests() -> None:
    found = analyzed(Dataset("any", 24 * MIB, 38, 10))
    assert found.total == 24 * MIB
    assert 100 * (1 - found.zlib.ratio) == pytest.approx(38, abs=1.5)
    assert 0.04 < found.usual.duplicates < 0.11, "files of less than a chunk are not found"
    assert found.thorough.ratio <= found.quick.ratio < 0.7
    assert found.crossing(found.usual, found.thorough) < 0.6
    assert 0.001 < found.warm(found.usual) < 0.003
    assert found.store_for_all == 64 * MIB, "the smallest that a site's file may have"


def test_what_neither_repeats_nor_compresses() -> None:
    found = analyzed(Dataset("any", 8 * MIB))
    assert found.usual.duplicates == 0
    assert found.crossing(found.usual, found.quick) == found.crossing(found.usual, found.thorough) == 1
    assert found.thorough.after == found.thorough.before, "each batch goes as it is"
    assert found.best.average == 16 << 10, "larger chunks lose more when a little changes"
    assert [hits.share for hits in found.stores] == [0]


def test_what_repeats_after_all_of_it_needs_a_store_for_all_of_it() -> None:
    analysis = Analysis(160 * MIB, Bounds(literals=MIB, plain=MIB))  # what compresses how well is not asked here
    for _ in range(2):
        for buffer in Dataset("any", 80 * MIB):
            analysis.feed(buffer)
    found = analysis.finish()
    assert found.usual.duplicates == pytest.approx(0.5, abs=0.01)
    assert [hits.share for hits in found.stores] == pytest.approx([0, 0.5], abs=0.01)
    assert found.store_for_once.size == 128 * MIB
    assert found.store_for_all == pytest.approx(1.05 * found.usual.distinct)


def test_only_what_is_new_is_compressed() -> None:
    """A context would find the rest again, and all would seem to compress well."""
    analysis = Analysis(4 * MIB)
    for _ in range(2):
        for buffer in Dataset("any", 2 * MIB):
            analysis.feed(buffer)
    found = analysis.finish()
    assert found.quick.before == found.thorough.before == found.usual.distinct < 2.5 * MIB


def test_no_store_is_advised_that_a_site_would_refuse() -> None:
    found = analyzed(Dataset("any", 2 * MIB))
    sizes = [found.store_for_all, *(hits.size for hits in found.stores)]
    assert all(Store.model_validate({"size": show_size(size)}).size == size for size in sizes)


def test_less_than_a_name_goes_as_it_is() -> None:
    """A reference would be longer, and no more crosses than there is."""
    found = analyzed(Dataset("any", 10))
    assert found.warm(found.usual) == 1


def test_small_chunks_are_best_where_small_pieces_repeat() -> None:
    page = [bytes(Dataset(f"{number}", 12 << 10).__iter__().__next__()) for number in range(200)]
    analysis = Analysis(16 * MIB)
    for number in range(1000):
        analysis.feed(page[number * 7919 % 200 if number % 3 else number * 31 % 200])
    assert analysis.finish().best.average == 4 << 10


def test_expected_times_follow_from_the_line() -> None:
    found = analyzed(Dataset("any", 8 * MIB, 99))
    (_, slow), *_, (_, cold), (_, warm) = found.times(FIELD)
    assert slow.seconds > 10 * cold.seconds > 10 * warm.seconds / 2
    assert cold.on_line < 0.05 * found.total
    assert found.compressed_for(FIELD) is found.quick, "the line waits for whoever compresses harder than this"
    found = analyzed(Dataset("any", 2 * MIB, 50))
    assert found.compressed_for(FIELD) is found.thorough
    assert found.compressed_for(Line(10e9, 0.01)) is found.quick


def test_nothing_at_all() -> None:
    found = Analysis(0).finish()
    assert (found.total, found.store_for_all, list(found.times(FIELD))) == (0, 0, [])


def test_memory_is_bounded() -> None:
    """With fewer chunks remembered than there are, all shares are still close."""
    bounds = Bounds(chunks=256, other_chunks=256, literals=4 * MIB, plain=2 * MIB)
    volume = Dataset("any", 32 * MIB, 38, 50)
    exact = analyzed(volume)
    analyzed(Dataset("any", MIB), bounds)  # what is made once is made
    with tracing() as taken:
        found = analyzed(volume, bounds)
    assert taken.most < 48 * MIB
    assert found.usual.sampled < 1
    for one, other in zip(found.chunked, exact.chunked, strict=True):
        assert abs(one.distinct - other.distinct) <= 2 * one.margin
    assert 2 * MIB >= found.zlib.before > 0
    assert found.zlib.ratio == pytest.approx(exact.zlib.ratio, abs=0.03)


@pytest.mark.parametrize(("total", "most"), [(0, 10), (100, 10), (95, 10), (10, 100), (1000, 999)])
def test_stretches_are_spread_and_bounded(total: int, most: int) -> None:
    stretches = Stretches(total, 1, most)
    chosen = [offset for offset in range(total) if stretches.includes(offset)]
    assert len(chosen) <= most
    assert not total or chosen[0] == 0
    assert len(chosen) == total or len(chosen) >= most // 2
