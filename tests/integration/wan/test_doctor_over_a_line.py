"""`isthmus doctor` at the end of a long line with a small MTU finds these out by itself, and an outage, too."""

import re

import pytest

from tests.integration.bed.ends import Array
from tests.integration.bed.examination import Findings, examine, level
from tests.integration.bed.lines import line_or_skip, pair_over
from tests.integration.bed.sites import Bed
from tests.patience import at_best

pytestmark = pytest.mark.root


def is_well(found: Findings) -> bool:
    """East reaches west, now and all the time."""
    return level(found, "tunnel to west") == level(found, "peer west") == "ok"


def test_what_the_line_is_like(bed: Bed) -> None:
    with (
        Array() as array,
        line_or_skip(rate="45Mbit", delay="50ms", mtu=1400) as wan,
        pair_over(bed, wan, array.address, tunnel={"connect_timeout": "3s"}).running() as pair,
    ):
        with wan.inside("east"):
            found = at_best(lambda: examine(pair.east, "--rate", "45Mbit")[1], is_well)
        measured = re.search(r"round trip (\d+) ms", found["peer west"]["found"])
        assert measured is not None
        assert int(measured[1]) >= 100
        assert found["path to west"]["found"] == "MTU 1400, MSS 1348, packets of full size pass"
        assert re.search(r"45 Mbit/s at [\d,]+ ms needs", found["socket buffers"]["found"])
        assert is_well(found)

        wan.outage(True)
        with wan.inside("east"):
            code, found = examine(pair.east)
        wan.outage(False)
        assert (code, level(found, "peer west")) == (1, "problem")
        assert found["peer west"]["found"].endswith(": no answer")
