"""`isthmus drain` and `reload`: only this site is told, and one that does not end is no secret."""

import itertools
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from proxy.cli import control
from proxy.errors import ExitCode
from tests.unit.cli.conftest import Isthmus, StatusSite


def test_a_site_that_does_not_end(
    isthmus: Isthmus, pair: Path, east: StatusSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    east.answers({"site": "east", "started": 1.0, "draining": True})
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr(control, "time", SimpleNamespace(monotonic=lambda: next(clock), sleep=time.sleep))
    shown = isthmus("drain", pair / "east.toml", "--wait")
    assert shown.exit_code == ExitCode.FAILED
    assert "east still answers after 90s; its log says what it waits for, and kill -KILL ends" in shown.stderr


@pytest.mark.parametrize("command", ["drain", "reload"])
def test_another_site_is_told_nothing(isthmus: Isthmus, pair: Path, east: StatusSite, command: str) -> None:
    east.answers({"site": "west", "reloaded": True})
    shown = isthmus(command, pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert "the site that answers there is 'west', not 'east'; see status.listen in both files" in shown.stderr
    assert east.paths == ["/api/v1/status"]
