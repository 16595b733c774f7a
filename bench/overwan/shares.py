"""Whether guarantees and caps hold, by what the line or the site counts on the wire."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench.case_results import Figure
from bench.cases import Bench
from bench.course import Course, Recorder
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, delivered, standing, untrue
from bench.overwan.streams import ENDLESS, Stream, pair_on
from bench.sites import Pair
from bench.wan import Wan

SETTING = Setting()
GUARANTEES = {"a": 30, "b": 10}
"""Mb/s, by forward; each alone would fill the line."""
BUSY, SETTLE = 15.0, 4.0
"""Seconds that are measured, and seconds that pass before."""
CAP = 20
"""Mb/s."""
CAPPED = 30.0
WINDOW = 10.0
BURST = 0.1
"""After a rest, what a cap allows in so many seconds may go at once."""
TOLERANCE = 5.0
"""Percent."""
CAPS: dict[str, dict[str, Any]] = {
    "maximum": {"forward_settings": {"array": f'maximum = "{CAP}Mbit"\n'}},
    "peer.rate": {"peer_settings": f'rate = "{CAP}Mbit"\n'},
}


def shares(bench: Bench) -> Iterator[Figure]:
    """Guarantees of two busy forwards, what one lends the other while it rests, and both kinds of caps."""
    with standing(SETTING) as wan:
        alone, identical = _alone(bench, wan)
        yield Figure(SETTING.text, "one stream alone", {"Mb/s": alone}, (), identical, untrue(wan, SETTING))
        yield from _guaranteed(bench, wan, alone)
    for name, settings in CAPS.items():
        with standing(SETTING) as wan:
            bench.tell(f"{SETTING.text}: {name} of {CAP} Mb/s")
            yield _capped(bench, wan, name, settings)


def _alone(bench: Bench, wan: Wan) -> tuple[float, bool]:
    """Mb/s on the line of one stream without guarantees or caps, and whether it arrived."""
    bench.tell(f"{SETTING.text}: one stream alone")
    with (
        pair_on(wan, "array") as (pair, _),
        Stream(wan, pair.forwards["array"], Dataset("alone", ENDLESS)) as stream,
    ):
        rate = _rate(bench, wan)
        return rate, stream.end().verified


def _guaranteed(bench: Bench, wan: Wan, alone: float) -> Iterator[Figure]:
    forwards = {name: f'guarantee = "{rate}Mbit"\n' for name, rate in GUARANTEES.items()}
    with ExitStack() as stack:
        pair, _ = stack.enter_context(pair_on(wan, *GUARANTEES, forward_settings=forwards))
        streams = {
            name: stack.enter_context(Stream(wan, pair.forwards[name], Dataset(name, ENDLESS))) for name in GUARANTEES
        }
        bench.tell(f"{SETTING.text}: guarantees of {' and '.join(map(str, GUARANTEES.values()))} Mb/s, both busy")
        rates = _rates(bench, pair)
        identical = {}
        resting, working = GUARANTEES
        bench.tell(f"{SETTING.text}: {resting} rests")
        identical[resting] = streams[resting].end().verified
        lent = _rate(bench, wan)
        identical[working] = streams[working].end().verified
        excuse = untrue(wan, SETTING)
    for name, rate in rates.items():
        least = GUARANTEES[name] * (1 - TOLERANCE / 100)
        goal = Goal(f"guarantee {GUARANTEES[name]}", rate, least, True, "Mb/s")
        yield Figure(SETTING.text, f"guarantee {GUARANTEES[name]}", {"Mb/s": rate}, (goal,), identical[name], excuse)
    share = 100 * lent / alone if alone else 0.0
    goal = Goal(f"{GUARANTEES[resting]} rests / alone", share, 100 - TOLERANCE, True, "%")
    yield Figure(SETTING.text, f"{GUARANTEES[resting]} rests", {"Mb/s": lent}, (goal,), all(identical.values()), excuse)


def _capped(bench: Bench, wan: Wan, name: str, settings: dict[str, Any]) -> Figure:
    volume = Dataset("capped", round(CAP * MBIT / 8 * bench.seconds(CAPPED, 5.0)))
    with (
        pair_on(wan, "array", **settings) as (pair, _),
        Recorder(lambda: delivered(wan)) as recorder,
        Stream(wan, pair.forwards["array"], volume) as stream,
    ):
        transfer = stream.wait()
    return judged(name, recorder.course, bench.seconds(WINDOW), transfer.verified, untrue(wan, SETTING))


def judged(name: str, course: Course, window: float, identical: bool, excuse: str = "") -> Figure:
    """A cap's line of the table. `course`: bytes that the line delivered; all windows count except those at its very
    beginning and end."""
    windows = [8 * rate / MBIT for rate in course.windows(window, course.began + 1, course.ended - 1)] or [0.0]
    goals = (
        Goal(f"{name} {CAP}, least", min(windows), CAP * (1 - TOLERANCE / 100), True, "Mb/s"),
        Goal(f"{name} {CAP}, most", max(windows), CAP * (1 + BURST / window), False, "Mb/s"),
    )
    mean = sum(windows) / len(windows)
    values = {"Mb/s": mean, "least": min(windows), "most": max(windows)}
    return Figure(SETTING.text, f"{name} {CAP}", values, goals, identical, excuse)


def _rate(bench: Bench, wan: Wan) -> float:
    """Mb/s that the line delivers over `BUSY` seconds, after `SETTLE` seconds."""
    time.sleep(bench.seconds(SETTLE))
    before, began = delivered(wan), time.monotonic()
    time.sleep(bench.seconds(BUSY))
    after, seconds = delivered(wan), time.monotonic() - began
    return 8 / MBIT * (after - before) / seconds


def _rates(bench: Bench, pair: Pair) -> dict[str, float]:
    """Mb/s on the wire by forward, as the site counts them, over `BUSY` seconds, after `SETTLE` seconds."""
    time.sleep(bench.seconds(SETTLE))
    before, began = _wire(pair), time.monotonic()
    time.sleep(bench.seconds(BUSY))
    after, seconds = _wire(pair), time.monotonic() - began
    return {name: 8 / MBIT * (after[name] - before[name]) / seconds for name in GUARANTEES}


def _wire(pair: Pair) -> dict[str, int]:
    found = pair.east.status()["peers"][0]["shares"]
    return {share["name"].removeprefix("forward "): share["wire_bytes"] for share in found}
