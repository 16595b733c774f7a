"""Once a second: whoever is told of it is told, whatever becomes of the others."""

from typing import Any

import pytest

from proxy.net import watching as module
from proxy.net.watching import Watching
from proxy.observe.snapshot import Snapshot
from tests.unit.observe.snapshots import changed


class Surveyed:
    """What a site looks like; the first look is at the start."""

    def __init__(self) -> None:
        self.broken = False

    def look(self, site: Any) -> Snapshot:
        if self.broken:
            raise ArithmeticError("survey")
        return changed()


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> Surveyed:
    surveyed = Surveyed()
    monkeypatch.setattr(module, "survey", surveyed.look)
    return surveyed


def test_a_defect_of_one_is_none_of_the_others(surveyed: Surveyed, caplog: pytest.LogCaptureFixture) -> None:
    """The gate's sweep above all, which ends those who only hold a place."""
    site: Any = None
    watching, told = Watching(site, None), list[str]()

    def fail() -> None:
        raise ArithmeticError("live")

    watching.ticked.extend((fail, lambda: told.append("sweep")))
    watching.tick()
    assert told == ["sweep"]
    surveyed.broken = True
    watching.tick()
    assert told == ["sweep"] * 2
    said = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert said == ["live", "survey", "live"]
