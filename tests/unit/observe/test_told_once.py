"""What holds with other figures, or comes and goes, is told once."""

from typing import Any

import pytest

from proxy.observe.snapshot import VerdictStatus
from tests.unit.observe.snapshots import NOW, changed, store, with_peer
from tests.unit.observe.watched import Site


def test_a_trouble_of_the_store_whose_figures_change_is_one() -> None:
    site = Site()
    for megabytes in (4000, 3996, 64):
        site.pass_(changed(store=store(alarms=[f"The disk is full: store /data/2 stays at {megabytes} MiB"])))
    assert site.told == ["IST-101", "IST-301"]
    (reason,) = site.watch.health.store.reasons
    assert (reason.words[-6:], reason.since) == ("64 MiB", NOW + 2)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("IST-109", {"references_suspended": True}),
        ("IST-503", {"verdict": VerdictStatus("round trip or window", 0.9, "window 64 MiB / 100 ms")}),
    ],
)
def test_what_comes_and_goes_is_told_again_only_after_ten_minutes_without_it(
    code: str, changes: dict[str, Any]
) -> None:
    """A smaller store of the peer, or a night of volumes one after the other, would fill the log."""
    site = Site()
    for _ in range(5):
        site.pass_(with_peer(**changes), 70)
        site.pass_(changed(), 500)
    assert site.told == ["IST-101", code]
    site.pass_(changed(), 101)
    site.pass_(with_peer(**changes), 70)
    assert site.told == ["IST-101", code, code]


def test_what_ends_when_it_is_mended_is_told_each_time() -> None:
    site = Site()
    for _ in range(2):
        site.pass_(with_peer(short_packets=True), 70)
        site.pass_(changed(), 70)
    assert site.told == ["IST-101", "IST-110", "IST-110"]


def test_a_disk_that_fails_now_and_then_is_told_once_and_is_well_after_a_minute_without() -> None:
    """Each read or write that succeeds ends the store's alarm, though others fail."""
    site = Site()
    for _ in range(30):
        site.pass_(changed(store=store(alarms=["Chunks of store x cannot be read"])))
        site.pass_(changed(), 58)
    assert site.told == ["IST-101", "IST-301"]
    site.pass_(changed(), 2)
    assert site.told == ["IST-101", "IST-301", "IST-302"]


def test_a_verdict_near_its_bound_is_one_warning() -> None:
    """A share that is below half the time for a moment began its thirty seconds anew, and the warning came and went."""
    site = Site()
    shares = (0.51, 0.52, 0.49)
    for second in range(60):
        verdict = VerdictStatus("round trip or window", shares[second % 3], f"window 64 MiB / {second} ms")
        site.pass_(with_peer(verdict=verdict))
        assert site.warned == (["IST-503"] if second >= 30 else [])
    assert site.watch.cautions[0].words == "window 64 MiB / 58 ms", "what was found last"
    site.pass_(changed(), 5)
    assert site.warned == []
