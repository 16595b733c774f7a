"""What ten open pages cost, where the kernel says that a transfer took no time of a processor."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from bench import load
from bench.sites import TICK
from bench.viewers import Comparison


def test_a_transfer_that_took_less_than_a_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 4 MiB: its cost divided another one's, and a run that was interrupted lost all that it had measured."""
    size = 4 << 20
    pair: Any = SimpleNamespace(cpu_seconds=lambda: 1.5, forwards={"array": ("127.0.0.1", 1)})
    monkeypatch.setattr(load, "run", lambda *_: load.Run(size, 0.01, True))
    comparison, sink = Comparison(size, 1), MagicMock()
    for rounds in (comparison.alone, comparison.watched):
        rounds.note(*comparison._transfer(Path("volume"), pair, sink))
    assert comparison.alone.costs == [TICK * 256]
    assert [goal.measured for goal in comparison.goals()] == [0, 0]
