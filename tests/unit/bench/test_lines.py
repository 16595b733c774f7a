"""When what was measured on a line means nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from bench.lines import FULL, Setting, exhausted, untrue


@pytest.mark.parametrize(
    ("west", "east", "round_trip", "told"),
    [
        ({"overrun": 0, "late_p99": 0.0019}, {"overrun": 0, "late_p99": 0.0}, 10, ""),
        ({"overrun": 0, "late_p99": 0.0}, {"overrun": 0, "late_p99": 0.0021}, 10, "the emulator was 2.1 ms late"),
        ({"overrun": 0, "late_p99": 0.0049}, {"overrun": 0, "late_p99": 0.0}, 100, ""),
        ({"overrun": 0, "late_p99": 0.0051}, {"overrun": 0, "late_p99": 0.0}, 100, "the emulator was 5.1 ms late"),
        ({"overrun": 1, "late_p99": 0.0}, {"overrun": 2, "late_p99": 0.0}, 100, "did not take 3 packets in time"),
        ({}, {}, 10, ""),
    ],
    ids=["in time", "late", "within a twentieth of the round trip", "later", "overrun", "netem, which does not say"],
)
def test_what_an_emulator_that_could_not_follow_says(west: Any, east: Any, round_trip: int, told: str) -> None:
    wan: Any = SimpleNamespace(stats=lambda: {"west": west, "east": east})
    found = untrue(wan, Setting(round_trip=round_trip))
    assert told in found
    assert bool(found) is bool(told)


def test_only_full_cores_are_an_excuse() -> None:
    assert exhausted(FULL) == "the cores were busy (97%)"
    assert exhausted(FULL - 0.001) == ""
