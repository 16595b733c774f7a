"""The whole in one sentence, and what is told of the end of an outage."""

from dataclasses import replace

import pytest

from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.watch import Watch
from tests.unit.observe.snapshots import NOW, changed, lane, with_peer


def test_the_lane_is_named() -> None:
    watch = Watch(Journal(), History(0.0), changed())
    watch.note(with_peer(lanes=[lane(silent=True), lane(number=2)]), NOW, 1.0)
    assert watch.health.words == "lane 1 of peer west: nothing is heard on it"


def test_a_tunnel_that_is_lost_again_and_again_is_named() -> None:
    """These words stand alone, and a site may have many peers."""
    watch = Watch(Journal(), History(0.0), with_peer(outages=0))
    watch.note(with_peer(outages=3), NOW, 1.0)
    assert watch.health.words == "the tunnel to west was lost 3 times in the last ten minutes"


def test_who_is_waited_for_may_be_who_was_refused() -> None:
    """With another certificate than the one that is known, it dials in again and again."""
    waiting = with_peer(state="waiting", lanes=[])
    watch = Watch(Journal(), History(0.0), waiting)
    why = "192.0.2.2:49268, the other side refuses our certificate: unknown ca"
    refused = replace(waiting, refused=1, last_refusal=why)
    said = []
    for second, snapshot in [(1.0, waiting), *((second, refused) for second in (2.0, *range(3, 700)))]:
        watch.note(snapshot, NOW + second, float(second))
        said.append(watch.health.words)
    down = "there is no tunnel to west: it has not dialled in"
    assert [*dict.fromkeys(said)] == [down, f"{down}, unless it is what was refused: {why}"]
    assert said[-1] == down


def test_an_event_of_lanes_names_them() -> None:
    """Its subject is the peer, and "it" would be taken for that."""
    watch = Watch(Journal(), History(0.0), changed())
    for second, silent in enumerate([(9,), (), (9, 12, 13), (9, 12, 13)]):
        lanes = [lane(number=number, silent=number in silent) for number in (8, 9, 12, 13)]
        watch.note(with_peer(lanes=lanes), NOW + second, 1.0 + second)
    assert [(event.subject, event.words) for event in watch.journal.after(1, 100).events] == [
        ("peer west", "lane 9: nothing is heard on it"),
        ("peer west", "lane 9: nothing is heard on it; likewise lanes 12, 13"),
    ]


@pytest.mark.parametrize(("streams", "wait", "live"), [(0, "", ""), (1, "; 1 stream waits", " with 1 stream")])
def test_few_streams_are_counted_in_words_that_fit(streams: int, wait: str, live: str) -> None:
    """Of one that has gone on and ended within a second, the event does not say that the tunnel resumed without it."""
    watch = Watch(Journal(), History(0.0), changed())
    watch.note(with_peer(state="outage", lanes=[], outages=1, streams=streams, last_error="reset by peer"), NOW, 1.0)
    assert watch.health.words == f"there is no tunnel to west: reset by peer{wait}"
    watch.note(with_peer(outages=1, resumed=1, streams=streams), NOW + 1, 2.0)
    assert watch.journal.after(0, 1000).events[-1].words == f"the tunnel to west resumed{live}"
