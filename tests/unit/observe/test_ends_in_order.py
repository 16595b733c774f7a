"""A peer that announced its end is no outage, unless it stays away."""

from dataclasses import replace
from typing import Any

import pytest

from proxy.observe.answers import Level
from proxy.observe.chronicle import REPEATED
from proxy.observe.codes import STREAMS_RESET
from proxy.observe.snapshot import Snapshot
from tests.unit.observe.snapshots import changed, down, peer, with_peer
from tests.unit.observe.watched import Site


def ended(**changes: Any) -> Snapshot:
    """Of a site whose peer has ended in order."""
    announced: dict[str, Any] = {
        "state": "connecting",
        "streams": 0,
        "shutdowns": 1,
        "ended_seconds": 1.0,
        "farewell": "the site shuts down",
    }
    return changed(peers=[down(**announced | changes)])


def test_a_peer_that_ends_in_order_is_no_line_that_flaps() -> None:
    site = Site()
    for count in (1, 2, 3):
        site.pass_(with_peer(outages=count, shutdowns=count), 5)
    assert site.reasons == []
    assert site.told == ["IST-101", *["IST-115", "IST-101"] * 3]
    site.pass_(with_peer(outages=6, shutdowns=3), 5)
    assert site.reasons == ["IST-105"]


def test_a_peer_that_ends_in_order_is_given_time_to_come_back() -> None:
    site = Site()
    for seconds in (1.0, 599.0):
        site.pass_(ended(ended_seconds=seconds), 3)
        assert (site.level, site.reasons) == (Level.ATTENTION, ["IST-115"])
        assert site.words == "west has ended in order (the site shuts down), and is not back: reset by peer"
    assert site.told == ["IST-101", "IST-115"]
    assert [event.words for event in site.said("IST-115")] == ["west has ended in order: the site shuts down"]
    site.pass_(ended(ended_seconds=600.0), 3)
    assert (site.level, site.reasons) == (Level.CRITICAL, ["IST-102"])
    assert site.told == ["IST-101", "IST-115", "IST-102"]
    site.pass_(with_peer(outages=1, shutdowns=1))
    assert (site.level, site.told[3:]) == (Level.HEALTHY, ["IST-101"])


def test_a_peer_that_is_back_and_has_no_tunnel_is_an_outage() -> None:
    """One site refuses the other, as after an upgrade that went wrong."""
    site = Site()
    site.pass_(ended(), 3)
    site.pass_(ended(ended_seconds=None, last_error="no common version"), 3)
    assert (site.level, site.reasons) == (Level.CRITICAL, ["IST-102"])
    assert site.told == ["IST-101", "IST-115", "IST-102"]
    assert site.words == "there is no tunnel to west: no common version"


def test_an_outage_beside_an_end_in_order_is_told_as_one() -> None:
    """Both within a second: which came last cannot be told."""
    site = Site()
    site.pass_(changed(peers=[down(outages=2, shutdowns=1)]), 3)
    assert site.told == ["IST-101", "IST-102", "IST-101", "IST-102"]


@pytest.mark.parametrize(
    ("resets", "words", "remedy"),
    [
        (1, "the streams with west were reset, because it ended in order", REPEATED),
        (2, "the streams with west were reset", STREAMS_RESET.remedy),  # one of them for another reason
    ],
)
def test_streams_that_an_end_in_order_has_reset_are_not_told_as_lost_to_the_line(
    resets: int, words: str, remedy: str
) -> None:
    site = Site()
    site.pass_(ended(tunnel_resets=resets))
    assert site.told == ["IST-101", "IST-115", "IST-104"]
    (event,) = site.said("IST-104")
    assert (event.words, event.remedy) == (words, remedy)


def test_a_peer_that_was_removed_and_comes_back_is_told_of_anew() -> None:
    """By two reloads: that it has no tunnel is told for each time, and not as soon as it is there."""
    north = peer(name="north", state="waiting", lanes=[], known_seconds=30.0)
    site = Site(changed(peers=[peer(), north]))
    site.pass_(changed(peers=[peer()]), 3)
    assert site.level is Level.HEALTHY
    counts = site.watch.journal.counts
    site.pass_(changed(peers=[peer(), replace(north, known_seconds=1.0)]), 3)
    assert (site.level, counts["IST-102"]) == (Level.ATTENTION, 1)
    site.pass_(changed(peers=[peer(), north]), 3)
    assert (site.level, counts["IST-102"]) == (Level.DEGRADED, 2)
