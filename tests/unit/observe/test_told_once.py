"""What holds with other figures, or comes and goes, is told once."""

from tests.unit.observe.snapshots import NOW, changed, store
from tests.unit.observe.test_watch import Site


def test_a_trouble_of_the_store_whose_figures_change_is_one() -> None:
    site = Site()
    for megabytes in (4000, 3996, 64):
        site.pass_(changed(store=store(alarms=[f"The disk is full: store /data/2 stays at {megabytes} MiB"])))
    assert site.told == ["IST-101", "IST-301"]
    (reason,) = site.watch.health.store.reasons
    assert (reason.words[-6:], reason.since) == ("64 MiB", NOW + 2)
