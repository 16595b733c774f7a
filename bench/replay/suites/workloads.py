"""iSCSI workloads: reference section 4. [mixed 1 Gb/10 Gb EqualLogic SAN]

fio through a real initiator, at work on four volumes for fifteen minutes: it reads in order (256 KiB), writes in order
(64 KiB), or both at random (8 KiB, 67 % reads). Over one line; and over a fast and a slow one at once, either with two
volumes behind each (pools of their own), or with each volume spread over both, so that the slow line holds up the fast
one (one mixed pool).

Nothing is read or written twice with the same bytes: a pair that knows them would be faster than any line.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.array import ArrayFailure
from bench.datasets import Dataset
from bench.replay import fio
from bench.replay.arrays import LINES, WAYS, Arrays, Ground, lacking, standing_on
from bench.replay.fio import Area, FioFailure, Found, Job, disk, load
from bench.replay.published_lines import likely
from bench.replay.suite import Suite
from bench.replay.suites.workloads_report import (
    HEALTHY,
    MIXED,
    PUBLISHED,
    WORKS,
    places,
    report,
)
from bench.replay.tcp_counters import Segments
from bench.replay.trial import Figure, Options, Outcome, Stage, Trial, see_room

MIB = 1 << 20
VOLUMES = 4
VOLUME, LEAST_VOLUME = 8 << 30, 128 * MIB
SECONDS, LEAST_SECONDS = 900.0, 2.0
"""Seconds of a workload: at scale 1, and at least."""


@dataclass(frozen=True)
class Fabric:
    """The lines between initiator and arrays (one, or a fast and a slow one), and how volumes are spread over them."""

    lines: tuple[str, ...]
    pool: str
    way: str

    @property
    def place(self) -> str:
        """What names of cells begin with."""
        return f"{self.way}/{'+'.join(self.lines)}/{self.pool}"

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of cells in the order in which they are measured."""
        return tuple(f"{self.place}/{work}" for work in WORKS)


def trials(options: Options) -> list[Trial]:
    """One trial for each fabric."""
    fabrics = [Fabric(tuple(lines.split("+")), pool, way) for lines, pool in places() for way in WAYS]
    found = []
    for fabric in fabrics:
        settings = {
            "lines": [LINES[line].texts if line in LINES else line for line in fabric.lines],
            "volumes": VOLUMES,
            "compressibility": fio.COMPRESSIBLE,
            "works": {name: work.__dict__ for name, work in WORKS.items()},
        }
        each = max(LEAST_SECONDS, SECONDS * options.scale) + 1.5
        seconds = 6.0 * len(fabric.lines) + each * len(fabric.cells) if all(map(likely, fabric.lines)) else 0.1
        found.append(Trial(fabric.cells, partial(measure, fabric), seconds, settings))
    return found


def measure(fabric: Fabric, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure all workloads on the same volumes, first those that read."""
    size = max(LEAST_VOLUME, stage.bytes(VOLUME))
    see_room(VOLUMES * size * len(fabric.lines))
    seconds = stage.seconds(SECONDS, LEAST_SECONDS)
    stage.tell("starting the arrays")
    with ExitStack() as stack:
        stands = [stack.enter_context(_array(Ground(line, fabric.way), stage.directory, size)) for line in fabric.lines]
        disks = [stack.enter_context(_disks(arrays, stage.directory / arrays.ground.line)) for arrays in stands]
        for name in WORKS:
            stage.tell(name)
            jobs = _jobs(name, fabric.pool, disks, size // 2)
            yield f"{fabric.place}/{name}", _measured(stands, jobs, stage, seconds, fabric.pool)


@contextmanager
def _array(ground: Ground, directory: Path, size: int) -> Iterator[Arrays]:
    """An array on that ground whose volumes are full, as workloads that read need them."""
    place = directory / ground.line
    place.mkdir()
    with standing_on(ground, place, far=[size] * VOLUMES) as arrays:
        for number, unit in enumerate(arrays.far.units):
            Dataset(f"workload {number}", size, fio.COMPRESSIBLE).fill(unit)
        yield arrays


@contextmanager
def _disks(arrays: Arrays, directory: Path) -> Iterator[list[Path]]:
    with ExitStack() as stack:
        with arrays.inside():  # no longer than this: the next line's disks are started in another namespace
            units = range(1, VOLUMES + 1)
            disks = [stack.enter_context(disk(arrays.far_url(unit), directory, f"unit{unit}")) for unit in units]
        yield disks


def _jobs(name: str, pool: str, disks: list[list[Path]], half: int) -> list[Job]:
    """Jobs of a workload. In pools of their own the volumes are divided among the lines; in a mixed pool each volume is
    spread over all lines.

    `half`: bytes of half a volume; each of the two workloads that read has a half for itself.
    """
    work, area = WORKS[name], {"read": Area(0, half), "random": Area(half, half)}.get(name)
    if pool == MIXED:
        part = work.shared(len(disks))
        return [Job(name, disk, part, volume + 1, area) for line in disks for volume, disk in enumerate(line)]
    each = VOLUMES // len(disks)
    own = [disk for number, line in enumerate(disks) for disk in line[number * each :][:each]]
    return [Job(name, disk, work, area=area) for disk in own]


def _measured(stands: list[Arrays], jobs: list[Job], stage: Stage, seconds: float, pool: str) -> Outcome:
    before = [_segments(arrays) for arrays in stands]
    for arrays in stands:
        arrays.begin()
    with load(jobs, stage.directory, seconds) as running:
        found = running.wait()[jobs[0].name]
    cpu = sum(arrays.cpu_seconds for arrays in stands)
    remark = next((remark for arrays in stands if (remark := arrays.remark())), "")
    segments = sum((_segments(arrays) - start for arrays, start in zip(stands, before, strict=True)), Segments(0, 0))
    told = PUBLISHED.get(("+".join(arrays.ground.line for arrays in stands), pool), {}).get(jobs[0].name)
    figures = [*_figures(found, segments, told, remark)]
    if found.commands and stands[0].ground.way == "pair":
        figures.append(Figure("sites", cpu / found.commands * 1e6, "µs", False))
    return Outcome(tuple(figures))


def _figures(
    found: Found, segments: Segments, told: tuple[float, float, float] | None, remark: str
) -> Iterator[Figure]:
    operations, rate, latency = told or (None, None, None)
    yield Figure("operations", found.operations, "IOPS", published=operations, remark=remark)
    yield Figure("throughput", found.rate / 1e6, "MB/s", published=rate, remark=remark)
    yield Figure("latency", found.latency, "ms", False, latency, remark=remark)
    yield Figure("sent again", segments.percent, "%", False, goal=HEALTHY, remark=remark)


def _segments(arrays: Arrays) -> Segments:
    """Segments of both ends together."""
    total = Segments(0, 0)
    for end in ("east", "west") if arrays.wan else ("east",):
        with arrays.inside(end):
            total += Segments.here()
    return total


def missing() -> str:
    """Why nothing can be measured here, or nothing."""
    return lacking(Ground("1g", "direct")) or fio.lacking()


WORKLOADS = Suite(
    "workloads",
    "iSCSI workloads through a real initiator: in order and at random",
    1 / 450,
    trials,
    report,
    missing,
    (ArrayFailure, FioFailure),
)
