"""A line that is full, of real packets: it is its rate that limits, and the verdict says what it takes."""

import re
import time

import pytest

from proxy.observe.waiting import RECENT
from tests.integration.bed.lines import array_at, line_or_skip, pair_over
from tests.integration.bed.sites import Bed, wire_bytes
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


@pytest.mark.root
@pytest.mark.slow  # the tunnel has to have been idle for seconds
def test_what_it_takes_is_not_less_for_the_seconds_in_which_nothing_was_sent(bed: Bed) -> None:
    """It was told as a tenth of the line, then as two, and so on for ten seconds from the beginning of a transfer.

    A busy machine's line takes less than its rate, so what it says is held to the bytes that were counted meanwhile.
    """
    with (
        line_or_skip(rate="20Mbit", delay="10ms") as wan,
        array_at(wan, "west", discard) as array,
        pair_over(bed, wan, array.address).running() as pair,
        wan.inside("east"),
    ):
        time.sleep(RECENT)
        sent, began = wire_bytes(pair.east), time.monotonic()
        with pouring(pair.entrance):
            stream = limited_by(pair.east, "wan rate", words="the line takes ")
            taken = re.search(r"the line takes ([0-9.]+) Mbit/s", stream["verdict"]["words"])
            took = (wire_bytes(pair.east) - sent) / (time.monotonic() - began)
            assert taken is not None
            assert float(taken[1]) * 1e6 / 8 > 0.6 * took
