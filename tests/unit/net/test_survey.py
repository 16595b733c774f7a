"""What a snapshot says of time (how long something has lasted is no matter of the time of day), and of the store; and
what is asked of streams each second: how many, and which are busiest, but nothing of all the others."""

import time
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from dedupstore.store import StoreFigures
from proxy.net.survey import busiest, compressing, measured, outline, survey
from proxy.observe.verdict import Limit, Verdict
from proxy.observe.volumes import Rate, Volumes

WRITTEN: Any = {"written": Rate(), "average_write": None}


def a_site() -> Any:
    """One without peers, that began a minute ago."""
    store = SimpleNamespace(figures=lambda: StoreFigures("memory", 1 << 30))
    return SimpleNamespace(
        config=SimpleNamespace(site=SimpleNamespace(name="east")),
        started=time.time() - 60,
        began=time.monotonic() - 60,
        ready=True,
        draining=False,
        peers={},
        door=None,
        worker=SimpleNamespace(store=store, prepared=True),
        certificates=SimpleNamespace(status=[]),
        reload_problem="",
        forwards=SimpleNamespace(portals={}),
        environment=SimpleNamespace(processor=SimpleNamespace(share=0.0)),
        alarms=list,
    )


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
def test_uptime_is_none_of_the_time_of_days_business(off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    site, clock = a_site(), time.time
    monkeypatch.setattr(time, "time", lambda: clock() + off)
    assert 60 <= survey(site).uptime_seconds < 1000


def test_the_status_has_every_figure_of_the_store_in_its_order() -> None:
    status = asdict(survey(a_site()))["store"]
    assert list(status.items()) == [*asdict(StoreFigures("memory", 1 << 30)).items(), ("prepared", True)]


def with_streams(rates: list[int]) -> Any:
    """A site with streams of these rates, both ways together; their peer notes each that a verdict is asked of."""
    site = a_site()
    relays = MagicMock()
    relays.__iter__.return_value = [stream(number, rate) for number, rate in enumerate(rates)]
    relays.__len__.return_value = len(rates)
    relays.lookout.verdict.return_value = relays.lookout.verdict_of.return_value = Verdict(Limit.SOURCE, 1.0, "idle")
    relays.volumes.written.busiest = relays.volumes.average_write = None
    site.peers["west"] = MagicMock(relays=relays)
    site.forwards.portals = {"west": MagicMock()}
    return site


def stream(number: int, rate: int) -> Any:
    waits = SimpleNamespace(rate=lambda what: rate if what == "sent" else 1, total={})
    return MagicMock(stream=number, waits=waits, began=0.0)


def told_of(site: Any) -> int:
    asked: int = site.peers["west"].relays.lookout.verdict_of.call_count
    return asked


def test_the_watch_counts_streams_and_looks_at_none() -> None:
    """A thousand that rested held up all others for 0.15 s, once a second."""
    site = with_streams([0] * 50)
    assert [peer.streams for peer in outline(site).peers] == [50]
    assert told_of(site) == 0
    assert len(survey(site).streams) == told_of(site) == 50


def test_the_watch_looks_at_no_volume_but_prometheus_is_told_of_each() -> None:
    """A hub may have 32 of each peer: 0.5 ms for each of these, once a second, for nobody."""
    site, volumes = with_streams([]), Volumes()
    site.peers["west"].relays.volumes = SimpleNamespace(all=MagicMock(return_value=volumes.all()), **WRITTEN)
    assert [peer.volumes for peer in outline(site).peers] == [[]]
    assert not site.peers["west"].relays.volumes.all.called
    assert [[volume.target for volume in peer.volumes] for peer in measured(site).peers] == [["others"]]
    assert survey(site).peers[0].volumes == measured(site).peers[0].volumes


def test_the_busiest_are_told_of_and_no_others() -> None:
    site = with_streams([3, 0, 9, 0, 7])
    assert [each.id for each in busiest(site, 2)] == [2, 4]
    assert told_of(site) == 2


def test_what_compresses_streams_is_counted_without_a_look_at_anything_else() -> None:
    site = with_streams([0, 0, 0])
    for relay, words in zip(site.peers["west"].relays, ("zstd 1", "zstd 9", "zstd 1"), strict=True):
        relay.compression.in_words = words
    site.peers["west"].name = "west"
    assert compressing(site) == {("west", "none"): 0, ("west", "zstd 1"): 2, ("west", "zstd 9"): 1}
    assert told_of(site) == 0
