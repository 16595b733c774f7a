"""How full one cold, incompressible stream makes a line."""

import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.case_results import Figure
from bench.cases import Bench
from bench.course import Course, Recorder
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, standing, untrue
from bench.machine import Cores
from bench.overwan import iperf
from bench.overwan.streams import Stream, pair_on
from bench.replicator import Transfer
from bench.wan import Wan

FIELD_LINES = [*(Setting(loss=loss) for loss in (0, 0.1, 1, 3)), Setting(round_trip=200, loss=1)]
FAST_LINES = [
    Setting(rate, round_trip, loss) for rate in ("155Mbit", "1Gbit") for round_trip in (20, 100) for loss in (0, 0.1)
]
SECONDS, FAST_SECONDS = 20.0, 12.0
"""How long a stream fills its line."""
SETTLE = 4.0
"""Seconds that do not count, for the pair and iperf3 alike: then slow start is over, and what it lost sent again."""
ROUNDS = 3
"""Rounds of iperf3 with BBR and the pair, in turns: by which packets are lost, either gets 36 to 42 Mb/s of a line."""


@dataclass(frozen=True)
class Way:
    """How the tunnel sends, and how many percent of iperf3 with BBR it should reach."""

    name: str
    settings: str
    bound: float
    lanes: bool = False
    """The tunnel has to find out how many lanes it needs, so only the second half counts."""
    rounds: int = 1


class Run(NamedTuple):
    """What one stream did."""

    transfer: Transfer
    course: Course
    """Plain bytes that have arrived."""
    used: float
    """Share of all cores."""
    settle: float = SETTLE
    """Seconds that do not count, as for iperf3."""


AS_SHIPPED = Way("as shipped", "", 97, rounds=ROUNDS)
CUBIC = Way("cubic, lanes", 'congestion_control = "cubic"\n', 85, lanes=True)


def fill(bench: Bench) -> Iterator[Figure]:
    """The line of the field test, better and worse, as shipped and with lanes of CUBIC."""
    for setting in FIELD_LINES[: bench.lines]:
        yield from _on(bench, setting, [AS_SHIPPED, CUBIC], bench.seconds(SECONDS, 2.0))


def fast(bench: Bench) -> Iterator[Figure]:
    """OC3 and gigabit lines."""
    for setting in FAST_LINES[: bench.lines]:
        yield from _on(bench, setting, [replace(AS_SHIPPED, bound=90)], bench.seconds(FAST_SECONDS, 2.0))


def _on(bench: Bench, setting: Setting, ways: list[Way], seconds: float) -> Iterator[Figure]:
    with standing(setting) as wan:
        plain = {control: [_plain_tcp(bench, wan, setting, control, seconds)] for control in iperf.offered()}
        for way in ways:
            runs: list[Run] = []
            while len(runs) < way.rounds:
                if runs and "bbr" in plain:
                    plain["bbr"].append(_plain_tcp(bench, wan, setting, "bbr", seconds))
                bench.tell(f"{setting.text}: one stream, {way.name}, {len(runs) + 1} of {way.rounds}")
                runs.append(sent(wan, setting, seconds, way.settings))
            figure = judged(setting, way, runs, {control: statistics.median(rates) for control, rates in plain.items()})
            yield replace(figure, excuse=untrue(wan, setting))


def _plain_tcp(bench: Bench, wan: Wan, setting: Setting, control: str, seconds: float) -> float:
    """Bits a second of iperf3."""
    bench.tell(f"{setting.text}: iperf3 -C {control}")
    return iperf.rate(wan, control, max(1, round(seconds / 2)), settled(seconds))


def settled(seconds: float) -> int:
    """How many of so many seconds do not count: whole ones, since iperf3 takes no others, and at least one."""
    return max(1, round(min(SETTLE, seconds / 4)))


def sent(wan: Wan, setting: Setting, seconds: float, settings: str = "") -> Run:
    """Send one stream of new bytes, for about so many seconds."""
    volume, cores = Dataset("fill", setting.volume(seconds)), Cores()
    with (
        pair_on(wan, "array", tunnel_settings=settings) as (pair, sinks),
        Recorder(lambda: sinks["array"].received) as recorder,
        Stream(wan, pair.forwards["array"], volume) as stream,
    ):
        transfer = stream.wait()
    return Run(transfer, recorder.course, cores.used(), settled(seconds))


def judged(setting: Setting, way: Way, runs: list[Run], plain: Mapping[str, float]) -> Figure:
    """The line of the table, in medians. `plain`: bits a second of iperf3."""
    steady = statistics.median(_steady(way, run) for run in runs) * 8
    values: dict[str, float | None] = {
        "steady": steady / MBIT,
        "all": statistics.median(run.transfer.rate for run in runs) * 8 / MBIT,
    }
    for control in iperf.CONTROLS:
        values[control] = plain[control] / MBIT if control in plain else None
    values["limit"] = setting.goodput / MBIT
    values["CPU %"] = 100 * statistics.median(run.used for run in runs)
    goals = []
    if plain.get("bbr"):
        share = 100 * steady / plain["bbr"]
        goals.append(Goal(f"{way.name} / bbr", share, way.bound, True, "%"))
    return Figure(setting.text, way.name, values, tuple(goals), all(run.transfer.verified for run in runs))


def _steady(way: Way, run: Run) -> float:
    """Bytes a second once the stream has found its rate and, where it has to, its number of lanes."""
    whole = run.course.ended - run.course.began
    return run.course.steady(whole / 2 if way.lanes else run.settle)
