"""The made-up suite, in the table of suites for the time of a test."""

import pytest

from bench.replay.suites import SUITES
from tests.unit.bench.replay.made_up import MadeUp


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    found = MadeUp()
    monkeypatch.setitem(SUITES, "made-up", found.suite)
    return found
