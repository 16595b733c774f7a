"""Windows and delays (reference 2b): three volumes at once, 72 KB, 1 MB and automatic, over four lines and five delays.

The window is the most that the receiving array offers its TCP peer: directly, that is the sending array across the
line; through Isthmus, the site beside it.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.lines import MBIT, Setting, standing
from bench.replay.published_lines import (
    RATES,
    VOLUMES,
    array_control,
    directly,
    likely,
    longest,
    not_carried,
    through_a_pair,
    unmeasured,
)
from bench.replay.suite import Suite
from bench.replay.suites.window_report import DELAYS, LINES, WAYS, WINDOWS, Place, report
from bench.replay.trial import Options, Outcome, Stage, Trial
from bench.wan.namespaces import lacking
from proxy.plan.windows import window_rate

START = 1.8
"""Seconds until sources have begun and, afterwards, until the line is quiet; to guess how long a trial takes."""


def trials(options: Options) -> list[Trial]:
    """One trial for each line and delay."""
    return [
        Trial(
            _cells(line, delay), partial(measure, line, delay), _seconds(line, delay, options), _settings(line, delay)
        )
        for line in LINES
        for delay in DELAYS
    ]


def measure(line: str, delay: int, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure all windows, directly and through a pair."""
    setting = Setting(RATES[line], 2 * delay)
    stage.tell("can the line be carried?")
    if reason := not_carried(setting.rate):
        yield from unmeasured(_cells(line, delay), reason)
        return
    with standing(setting) as wan:
        for window, size in WINDOWS.items():
            cell = Place(line, delay, window, "direct").cell
            yield cell, directly(wan, setting, stage, cell, size, theory(setting, size))
        windows = {Place(line, delay, window, "isthmus").cell: size for window, size in WINDOWS.items()}
        yield from through_a_pair(wan, setting, stage, windows)


def theory(setting: Setting, window: int) -> float:
    """Mb/s of all volumes together, by the makers' formula (window / round trip), and at most what the line carries."""
    if not window or not setting.round_trip:
        return setting.goodput / MBIT
    return min(VOLUMES * window_rate(window, setting.round_trip / 1000), setting.goodput) / MBIT


def _cells(line: str, delay: int) -> tuple[str, ...]:
    """Names of cells in the order in which they are measured."""
    return tuple(Place(line, delay, window, way).cell for way in WAYS for window in WINDOWS)


def _settings(line: str, delay: int) -> dict[str, Any]:
    arrays = {"volumes": VOLUMES, "windows": WINDOWS, "congestion_control": array_control(), "compressibility": 0}
    return {"line": {"rate": RATES[line], "one_way_ms": delay, "loss_percent": 0, "mtu": 1500}, "arrays": arrays}


def _seconds(line: str, delay: int, options: Options) -> float:
    if not likely(line):
        return 1.0
    flow = longest(Setting(RATES[line], 2 * delay), options.scale) + START
    return 4.0 + flow * len(WINDOWS) * len(WAYS)


WINDOW = Suite(
    "window",
    "Windows: 72 KB, 1 MB and automatic over four lines and five delays",
    1 / 2048,
    trials,
    report,
    lacking,
)
