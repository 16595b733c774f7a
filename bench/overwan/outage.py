"""How soon a line is full again after an outage in the middle of a transfer."""

import time
from collections.abc import Iterator

from bench.case_results import Figure
from bench.cases import Bench
from bench.course import Course, Recorder
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import MBIT, Setting, delivered, standing, untrue
from bench.overwan.streams import Stream, pair_on
from bench.replicator import Transfer
from bench.sites import Pair
from bench.wan import Wan

SETTING = Setting(loss=1)
REPEATS = 3
"""More than one outage, since the time at which sites dial again has jitter."""
BEFORE, OUTAGE, AFTER = 12.0, 30.0, 12.0
"""Seconds."""
SETTLE = 4.0
FULL = 0.9
"""Share of the rate before the outage at which the line is full again."""
SOON = 2.0


def outage(bench: Bench) -> Iterator[Figure]:
    """Outages of a line, each with a new stream through the same pair."""
    before, out, after = (bench.seconds(each, 3.0) for each in (BEFORE, OUTAGE, AFTER))
    with standing(SETTING) as wan, pair_on(wan, "array") as (pair, _):
        for repeat in range(1, REPEATS + 1)[: bench.lines]:
            bench.tell(f"{SETTING.text}: {out:.0f} s of outage, {repeat} of {REPEATS}")
            volume = Dataset("outage", SETTING.volume(before + after), seed=repeat)
            transfer, course, times = _interrupted(wan, pair, volume, before, out)
            yield judged(repeat, transfer, course, times, untrue(wan, SETTING))


def _interrupted(
    wan: Wan, pair: Pair, volume: Dataset, before: float, out: float
) -> tuple[Transfer, Course, tuple[float, float]]:
    """The transfer, what the line delivered meanwhile, and when it went out and came back."""
    with (
        Recorder(lambda: delivered(wan)) as recorder,
        Stream(wan, pair.forwards["array"], volume) as stream,
    ):
        time.sleep(before)
        gone = time.monotonic()
        wan.outage(True)
        time.sleep(out)
        wan.outage(False)
        back = time.monotonic()
        transfer = stream.wait()
    return transfer, recorder.course, (gone, back)


def judged(repeat: int, transfer: Transfer, course: Course, times: tuple[float, float], excuse: str = "") -> Figure:
    """The line of the table. `course`: bytes that the line delivered; `times`: when it went out and came back."""
    gone, back = times
    before = course.rate(max(course.began, gone - SETTLE), gone)
    took = course.full_again(back, FULL * before) if before else None  # if nothing came before, any rate would do
    measured = float("inf") if took is None else took
    goal = Goal(f"outage {repeat}, full again", measured, SOON, False, "s")
    values = {
        "out, s": back - gone,
        "before, Mb/s": before * 8 / MBIT,
        "full again, s": took,
    }
    return Figure(SETTING.text, f"outage {repeat}", values, (goal,), transfer.verified, excuse)
