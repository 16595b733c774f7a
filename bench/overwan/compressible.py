"""How long compressible data takes, compared with compression in one piece and a perfect line."""

from collections.abc import Iterator

from bench.case_results import Figure
from bench.cases import Bench
from bench.compressed import LEVEL, compressed
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import Setting, delivered, standing, untrue
from bench.overwan.streams import Stream, pair_on

SETTING = Setting(loss=1)
COMPRESSIBILITY = 38.0
SECONDS = 40.0
"""About how long the volume takes."""
WORST = 8.0
"""Percent longer than the best."""


def compressible(bench: Bench) -> Iterator[Figure]:
    """One cold stream."""
    size = SETTING.volume(bench.seconds(SECONDS, 2.0) / (1 - COMPRESSIBILITY / 100))
    volume = Dataset("compressible", size, COMPRESSIBILITY)
    bench.tell(f"zstd -{LEVEL} --long of {size >> 20} MiB")
    best = compressed(volume)
    with standing(SETTING) as wan, pair_on(wan, "array") as (pair, _):
        bench.tell(f"{SETTING.text}: the same, cold")
        before = delivered(wan)
        with Stream(wan, pair.forwards["array"], volume) as stream:
            transfer = stream.wait()
        wire = delivered(wan) - before
        least = best * 8 / SETTING.goodput
        goal = Goal("38 %, over best", 100 * (transfer.seconds / least - 1), WORST, False, "%")
        values = {
            "seconds": transfer.seconds,
            "at best": least,
            "wire, %": 100 * wire / size,
            "zstd, %": 100 * best / size,
        }
        yield Figure(SETTING.text, f"{size >> 20} MiB", values, (goal,), transfer.verified, untrue(wan, SETTING))
