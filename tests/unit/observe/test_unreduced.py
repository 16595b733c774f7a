"""Warning IST-501 where nobody knows whether data repeats: the peer lacks what it should hold, so that goes literally,
too, or the store is too small to hold it until it comes again."""

from dataclasses import replace

import pytest

from tests.unit.observe.snapshots import changed, store
from tests.unit.observe.watched import MIB, Site, moving


def test_nothing_is_said_of_the_data_while_references_to_the_peer_are_suspended_or_were_of_late() -> None:
    site, said = Site(), set[int]()
    for second in range(1, 650):
        (west,) = moving(second).peers
        site.pass_(changed(peers=[replace(west, references_suspended=second == 30)]))
        if "IST-501" in site.warned:
            said.add(second)
    assert said == {*range(7, 30), *range(630, 650)}


@pytest.mark.parametrize(("missed", "told"), [(49.0, "IST-501"), (50.0, "IST-504")])
def test_of_data_that_repeats_after_more_than_the_store_holds_it_is_not_said_that_nothing_helps(
    missed: float, told: str
) -> None:
    """A volume of three times the store's size, replicated again and again, was called compressed or encrypted."""
    site = Site()
    for second in range(1, 20):
        used = store(
            evicted_bytes=second * MIB, hits=0, misses=1000, missed_by_size=[(2, 0.0), (4, missed), (8, missed)]
        )
        site.pass_(changed(store=used, peers=moving(second).peers))
    assert site.warned == [told]
