"""Frames and losses (reference 2c): three volumes at once, MTU 1500 and 9000, over four lines and three losses."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.lines import Setting, standing
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
from bench.replay.suites.frames_report import DELAY, LINES, LOSSES, MTUS, WAYS, Place, report, told
from bench.replay.trial import Options, Outcome, Stage, Trial
from bench.wan.namespaces import lacking


def trials(options: Options) -> list[Trial]:
    """One trial for each line, MTU and loss."""
    return [
        Trial(_cells(*where), partial(measure, *where), _seconds(*where, options.scale), _settings(*where))
        for line in LINES
        for mtu in MTUS
        for loss in LOSSES
        for where in [(line, mtu, loss)]
    ]


def measure(line: str, mtu: int, loss: float, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure directly and through a pair."""
    setting = Setting(RATES[line], 2 * DELAY, loss, mtu)
    stage.tell("can the line be carried?")
    if reason := not_carried(setting.rate, mtu):
        yield from unmeasured(_cells(line, mtu, loss), reason)
        return
    with standing(setting) as wan:
        place = Place(line, mtu, loss, "direct")
        yield place.cell, told(place, directly(wan, setting, stage, place.cell))
        place = Place(line, mtu, loss, "isthmus")
        for cell, outcome in through_a_pair(wan, setting, stage, {place.cell: 0}):
            yield cell, told(place, outcome)


def _cells(line: str, mtu: int, loss: float) -> tuple[str, ...]:
    return tuple(Place(line, mtu, loss, way).cell for way in WAYS)


def _settings(line: str, mtu: int, loss: float) -> dict[str, Any]:
    where = {"rate": RATES[line], "one_way_ms": DELAY, "loss_percent": loss, "mtu": mtu}
    return {"line": where, "arrays": {"volumes": VOLUMES, "congestion_control": array_control(), "compressibility": 0}}


def _seconds(line: str, mtu: int, loss: float, scale: float) -> float:
    if not likely(line):
        return 1.0
    return 5.0 + len(WAYS) * (1.8 + longest(Setting(RATES[line], 2 * DELAY, loss, mtu), scale))


FRAMES = Suite(
    "frames",
    "Frames: MTU 1500 and 9000 over four lines and three losses",
    1 / 1024,
    trials,
    report,
    lacking,
)
