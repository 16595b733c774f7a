"""A line that is full, of real packets: it is its rate that limits, and the verdict says what it takes."""

import pytest

from tests.integration.bed.lines import array_at, line_or_skip, pair_over
from tests.integration.bed.sites import Bed
from tests.integration.bed.verdicts import discard, limited_by, pouring


@pytest.mark.root
def test_it_is_full(bed: Bed) -> None:
    with (
        line_or_skip(rate="20Mbit", delay="10ms") as wan,
        array_at(wan, "west", discard) as array,
        pair_over(bed, wan, array.address).running() as pair,
        wan.inside("east"),
        pouring(pair.entrance),
    ):
        stream = limited_by(pair.east, "wan rate", words="the line takes 1")
        assert stream["waiting_seconds"]["line"] > stream["waiting_seconds"]["window"]
