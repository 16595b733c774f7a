"""A configured rate limits, the peer's or a forward's: the verdict names it, also where the window is small."""

import pytest

from tests.integration.bed.ends import Array
from tests.integration.bed.sites import Bed, Settings, configure
from tests.integration.bed.verdicts import discard, limited_by, pouring


@pytest.mark.parametrize("tunnel", [{}, {"window": "256KiB"}], ids=["a large window", "a small window"])
@pytest.mark.parametrize(
    ("table", "text", "cap"),
    [
        ("peer", 'rate = "20Mbit"\n', "the rate of peer west, 20Mbit, holds it back for "),
        ("forward", 'maximum = "20Mbit"\n', "the maximum of forward array, 20Mbit, holds it back for "),
    ],
)
def test_it_is_named(bed: Bed, table: str, text: str, cap: str, tunnel: Settings) -> None:
    with Array(discard) as array:
        pair = bed.pair(array.address, tunnel=tunnel)
        configure(pair.east, table, text)
        with pair.running(), pouring(pair.entrance):
            stream = limited_by(pair.east, "shaping", words="holds it back for ")
            assert stream["verdict"]["words"].startswith(cap)
            assert stream["waiting_seconds"]["shaping"] > 0
