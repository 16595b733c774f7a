"""What ten open pages cost: of two transfers in a row one without them, and one with them."""

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


def test_what_they_cost_is_the_median_of_rounds() -> None:
    """A loss is more than 0, whichever of the two figures it is of."""
    comparison = Comparison(1, 3)
    for alone, watched in (((100.0, 2.0), (90.0, 2.5)), ((10.0, 2.0), (10.0, 2.0)), ((50.0, 2.0), (49.0, 2.04))):
        comparison.alone.note(*alone)
        comparison.watched.note(*watched)
    rate, cost = comparison.goals()
    assert [rate.measured, cost.measured] == pytest.approx([2, 2])
    assert (rate.at_least, cost.at_least) == (False, False)
