"""The whole in one sentence, and what is told of the end of an outage."""

from dataclasses import replace

import pytest

from tests.unit.observe.snapshots import changed, down, lane, with_peer
from tests.unit.observe.watched import Site


def test_the_lane_is_named() -> None:
    site = Site(with_peer(lanes=[lane(silent=True), lane(number=2)]))
    assert site.words == "lane 1 of peer west: nothing is heard on it"


def test_a_tunnel_that_is_lost_again_and_again_is_named() -> None:
    """These words stand alone, and a site may have many peers."""
    site = Site(with_peer(outages=0))
    site.pass_(with_peer(outages=3))
    assert site.words == "the tunnel to west was lost 3 times in the last ten minutes"


def test_who_is_waited_for_may_be_who_was_refused() -> None:
    """With another certificate than the one that is known, it dials in again and again."""
    waiting = with_peer(state="waiting", lanes=[])
    site = Site(waiting)
    why = "192.0.2.2:49268, the other side refuses our certificate: unknown ca"
    refused = replace(waiting, refused=1, last_refusal=why)
    said = [site.words]
    for _ in range(700):
        site.pass_(refused)
        said.append(site.words)
    away = "there is no tunnel to west: it has not dialled in"
    assert [*dict.fromkeys(said)] == [away, f"{away}, unless it is what was refused: {why}"]
    assert said[-1] == away


def test_an_event_of_lanes_names_them() -> None:
    """Its subject is the peer, and "it" would be taken for that."""
    site = Site()
    for silent in (9,), (), (9, 12, 13), (9, 12, 13):
        site.pass_(with_peer(lanes=[lane(number=number, silent=number in silent) for number in (8, 9, 12, 13)]))
    assert [(event.subject, event.words) for event in site.events[1:]] == [
        ("peer west", "lane 9: nothing is heard on it"),
        ("peer west", "lane 9: nothing is heard on it; likewise lanes 12, 13"),
    ]


@pytest.mark.parametrize(("streams", "wait", "live"), [(0, "", ""), (1, "; 1 stream waits", " with 1 stream")])
def test_few_streams_are_counted_in_words_that_fit(streams: int, wait: str, live: str) -> None:
    """Of one that has gone on and ended within a second, the event does not say that the tunnel resumed without it."""
    site = Site()
    site.pass_(changed(peers=[down(streams=streams)]))
    assert site.words == f"there is no tunnel to west: reset by peer{wait}"
    site.pass_(with_peer(outages=1, resumed=1, streams=streams))
    assert site.events[-1].words == f"the tunnel to west resumed{live}"
