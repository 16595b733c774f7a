"""Reasons as metrics: each once, where it lies, so that one cause is one alert."""

from proxy.observe.watch import Watch
from proxy.observe.watch_metrics import WATCH_DECLARATIONS
from tests.unit.observe.snapshots import changed, down, peer, store
from tests.unit.observe.watched import Site


def reasons(watch: Watch) -> dict[tuple[str, ...], float]:
    (declaration,) = (each for each in WATCH_DECLARATIONS if each.name == "isthmus_reason_level")
    return {labels: value for labels, value in declaration.values(watch) if isinstance(value, int | float)}


def test_an_outage_is_one_reason() -> None:
    site = Site()
    assert reasons(site.watch) == {}
    site.pass_(changed(peers=[down(), peer(name="north")]))
    assert reasons(site.watch) == {("tunnel", "west", "IST-102"): 3}


def test_of_several_with_one_code_the_worst_counts() -> None:
    site = Site()
    site.pass_(changed(store=store(alarms=["the disk is full", "it cannot be read"]), draining=True))
    assert reasons(site.watch) == {("store", "", "IST-301"): 2, ("site", "east", "IST-402"): 1}
