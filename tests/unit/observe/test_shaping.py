"""Warning IST-502: a configured rate holds data back; which, for how long, and to whom."""

import pytest

from tests.unit.observe.snapshots import changed, peer, share, with_peer
from tests.unit.observe.watched import Site


def test_shaping_that_holds_back() -> None:
    site = Site()
    for second in range(1, 80):
        held = share(maximum_bits_per_second=5_000_000, held_seconds=0.9 * second)
        site.pass_(with_peer(shares=[held]))
    assert site.warned == ["IST-502"]
    assert "5 Mbit/s to west held data back for 90% of the last minute" in site.watch.cautions[0].words


@pytest.mark.parametrize(("own", "named"), [(0.9, "a rate of 8 Gbit/s"), (0.3, "a rate of 10 Gbit/s")])
def test_the_rate_that_shapes_is_named(own: float, named: str) -> None:
    """Not the lower one: forwards that divide the peer's rate may none of them have their maximum. (Of a fast line it
    was told as 1e+04 Mbit/s.)"""
    site = Site()
    for second in range(1, 80):
        times = {"held_seconds": 0.9 * second, "held_by_maximum_seconds": own * second}
        held = share(maximum_bits_per_second=8_000_000_000, **times)
        site.pass_(with_peer(shares=[held], rate_bits_per_second=10_000_000_000))
    (caution,) = site.watch.cautions
    assert caution.words == f"{named} to west held data back for 90% of the last minute"


def test_shaping_is_of_a_whole_minute() -> None:
    """Not of the seconds that are known, right after the start."""
    site = Site(with_peer(shares=[share(maximum_bits_per_second=5_000_000)]))
    found = []
    for second in range(1, 60):
        held = share(maximum_bits_per_second=5_000_000, held_seconds=0.8 * second)
        site.pass_(with_peer(shares=[held]))
        found += [caution.words for caution in site.watch.cautions]
    assert "held data back for 51% of the last minute" in found[0]
    assert 15 < len(found) < 25, "once 0.8 of the seconds so far are half a minute"


def test_shaping_is_told_of_the_peer_that_it_holds_back() -> None:
    """An export has a share for each of its peers."""
    site = Site()
    for second in range(1, 80):
        slow, fast = (
            share(name="export array", maximum_bits_per_second=5_000_000, held_seconds=each * second)
            for each in (0.9, 0.3)
        )
        site.pass_(changed(peers=[peer(shares=[slow]), peer(name="north", shares=[fast])]))
    (caution,) = site.watch.cautions
    assert (caution.code, caution.subject) == ("IST-502", "export array to west")
    assert "held data back for 90%" in caution.words
