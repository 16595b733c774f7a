"""The four lines of the arrays' makers, whether they can be emulated here, and flows that last as long as they need."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache

from bench.datasets import Dataset
from bench.lines import MBIT, Setting, delivered, exhausted, far_sink, standing, untrue
from bench.machine import Cores, congestion_controls
from bench.replay.flow import Flow, send
from bench.replay.trial import Figure, Outcome, Stage
from bench.replicator import Sink
from bench.sites import Address, Pair
from bench.wan import Wan
from bench.wan.probe import tcp_rate

RATES = {"10g": "10Gbit", "1g": "1Gbit", "oc3": "155Mbit", "t3": "45Mbit"}
"""Rates by the line's name in cells."""
TITLES = {"10g": "10 Gb/s", "1g": "1 Gb/s", "oc3": "OC3 (155 Mb/s)", "t3": "T3 (45 Mb/s)"}
EMULATED = 1000 * MBIT
"""Bits a second, about the most that the emulator carries on any machine (`make bench-emulator`)."""
FAST = 500 * MBIT
"""Bits a second from which on a line is tried first, to see whether this machine carries it."""
ENOUGH = 0.95
"""Share of a line's goodput that plain TCP has to reach there."""
MOST = 1.02
"""How many times the line's goodput may arrive in the time that counts: a little more, since it is not measured
finely."""
PROBE_SETTLE, PROBE_SECONDS, PROBES = 1.5, 2.0, 3
"""The best of so many probes counts: a moment in which the machine stands still says nothing about the line."""
GB = 10**9
VOLUMES, VOLUME = 3, 10 * GB
"""The array's makers replicated three volumes of 10 GB at once."""
PATIENCE_SECONDS = 60.0
"""Seconds after which a line that is not quiet is taken as it is."""
CALM, FEW_BYTES = 3, 3000
"""A line is quiet after so many tenths of a second in a row with fewer bytes than that."""
STORE = "128MiB"
"""Size of the stores, which is small since nothing repeats."""
LONGEST = 900.0
"""Seconds at scale 1 after which a flow is given up: its rate is known long before."""


def array_control() -> str:
    """The congestion control that arrays are taken to have: CUBIC, or Reno if this kernel does not offer it."""
    return "cubic" if "cubic" in congestion_controls() else "reno"


def likely(line: str) -> bool:
    """Whether any machine carries a line of that name, or there is none: for guesses of how long trials take."""
    return line not in RATES or Setting(RATES[line]).bits <= EMULATED


@cache
def not_carried(rate: str, mtu: int = 1500) -> str:
    """Why a line of that rate cannot be measured on this machine, by what plain TCP gets of it now; or nothing."""
    setting = Setting(rate, 2, 0.0, mtu)
    if setting.bits < FAST:
        return ""
    control = "bbr" if "bbr" in congestion_controls() else array_control()
    found = 0.0
    with standing(setting) as wan:
        for _ in range(PROBES):
            found = max(found, tcp_rate(wan, control, PROBE_SETTLE, PROBE_SECONDS))
            if found >= ENOUGH * setting.goodput:
                return ""
    return (
        f"{setting.bits / GB:g} Gb/s at MTU {mtu} is not carried here: plain TCP gets {found / MBIT:,.0f} Mb/s of"
        f" {setting.goodput / MBIT:,.0f}"
    )


def settling(setting: Setting) -> float:
    """Seconds after its first byte that do not count of a flow that is given up: slow start. Ten round trips, and a
    little more."""
    return 0.6 + 10 * setting.round_trip / 1000


def longest(setting: Setting, scale: float) -> float:
    """Seconds from its first byte after which a flow is given up: once it has settled and run for as long again, or
    later."""
    return max(2 * settling(setting), LONGEST * scale)


def volumes(stage: Stage, setting: Setting, name: str) -> list[Dataset]:
    """Three incompressible volumes of 10 GB, scaled, but large enough to fill the line until they are given up."""
    least = setting.goodput / 8 * longest(setting, stage.scale) * 1.1 if stage.scale < 1 else 0.0
    size = max(VOLUME * stage.scale, min(VOLUME, least / VOLUMES))
    return [Dataset(f"{name}/{number}", max(1 << 20, round(size))) for number in range(VOLUMES)]


def steady(
    wan: Wan,
    setting: Setting,
    stage: Stage,
    name: str,
    to: Address,
    end: Sink,
    possible: float | None = None,
    control: str = "",
) -> Outcome:
    """The throughput of three volumes at once over the line, sent to an address that leads to the sink.

    `possible`: Mb/s at best; by default the line's goodput. `control`: as of `send`.
    """
    cores, contents = Cores(), volumes(stage, setting, name)
    flow = send(wan, contents, [to] * len(contents), [end], longest(setting, stage.scale), control)
    limit = possible if possible is not None else setting.goodput / MBIT
    rate = _rate(flow, setting) * 8 / MBIT
    busy = exhausted(cores.used()) if setting.bits >= FAST / 5 and rate < ENOUGH * limit else ""
    remark = "; ".join(filter(None, [untrue(wan, setting), busy, _early(rate, setting), flow.uncompared]))
    figure = Figure("throughput", rate, "Mb/s", limit=limit, remark=remark)
    whole = VOLUMES * VOLUME * 8 / (rate * MBIT) if rate else None
    elapsed = Figure("3 x 10 GB", whole, "s", False, remark=remark)
    settings = {"finished": flow.finished, "bytes": sum(each.size for each in contents)}
    return Outcome((figure, elapsed), flow.samples, settings, flow.complaint)


def directly(
    wan: Wan, setting: Setting, stage: Stage, cell: str, window: int = 0, possible: float | None = None
) -> Outcome:
    """As `steady`, from array to array. `window`: as of `Sink`; `possible`: as of `steady`. Leaves the line quiet."""
    stage.tell("directly")
    with far_sink(wan, wan.addresses["west"], window) as end:
        found = steady(wan, setting, stage, cell, end.address, end, possible, array_control())
    quiet(wan)
    return found


def through_a_pair(
    wan: Wan, setting: Setting, stage: Stage, windows: Mapping[str, int]
) -> Iterator[tuple[str, Outcome]]:
    """As `steady`, cell by cell through one pair. `windows`: by cell, the window of its far array, as of `Sink`. The
    line is quiet after each."""
    stage.tell("starting the pair")
    with ExitStack() as stack:
        ends = [stack.enter_context(far_sink(wan, window=window)) for window in windows.values()]
        exports = {f"array{number}": end.address for number, end in enumerate(ends)}
        pair = stack.enter_context(Pair(exports, wan=wan, store_size=STORE))
        pair.wait_prepared()
        for cell, end, entrance in zip(windows, ends, pair.forwards.values(), strict=True):
            stage.tell("through the pair")
            yield cell, steady(wan, setting, stage, cell, entrance, end)
            quiet(wan)


def _early(rate: float, setting: Setting) -> str:
    """Why a rate (Mb/s) is higher than the line carries, if it is."""
    held_up = "more than the line carries: some of it had crossed before that time, and was held up by lost packets"
    return held_up if rate * MBIT > MOST * setting.goodput else ""


def unmeasured(cells: Sequence[str], reason: str) -> Iterator[tuple[str, Outcome]]:
    """Outcomes without a value for the cells of a line that this machine does not carry."""
    for cell in cells:
        yield cell, Outcome((Figure("throughput", None, "Mb/s", remark=reason),))


def quiet(wan: Wan) -> None:
    """Wait until a flow that was given up has left the line: less than a packet a tenth of a second, three times."""
    calm, before, deadline = 0, delivered(wan), time.monotonic() + PATIENCE_SECONDS
    while calm < CALM and time.monotonic() < deadline:
        time.sleep(0.1)
        now = delivered(wan)
        calm = calm + 1 if now - before < FEW_BYTES else 0
        before = now


def _rate(flow: Flow, setting: Setting) -> float:
    """Bytes a second: of the whole flow if it was finished, otherwise from when it had settled."""
    course = flow.arrived
    if flow.given_up is None:
        return course.rate(course.began, course.ended)
    return course.rate(course.began + settling(setting), flow.given_up)
