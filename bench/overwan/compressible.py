"""How long compressible data takes, beside the best that compression in one piece and a perfect line would do."""

from collections.abc import Iterator

import zstandard

from bench.datasets import Dataset
from bench.goals import Goal
from bench.overwan.bench import Bench, Stream, pair_on
from bench.overwan.lines import Setting, standing, untrue
from bench.overwan.results import Figure

SETTING = Setting(loss=1)
COMPRESSIBILITY = 38.0
SECONDS = 40.0
"""About how long the volume takes."""
LEVEL, WINDOW_LOG = 12, 27
"""Those of `zstd -12 --long`."""
WORST = 8.0
"""Percent longer than the best."""


def compressible(bench: Bench) -> Iterator[Figure]:
    """One stream, cold."""
    size = SETTING.volume(bench.seconds(SECONDS, 2.0) / (1 - COMPRESSIBILITY / 100))
    volume = Dataset("compressible", size, COMPRESSIBILITY)
    bench.tell(f"zstd -{LEVEL} --long of {size >> 20} MiB")
    best = compressed(volume)
    with standing(SETTING) as wan, pair_on(wan, "array") as (pair, _):
        bench.tell(f"{SETTING.text}: the same, cold")
        before = wan.stats()["west"]["delivered_bytes"]
        with Stream(wan, pair.forwards["array"], volume) as stream:
            transfer = stream.wait()
        wire = wan.stats()["west"]["delivered_bytes"] - before
        least = best * 8 / SETTING.goodput
        goal = Goal("38 %, over best", 100 * (transfer.seconds / least - 1), WORST, False, "%")
        values = {
            "seconds": transfer.seconds,
            "at best": least,
            "wire, %": 100 * wire / size,
            "zstd, %": 100 * best / size,
        }
        yield Figure(SETTING.text, f"{size >> 20} MiB", dict(values), (goal,), transfer.verified, untrue(wan, SETTING))


def compressed(volume: Dataset) -> int:
    """Bytes that are left of it in one piece, by one thread."""
    parameters = zstandard.ZstdCompressionParameters.from_level(LEVEL, enable_ldm=True, window_log=WINDOW_LOG)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return sum(len(compressor.compress(buffer)) for buffer in volume) + len(compressor.flush())
