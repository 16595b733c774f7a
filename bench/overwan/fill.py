"""How full one cold, incompressible stream makes a line."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.datasets import Dataset
from bench.goals import Goal
from bench.machine import Cores
from bench.overwan import iperf
from bench.overwan.bench import Bench, Stream, pair_on
from bench.overwan.course import Course, Recorder
from bench.overwan.lines import MBIT, Setting, exhausted, standing, untrue
from bench.overwan.results import Figure
from bench.replicator import Transfer
from bench.wan import Wan

FIELD_LINES = [*(Setting(loss=loss) for loss in (0, 0.1, 1, 3)), Setting(round_trip=200, loss=1)]
FAST_LINES = [
    Setting(rate, round_trip, loss) for rate in ("155Mbit", "1Gbit") for round_trip in (20, 100) for loss in (0, 0.1)
]
SECONDS, FAST_SECONDS = 20.0, 12.0
"""How long a stream fills its line."""
FAST = 100 * MBIT
SETTLE = 4.0
"""Seconds until slow start is over, and what it lost has been sent again: for the pair and iperf3 alike."""


@dataclass(frozen=True)
class Way:
    """How the tunnel sends, and what it should reach of iperf3 with BBR, in percent."""

    name: str
    settings: str
    bound: float
    lanes: bool = False
    """It has to find out how many lanes it needs: the second half counts."""


AS_SHIPPED = Way("as shipped", "", 97)
CUBIC = Way("cubic, lanes", 'congestion_control = "cubic"\n', 85, lanes=True)


def fill(bench: Bench) -> Iterator[Figure]:
    """The line of the field test, better and worse, as shipped and with lanes of CUBIC."""
    for setting in FIELD_LINES[: bench.lines]:
        yield from _on(bench, setting, [AS_SHIPPED, CUBIC], bench.seconds(SECONDS, 2.0))


def fast(bench: Bench) -> Iterator[Figure]:
    """OC3 and gigabit lines."""
    for setting in FAST_LINES[: bench.lines]:
        yield from _on(bench, setting, [Way("as shipped", "", 90)], bench.seconds(FAST_SECONDS, 2.0))


def _on(bench: Bench, setting: Setting, ways: list[Way], seconds: float) -> Iterator[Figure]:
    with standing(setting) as wan:
        plain = plain_tcp(bench, wan, setting, seconds)
        for way in ways:
            bench.tell(f"{setting.text}: one stream, {way.name}")
            cores = Cores()
            transfer, course = sent(wan, setting, seconds, way.settings)
            figure = judged(setting, way, transfer, course, plain)
            yield replace(figure, excuse=untrue(wan, setting) or _excuse(setting, figure, cores))


def _excuse(setting: Setting, figure: Figure, cores: Cores) -> str:
    """Slow lines leave the cores to whoever is measured: what is missed there is missed by its own fault."""
    return "" if setting.bits < FAST or figure.met == "yes" else exhausted(cores.used())


def plain_tcp(bench: Bench, wan: Wan, setting: Setting, seconds: float) -> dict[str, float]:
    """Bits a second of iperf3, by congestion control."""
    found, settle = {}, round(min(SETTLE, seconds / 4))
    for control in iperf.offered():
        bench.tell(f"{setting.text}: iperf3 -C {control}")
        found[control] = iperf.rate(wan, control, max(1, round(seconds / 2)), settle)
    return found


def sent(wan: Wan, setting: Setting, seconds: float, settings: str = "") -> tuple[Transfer, Course]:
    """One stream of new bytes for about so long, and how they arrived (plain bytes)."""
    volume = Dataset("fill", setting.volume(seconds))
    with (
        pair_on(wan, "array", tunnel_settings=settings) as (pair, sinks),
        Recorder(lambda: sinks["array"].received) as recorder,
        Stream(wan, pair.forwards["array"], volume) as stream,
    ):
        transfer = stream.wait()
    return transfer, recorder.course


def judged(setting: Setting, way: Way, transfer: Transfer, course: Course, plain: dict[str, float]) -> Figure:
    """The line of the table. `plain`: bits a second of iperf3."""
    settle = (course.ended - course.began) / 2 if way.lanes else min(SETTLE, (course.ended - course.began) / 4)
    steady = course.steady(settle) * 8
    values: dict[str, float | None] = {"steady": steady / MBIT, "all": transfer.rate * 8 / MBIT}
    for control in iperf.CONTROLS:
        values[control] = plain[control] / MBIT if control in plain else None
    values["limit"] = setting.goodput / MBIT
    goals = []
    if plain.get("bbr"):
        share = 100 * steady / plain["bbr"]
        goals.append(Goal(f"{way.name} / bbr", share, way.bound, True, "%"))
    return Figure(setting.text, way.name, values, tuple(goals), transfer.verified)
