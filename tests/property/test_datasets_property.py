"""A volume is what it is said to be, whatever is asked for, and the same each time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.datasets import APART, PAGE, Dataset
from tests.unit.bench.measured import compressibility

MIB = 1 << 20
SHARES = st.one_of(st.just(0.0), st.just(99.6), st.floats(0, 99.6), st.floats(90, 99.6))
DUPLICATES = st.one_of(st.just(0.0), st.just(100.0), st.floats(0, 100))


@given(SHARES, DUPLICATES, st.integers(0, 1 << 32))
@settings(max_examples=8, deadline=None)
def test_both_shares_hold_within_a_point_at_once(compressible: float, duplicate: float, seed: int) -> None:
    volume = Dataset("any", 8 * MIB, compressible, duplicate, seed)
    places: dict[int, int] = {}
    repeated = done = 0
    for file in volume.files():
        assert done % PAGE == 0
        if file.number in places:
            repeated += file.size
            assert done - places[file.number] >= APART, "or zlib would find it"
        places[file.number] = done
        done += file.size
    assert done == volume.size
    assert abs(100 * repeated / volume.size - duplicate) <= 1
    assert abs(compressibility(volume) - compressible) <= 1


@given(st.integers(1, MIB), SHARES, DUPLICATES, st.integers(0, 9), st.integers(1, MIB))
@settings(max_examples=10, deadline=None)
def test_sizes_are_exact_and_buffers_make_no_difference(
    size: int, compressible: float, duplicate: float, seed: int, buffer: int
) -> None:
    volume = Dataset("any", size, compressible, duplicate, seed)
    whole = b"".join(volume)
    assert len(whole) == size
    assert b"".join(volume.writes(buffer)) == whole
