"""Writes that wait for the far array: reference section 3. [Stratus Avance with 10 Gb NICs]

One writer with writes of 1 KiB to 1 MiB, each of which waits for its answer; four writers that copy files; five that
create files. Over 1 Gb, over 10 Gb, and without a line, where only the cores limit.
"""

import math
from collections.abc import Iterator
from functools import partial
from itertools import count

from bench.array import ArrayFailure
from bench.datasets import Dataset
from bench.machine import lacking_disk
from bench.replay.arrays import NO_LINE, WAYS, Arrays, Ground, lacking, standing_on
from bench.replay.published_lines import likely
from bench.replay.suite import Suite
from bench.replay.suites.blocks_report import COPYING, CREATING, KIB, ONE_WRITER, PUBLISHED, SIZES, report
from bench.replay.trial import Figure, Lacking, Options, Outcome, Stage, Trial
from bench.replay.writers import Writer, WriterFailure, alike, creating, write

MIB = 1 << 20
GROUNDS = [Ground(line, way) for line in (NO_LINE, "1g", "10g") for way in WAYS]
COPIERS, CREATORS = 4, 5
COPY_WRITE = 64 * KIB
UNIT = 64 * MIB
SECONDS, LEAST_SECONDS = 30.0, 0.5
"""Seconds of a cell: at scale 1, and at least."""
COMPRESSIBILITY, DUPLICATES = 38, 10


def trials(options: Options) -> list[Trial]:
    """One trial for each line and way."""
    found = []
    for ground in GROUNDS:
        cells = tuple(f"{ground.place}/{name}" for name in (*map(str, SIZES), COPYING, CREATING))
        settings = {
            "line": ground.setting.texts if ground.setting else NO_LINE,
            "compressibility": COMPRESSIBILITY,
            "duplicates": DUPLICATES,
            "copy_write": COPY_WRITE,
        }
        each = 0.3 + max(LEAST_SECONDS, SECONDS * options.scale)
        seconds = 8.0 + each * len(cells) if likely(ground.line) else 0.1
        found.append(Trial(cells, partial(measure, ground), seconds, settings))
    return found


def measure(ground: Ground, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure each size of write, then several writers, each time with new data."""
    seconds = stage.seconds(SECONDS, LEAST_SECONDS)
    units = max(COPIERS, CREATORS)
    if reason := lacking_disk(units * UNIT):  # whatever the scale
        raise Lacking(reason)
    new = (Dataset("blocks", UNIT, COMPRESSIBILITY, DUPLICATES, seed) for seed in count())
    with standing_on(ground, stage.directory, far=[UNIT] * units) as arrays:
        for size in SIZES:
            stage.tell(f"writes of {size} KiB")
            told = ONE_WRITER.get(ground.line) if size == SIZES[-1] else None
            yield f"{ground.place}/{size}", _measured(arrays, [alike(1, next(new), size * KIB)], seconds, told)
        stage.tell("files are copied")
        copiers = [alike(unit, next(new), COPY_WRITE) for unit in range(1, COPIERS + 1)]
        yield f"{ground.place}/{COPYING}", _measured(arrays, copiers, seconds, PUBLISHED[COPYING].get(ground.line))
        stage.tell("files are created")
        creators = [creating(unit, next(new)) for unit in range(1, CREATORS + 1)]
        yield f"{ground.place}/{CREATING}", _measured(arrays, creators, seconds, PUBLISHED[CREATING].get(ground.line))


def _measured(arrays: Arrays, writers: list[Writer], seconds: float, published: float | None) -> Outcome:
    arrays.begin()
    took = write(arrays, writers, seconds)
    remark = arrays.remark()
    latencies = sorted(latency for writer in writers for latency in writer.latencies)
    latest = latencies[math.ceil(len(latencies) * 99 / 100) - 1]
    written = sum(writer.written for writer in writers)
    setting = arrays.ground.setting
    limit = setting.goodput / 8e6 if setting and arrays.ground.way == "direct" else None
    figures = (
        Figure("throughput", written / took / 1e6, "MB/s", published=published, limit=limit, remark=remark),
        Figure("latency", 1000 * sum(latencies) / len(latencies), "ms", False, remark=remark),
        Figure("latency, 99th percentile", 1000 * latest, "ms", False, remark=remark),
        Figure("average write", written / len(latencies) / KIB, "KiB"),
    )
    wrong = [writer.unit for writer in writers if writer.differs(arrays.far.units[writer.unit - 1])]
    return Outcome(figures, complaint=f"units {', '.join(map(str, wrong))} have other bytes" if wrong else "")


BLOCKS = Suite(
    "blocks",
    "Writes of 1 KiB to 1 MiB that wait for the far array",
    1 / 60,
    trials,
    report,
    partial(lacking, GROUNDS[-1]),
    (ArrayFailure, WriterFailure),
)
