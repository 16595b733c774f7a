"""Volumes in progress at once: reference section 2a, with hosts at work on the source array meanwhile.

Volumes of 10 GB move from one target to another, 1 to 16 in progress at once, the rest waiting, while fio reads and
writes another unit of the source: 8 KiB at random, 70 % reads, 30 under way. The makers publish ratios only: of the
time for 18 volumes to that for 3, and what one volume at a time costs and gains.
"""

from collections.abc import Iterator
from functools import partial

from bench.array import ArrayFailure, identical
from bench.datasets import Dataset
from bench.replay import fio
from bench.replay.arrays import LINES, WAYS, Arrays, Ground, lacking, standing_on
from bench.replay.fio import HOST, FioFailure, Found, Job, disk, load
from bench.replay.published_lines import likely
from bench.replay.suite import Suite
from bench.replay.suites.concurrency_report import HOST_ALONE, VOLUME, WHOLE, report
from bench.replay.trial import Figure, Options, Outcome, Stage, Trial, see_room
from bench.replay.turns import Course, move

MIB = 1 << 20
VOLUMES, IN_PROGRESS = (3, 9, 12, 18), (1, 3, 9, 12, 16)
FEW_VOLUMES, FEW_IN_PROGRESS = (3, 18), (1, 16)
"""What is measured at small scales: only the extremes, which the published ratios are about."""
COMPRESSIBILITY, DUPLICATES = 38, 10
HOST_UNIT = 256 * MIB
ALONE_SECONDS = 60.0
"""Seconds for which the host works without a replication, at scale 1."""


def trials(options: Options) -> list[Trial]:
    """One trial for each line and way."""
    pairs = _pairs(options.scale)
    found = []
    for line in LINES:
        for way in WAYS:
            ground = Ground(line, way)
            cells = [f"{ground.place}/{HOST_ALONE}", *(f"{ground.place}/{count}/{most}" for count, most in pairs)]
            seconds = _seconds(ground, pairs, options.scale)
            settings = {"line": LINES[line].texts, "volume": VOLUME, "compressibility": COMPRESSIBILITY}
            settings |= {"duplicates": DUPLICATES, "host": HOST.__dict__}
            found.append(Trial(tuple(cells), partial(measure, ground, pairs), seconds, settings))
    return found


def measure(ground: Ground, pairs: list[tuple[int, int]], stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure all cells of a line and a way between the same arrays, each time with new volumes."""
    size, most = stage.bytes(VOLUME), max(count for count, _ in pairs)
    see_room(2 * most * size + HOST_UNIT)
    stage.tell("starting the arrays")
    with (
        standing_on(ground, stage.directory, far=[size] * most, near=[size] * most + [HOST_UNIT]) as arrays,
        arrays.inside(),
        disk(arrays.near.url(most + 1), stage.directory, "host") as host,
    ):
        stage.tell("the host alone")
        arrays.begin()
        with load([Job("host", host, HOST)], stage.directory, stage.seconds(ALONE_SECONDS, 2.0)) as running:
            alone = running.wait()["host"]
        yield f"{ground.place}/{HOST_ALONE}", Outcome(tuple(_of_host(alone, arrays.remark())))
        for number, (count, in_progress) in enumerate(pairs):
            stage.tell(f"{count} new volumes")
            _fill(arrays, count, size, number)
            tell = partial(_tell, stage, count, in_progress)
            arrays.begin()
            with load([Job("host", host, HOST)], stage.directory) as running:
                course = move(arrays, count, in_progress, stage.directory, tell)
                beside = running.end()["host"]
            remark = arrays.remark()
            yield f"{ground.place}/{count}/{in_progress}", _outcome(arrays, count, size, course, beside, remark)


def _tell(stage: Stage, count: int, in_progress: int, text: str) -> None:
    stage.tell(f"{count} volumes, {in_progress} at once: {text}")


def _fill(arrays: Arrays, count: int, size: int, number: int) -> None:
    """Fill the near array's units with data that no store has seen."""
    for unit, path in enumerate(arrays.near.units[:count]):
        Dataset(f"volume {unit}", size, COMPRESSIBILITY, DUPLICATES, number).fill(path)


def _outcome(arrays: Arrays, count: int, size: int, course: Course, beside: Found, remark: str) -> Outcome:
    total, setting = count * size, arrays.ground.setting
    possible = 8 * total / setting.goodput if setting and arrays.ground.way == "direct" else None
    figures = (
        Figure("replication", course.seconds, "s", False, limit=possible, remark=remark),
        Figure("throughput", total / course.seconds / 1e6, "MB/s", remark=remark),
        *_of_host(beside, remark),
    )
    samples = {"in progress": course.in_progress, "waiting": course.waiting}
    moved = sorted(course.moved, key=lambda each: each.unit)
    samples["volumes"] = [[each.unit, round(each.waited, 3), round(each.took, 3)] for each in moved]
    ends = enumerate(zip(arrays.near.units[:count], arrays.far.units[:count], strict=True), 1)
    wrong = [unit for unit, (near, far) in ends if not identical(near, far)]
    complaint = f"volumes {', '.join(map(str, wrong))} differ" if wrong else ""
    return Outcome(figures, samples, {"volume_bytes": size}, complaint)


def _of_host(found: Found, remark: str) -> Iterator[Figure]:
    yield Figure("host I/O", found.operations, "IOPS", remark=remark)
    yield Figure("host latency", found.latency, "ms", False, remark=remark)


def _pairs(scale: float) -> list[tuple[int, int]]:
    """How many volumes, and how many of them at once, for each cell."""
    whole = scale >= WHOLE
    counts, in_progress = (VOLUMES, IN_PROGRESS) if whole else (FEW_VOLUMES, FEW_IN_PROGRESS)
    return [(count, most) for count in counts for most in in_progress]


def _seconds(ground: Ground, pairs: list[tuple[int, int]], scale: float) -> float:
    if not likely(ground.line):
        return 0.1
    rate = min(LINES[ground.line].goodput / 8, 40e6)
    return 12.0 + sum(1.5 + count * max(VOLUME * scale, MIB) / rate for count, _ in pairs)


def missing() -> str:
    """Why nothing can be measured here, or nothing."""
    return lacking(Ground("t3", "direct")) or fio.lacking()


CONCURRENCY = Suite(
    "concurrency",
    "Volumes in progress at once, with hosts at work on the source array",
    1 / 2000,
    trials,
    report,
    missing,
    (ArrayFailure, FioFailure),
)
