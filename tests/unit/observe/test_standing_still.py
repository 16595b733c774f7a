"""A process that was stopped, or whose host was, says so: it hears of everything late, and would blame the line."""

import pytest

from proxy.observe.history import History
from proxy.observe.journal import Journal
from proxy.observe.watch import Watch
from tests.unit.observe.snapshots import NOW, changed, down, with_peer
from tests.unit.observe.watched import Site


@pytest.mark.parametrize(("share", "why"), [(0.02, "it was stopped, or its host was"), (0.9, "busy with one thing")])
def test_a_process_that_stood_still_says_so_before_what_comes_from_that(share: float, why: str) -> None:
    site = Site()
    site.pass_(with_peer(), 2)
    site.seconds += 52
    site.pass_(changed(peers=[down()], processor_share=share), 1)
    found = [event for event in site.events if event.code in ("IST-409", "IST-102")]
    assert [event.code for event in found] == ["IST-409", "IST-102"]
    assert found[0].words.startswith("the site stood still for 53 s: ")
    assert found[0].words.endswith(why)


@pytest.mark.parametrize("seconds", [0, 4])
def test_a_late_second_is_no_standstill(seconds: int) -> None:
    """Nor is a start that takes long, before the first one."""
    watch = Watch(Journal(), History(0.0), with_peer())
    for clock in (60.0, 61.0 + seconds):
        watch.note(with_peer(), NOW + clock, clock)
    assert "IST-409" not in [event.code for event in watch.journal.after(0, 100).events]
