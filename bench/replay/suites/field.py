"""The field test of reference section 1: three volumes over 45 Mb/s, 100 ms round trip and 1 % loss, TLS on.

Each volume is sent three times through a pair whose stores are empty at first: alone, and all three at once; with the
store in memory and on disk. Throughput is reckoned as in the published table: a volume's size divided by the time from
its first byte to the far end's receipt for all of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache, partial
from typing import Any

from bench.compressed import compressed
from bench.datasets import FIELD_KINDS, Dataset
from bench.lines import MBIT, far_sink, standing, untrue
from bench.machine import lacking_memory
from bench.replay.flow import send
from bench.replay.suite import Suite
from bench.replay.suites.field_pass import GIB, MIB, SETTING, Case, Pass
from bench.replay.suites.field_report import PASSES, STORES, report
from bench.replay.trial import Lacking, Options, Outcome, Stage, Trial, see_room
from bench.sites import Pair
from bench.wan.namespaces import lacking
from proxy.config.units import show_size

SIZES = {"f5vol2": 2.30, "f5vol3": 2.18, "f5vol4": 2.18}
"""GiB; with these sizes the published times give the published throughputs."""
ROOM = 1.25
"""Size of a store, as a multiple of the volumes' sizes."""
LEFT_OVER = {"f5vol2": 0.45, "f5vol3": 1.0, "f5vol4": 0.03}
"""About what part of a volume crosses the line in the first pass, to guess how long that takes."""


def trials(options: Options) -> list[Trial]:
    """All trials, at the options' scale."""
    cases = [Case(f"singly/{volume}/{store}", (volume,), store) for volume in SIZES for store in STORES]
    cases += [Case(f"together/{store}", tuple(SIZES), store) for store in STORES]
    return [Trial(case.cells, partial(measure, case), _seconds(case, options.scale), _settings(case)) for case in cases]


def volume(name: str, scale: float) -> Dataset:
    """A volume of the field test, scaled, in whole MiB."""
    return Dataset(name, max(1, round(SIZES[name] * scale * GIB / MIB)) * MIB, *FIELD_KINDS[name])


def stated(name: str) -> dict[str, int]:
    """What a volume of the field test is said to be, for settings."""
    return dict(zip(("compressibility", "duplicates"), FIELD_KINDS[name], strict=True))


@cache
def least(contents: Dataset) -> int:
    """Bytes that `zstd -12 --long` leaves of it."""
    return compressed(contents)


def measure(case: Case, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Measure three passes through a pair of their own, on a line of their own."""
    volumes = [volume(name, stage.scale) for name in case.volumes]
    room = round(sum(each.size for each in volumes) * ROOM) + 64 * MIB
    if case.store == "disk":
        see_room(2 * room)
    elif reason := lacking_memory(2 * room):
        raise Lacking(f"{reason}; use a smaller --scale")
    stage.tell("zstd -12 --long")
    best = [least(each) for each in volumes]
    with standing(SETTING) as wan, ExitStack() as stack:
        ends = [stack.enter_context(far_sink(wan)) for _ in volumes]
        exports = {each.kind: end.address for each, end in zip(volumes, ends, strict=True)}
        stage.tell("starting the pair")
        pair = stack.enter_context(Pair(exports, wan=wan, store=case.store, store_size=show_size(room)))
        pair.wait_prepared()
        for number in PASSES:
            stage.tell(f"pass {number} of {len(PASSES)}")
            flow = send(wan, volumes, [pair.forwards[each.kind] for each in volumes], ends)
            whole = stage.scale == 1
            yield from Pass(case, number, volumes, best, flow, untrue(wan, SETTING), whole).outcomes()


def _settings(case: Case) -> dict[str, Any]:
    line = {"rate": SETTING.rate, "round_trip_ms": SETTING.round_trip, "loss_percent": SETTING.loss, "mtu": 1500}
    kinds = {name: {"GiB": SIZES[name], **stated(name)} for name in case.volumes}
    return {"line": line, "volumes": kinds, "store": case.store, "tls": True}


def _seconds(case: Case, scale: float) -> float:
    sizes = [SIZES[name] * scale * GIB for name in case.volumes]
    cold = sum(size * LEFT_OVER[name] for size, name in zip(sizes, case.volumes, strict=True)) * 8 / (40 * MBIT)
    return 6.0 + cold + 2 * sum(sizes) / (60 << 20)


FIELD = Suite(
    "field",
    "The field test: three volumes over 45 Mb/s, 100 ms and 1 % loss",
    1 / 20,
    trials,
    report,
    lacking,
)
