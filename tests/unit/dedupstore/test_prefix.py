"""How much two sequences have in common."""

from hypothesis import given
from hypothesis import strategies as st

from dedupstore.prefix import common_prefix


@given(st.binary(max_size=80), st.binary(max_size=80), st.integers(0, 80))
def test_common_prefix(data: bytes, other: bytes, at: int) -> None:
    for content in (other, data[at:] + other, data[at : at + 7] + other):
        expected = 0
        while expected < min(len(content), len(data) - at) and content[expected] == data[at + expected]:
            expected += 1
        assert common_prefix(data, min(at, len(data)), memoryview(content)) == expected
