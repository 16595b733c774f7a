"""The field test of reference section 1: three volumes over 45 Mb/s, 100 ms round trip and 1 % loss, TLS on.

Each volume is sent three times through a pair whose stores are empty at first: alone, and all three at once; with the
store in memory and on disk. Its throughput is what the published table has: its size by the time from its first byte
to the far end's receipt for all of it.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from bench.datasets import Dataset
from bench.overwan.compressible import compressed
from bench.overwan.lines import MBIT, Setting, standing, untrue
from bench.replay.flow import Flow, send, sinks
from bench.replay.suite import Figure, Lacking, Options, Outcome, Stage, Suite, Trial
from bench.replay.suites import field_published as published
from bench.replay.suites.field_report import COLD_GOAL, WARM_GOAL, report
from bench.sites import Pair
from bench.wan.wan import lacking
from proxy.config.units import show_size

SETTING = Setting("45Mbit", 100, 1.0)
GIB, MIB = 1 << 30, 1 << 20
SIZES = {"f5vol2": 2.30, "f5vol3": 2.18, "f5vol4": 2.18}
"""GiB; with these the published throughputs come out of the published times."""
KINDS = {"f5vol2": (38, 10), "f5vol3": (1, 0), "f5vol4": (99, 100)}
"""Compressibility and duplicates, in percent."""
STORES = ("memory", "disk")
PASSES = (1, 2, 3)
ROOM = 1.25
"""Of the volumes' sizes, for a store."""
LEFT_OVER = {"f5vol2": 0.45, "f5vol3": 1.0, "f5vol4": 0.03}
"""About what crosses the line at first, for the guess how long it takes."""


@dataclass(frozen=True)
class Case:
    """Volumes that are sent at once."""

    place: str
    """The beginning of its cells' names: singly/f5vol2/disk, together/disk."""
    volumes: tuple[str, ...]
    store: str

    @property
    def together(self) -> bool:
        """Then the names of its cells have the volume, and there is a total."""
        return len(self.volumes) > 1

    @property
    def cells(self) -> tuple[str, ...]:
        """A pass after the other."""
        if not self.together:
            return tuple(f"{self.place}/{number}" for number in PASSES)
        return tuple(f"{self.place}/{what}/{number}" for number in PASSES for what in (*self.volumes, published.TOTAL))


def trials(options: Options) -> list[Trial]:
    """At that scale."""
    cases = [Case(f"singly/{volume}/{store}", (volume,), store) for volume in SIZES for store in STORES]
    cases += [Case(f"together/{store}", tuple(SIZES), store) for store in STORES]
    return [Trial(case.cells, partial(measure, case), _seconds(case, options.scale), _settings(case)) for case in cases]


def volume(name: str, scale: float) -> Dataset:
    """In whole MiB."""
    return Dataset(name, max(1, round(SIZES[name] * scale * GIB / MIB)) * MIB, *KINDS[name])


@cache
def least(contents: Dataset) -> int:
    """Bytes that `zstd -12 --long` leaves of it."""
    return compressed(contents)


def measure(case: Case, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Three passes through a pair of its own, on a line of its own."""
    volumes = [volume(name, stage.scale) for name in case.volumes]
    room = round(sum(each.size for each in volumes) * ROOM) + 64 * MIB
    _see_room(case.store, 2 * room, stage.directory)
    stage.tell("zstd -12 --long")
    best = [least(each) for each in volumes]
    with standing(SETTING) as wan, ExitStack() as stack:
        ends = stack.enter_context(sinks(wan, len(volumes)))
        exports = {each.kind: end.address for each, end in zip(volumes, ends, strict=True)}
        stage.tell("starting the pair")
        pair = Pair(exports, wan=wan, store=case.store, store_size=show_size(room), directory=stage.directory / "pair")
        stack.enter_context(pair)
        pair.wait_prepared()
        for number in PASSES:
            stage.tell(f"pass {number} of {len(PASSES)}")
            flow = send(wan, volumes, [pair.forwards[each.kind] for each in volumes], ends)
            yield from outcomes(case, number, volumes, best, flow, untrue(wan, SETTING), stage.scale == 1)


def outcomes(
    case: Case, number: int, volumes: Sequence[Dataset], best: Sequence[int], flow: Flow, remark: str, whole: bool
) -> Iterator[tuple[str, Outcome]]:
    """Of a pass: a cell for each volume and, if there are several, one for their sum."""
    limits = [8 * each / SETTING.goodput for each in best] if number == 1 else []
    for index, (contents, transfer) in enumerate(zip(volumes, flow.transfers, strict=True)):
        assert transfer is not None  # nothing was given up
        place = f"{case.place}/{contents.kind}" if case.together else case.place
        limit = shared(limits)[index] if limits else None
        figures = _figures(case, contents.kind, number, contents.size / MIB, transfer.seconds, limit, remark, whole)
        own = () if case.together else _of_line(flow, contents.size, remark)
        yield (
            f"{place}/{number}",
            Outcome((*figures, *own), {} if case.together else flow.samples, {}, transfer.complaint),
        )
    if case.together:
        size = sum(each.size for each in volumes)
        seconds = max(transfer.seconds for transfer in flow.transfers if transfer)
        total = size / GIB * 1000  # as published: 6.66 GB are 6,660 MB here
        figures = _figures(case, published.TOTAL, number, total, seconds, sum(limits) or None, remark, whole)
        found = Outcome((*figures, *_of_line(flow, size, remark)), flow.samples, {}, flow.complaint)
        yield f"{case.place}/{published.TOTAL}/{number}", found


def shared(alone: Sequence[float]) -> list[float]:
    """When each is done if all begin at once and those that still run share the line evenly; `alone`: its own time."""
    order = sorted(range(len(alone)), key=lambda index: alone[index])
    found, now, before = [0.0] * len(alone), 0.0, 0.0
    for place, index in enumerate(order):
        now += (alone[index] - before) * (len(alone) - place)
        before = alone[index]
        found[index] = now
    return found


def _figures(
    case: Case, name: str, number: int, size: float, seconds: float, limit: float | None, remark: str, whole: bool
) -> tuple[Figure, ...]:
    """Throughput in MB/min as published, and seconds. `whole`: the real sizes, which alone have goals."""
    told = published.throughput("together" if case.together else "singly", name, case.store, number)
    goal = told * _times_published(name, number) if told and whole else None
    possible = 60 * size / limit if limit else None
    rate = 60 * size / seconds
    return (
        Figure("throughput", rate, "MB/min", True, told, possible, goal, remark),
        Figure("elapsed", seconds, "s", False, limit=limit, remark=remark),
    )


def _times_published(name: str, number: int) -> float:
    """How many times as fast as published it should be."""
    if name == published.TOTAL or (name == "f5vol4" and number == 1):
        return 1.0
    return COLD_GOAL if number == 1 else WARM_GOAL


def _of_line(flow: Flow, size: float, remark: str) -> tuple[Figure, ...]:
    """What crossed the line, and how full that was; the whole time counts, to the receipt."""
    samples = flow.line.samples
    crossed = samples[-1].so_far - samples[0].so_far
    seconds = max(transfer.seconds for transfer in flow.transfers if transfer)
    return (
        Figure("on the line", 100 * crossed / size, "%", False, remark=remark),
        Figure("line in use", 100 * 8 * crossed / seconds / SETTING.bits, "%", remark=remark),
    )


def _settings(case: Case) -> dict[str, Any]:
    line = {"rate": SETTING.rate, "round_trip_ms": SETTING.round_trip, "loss_percent": SETTING.loss, "mtu": 1500}
    kinds = {
        name: {"GiB": SIZES[name], "compressibility": KINDS[name][0], "duplicates": KINDS[name][1]}
        for name in case.volumes
    }
    return {"line": line, "volumes": kinds, "store": case.store, "tls": True}


def _seconds(case: Case, scale: float) -> float:
    sizes = [SIZES[name] * scale * GIB for name in case.volumes]
    cold = sum(size * LEFT_OVER[name] for size, name in zip(sizes, case.volumes, strict=True)) * 8 / (40 * MBIT)
    return 6.0 + cold + 2 * sum(sizes) / (60 << 20)


def _see_room(store: str, wanted: int, directory: Path) -> None:
    """Raises Lacking."""
    if store == "disk":
        free, what = shutil.disk_usage(directory).free, f"the disk of {directory.parent} (see TMPDIR)"
    else:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free, what = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), "memory"
    if free < wanted:
        raise Lacking(f"{wanted / GIB:.1f} GiB of {what} are needed, {free / GIB:.1f} are free; use a smaller --scale")


FIELD = Suite(
    "field",
    "The field test: three volumes over 45 Mb/s, 100 ms and 1 % loss",
    1 / 16,
    trials,
    report,
    lacking,
)
