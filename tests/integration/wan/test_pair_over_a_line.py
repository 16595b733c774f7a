"""A pair at the ends of an emulated line: what one array sends arrives, and an outage in the middle is a pause."""

import time

import pytest

from tests.integration.bed.contents import cut, volume
from tests.integration.bed.ends import receipt, send, whole
from tests.integration.bed.lines import array_at, line_or_skip, pair_over
from tests.integration.bed.sites import Bed, wire_bytes
from tests.patience import until

pytestmark = pytest.mark.root

SIZE = 8 << 20
OUTAGE_SECONDS = 1.0


def test_an_outage_is_a_pause(bed: Bed) -> None:
    content = volume("over a line", SIZE)
    with (
        line_or_skip(rate="45Mbit", delay="10ms") as wan,
        array_at(wan, "west") as array,
        pair_over(bed, wan, array.address).running() as pair,
    ):

        def pause(number: int) -> None:
            if number == 20:
                wan.outage(True)
                until(lambda: sum(way["outage"] for way in wan.stats().values()) > 0, "the outage takes nothing")
                time.sleep(OUTAGE_SECONDS)
                wan.outage(False)

        with wan.inside("east"):
            sending = send(cut(content, 256 << 10), pair.entrance, pause)
        whole(receipt(content), sending)
        ways = wan.stats()
        assert [ways["west"]["out"], ways["east"]["out"]] == [False, False]
        assert ways["west"]["delivered_bytes"] > wire_bytes(pair.east) > SIZE
