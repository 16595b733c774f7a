"""The time of day is set while the site runs: what holds has held for as long as before."""

import pytest

from proxy.observe.chronicle import reasons_of
from proxy.observe.snapshot import VerdictStatus
from tests.unit.observe.snapshots import NOW, with_peer
from tests.unit.observe.watched import Site

HELD = 40
DAY = 86400.0


def since(site: Site) -> dict[str, float]:
    """Of the site's level, of the reason for it, and of a warning."""
    health, cautions = site.watch.health, site.watch.cautions
    reasons = {reason.code: reason.since for _, reason in reasons_of(health)}
    return {"level": health.since, **reasons, **{caution.code: caution.since for caution in cautions}}


@pytest.mark.parametrize("step", [-3600.0, 200 * DAY], ids=["back", "forwards"])
def test_a_clock_that_is_set_changes_nothing_of_how_long_something_has_held(step: float) -> None:
    """A site whose host began by 1970 was healthy for 20,000 days, and what held when a clock was set back had no age.

    The status shows both beside how long the site is up.
    """
    limited = with_peer(short_packets=True, verdict=VerdictStatus("round trip or window", 0.9, "window 64 MiB"))
    site = Site(limited)
    site.pass_(limited, HELD)
    before = since(site)
    assert set(before) == {"level", "IST-110", "IST-503"}
    site.seconds += 1
    site.watch.note(limited, NOW + step + site.seconds, float(site.seconds))
    assert since(site) == {what: when + step for what, when in before.items()}


def test_a_clock_that_is_corrected_by_little_moves_nothing() -> None:
    """Nor does a host that was stopped: for that time both clocks go on."""
    site = Site(with_peer())
    site.pass_(with_peer(), HELD)
    before = since(site)
    site.watch.note(with_peer(), NOW + site.seconds + 2.5, site.seconds + 1.0)
    site.watch.note(with_peer(), NOW + site.seconds + 600, site.seconds + 598.5)
    assert since(site) == before
