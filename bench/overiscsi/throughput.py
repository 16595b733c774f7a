"""How fast the pair is when it understands iSCSI, compared with the very same bytes as plain TCP.

One connection writes one volume of random bytes a run; stores are in memory. A cold run needs a volume that neither
store has seen, so each protocol gets a new one in each round, and the protocols take turns in being first. The medians
count: single runs differ by more than what is compared here, because of what else the machine does. The ratios of the
best runs, and of the least CPU seconds of both sites together, stand beside them and say little alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.load import LoadFailure, Run
from bench.overiscsi import ends
from bench.overiscsi.conversation import Conversation
from bench.overiscsi.stage import MIB, PROTOCOLS
from bench.sites import Pair, free_port
from proxy.config.units import show_size

MB = 10**6
ROUNDS = 9
PASSES = ("cold", "warm")
COURSE = ("cold", "warm", "warm")
"""Runs of a round with each protocol."""
LEAST_RATIO = 0.9
"""Goal: iSCSI's throughput divided by TCP's, with PDUs of 64 KiB."""
LEAST_RATE = 100.0
"""Goal: MB/s with PDUs of 8 KiB."""


@dataclass(frozen=True)
class Timed:
    """One run, and the CPU time that it took."""

    run: Run
    cpu: float
    """CPU seconds that both sites used."""


@dataclass(frozen=True)
class Shape:
    """What a line of the table measures."""

    name: str
    conversation: Conversation
    goal: Callable[[float, float], Goal] | None = None
    """Makes the goal of the ratio and iSCSI's rate in MB/s; None: no goal."""


SHAPES = (
    Shape(
        "64 KiB", Conversation(64 << 10), lambda ratio, rate: Goal("iscsi against tcp", ratio, LEAST_RATIO, True, "x")
    ),
    Shape("8 KiB", Conversation(8 << 10, 64 << 10), lambda ratio, rate: Goal("iscsi", rate, LEAST_RATE, True, "MB/s")),
    Shape("64 KiB, digests", Conversation(64 << 10, digest=True)),
)


def throughput(bench: Bench) -> Iterator[Figure]:
    """For each shape the cold and the warm runs."""
    size = bench.bytes(256 * MIB, 8 * MIB)
    for shape in SHAPES[: bench.lines]:
        yield from _shape(bench, shape, size)


def _shape(bench: Bench, shape: Shape, size: int) -> Iterator[Figure]:
    port = free_port()
    exports = dict.fromkeys(PROTOCOLS, ("127.0.0.1", port))
    settings = {protocol: f'protocol = "{protocol}"\n' for protocol in PROTOCOLS}
    costs: dict[tuple[str, str], list[Timed]] = {}
    with Pair(exports, store_size=show_size(2 * size + 64 * MIB), forward_settings=settings) as pair:
        pair.wait_prepared()
        for number in range(ROUNDS):
            for protocol in PROTOCOLS[:: -1 if number % 2 else 1]:
                bench.tell(f"PDUs of {shape.name}, {protocol}, {number + 1} of {ROUNDS}")
                content = b"".join(Dataset(f"{shape.name} {protocol} {number}", size))
                play = ends.write_down(shape.conversation, content, bench.directory / "conversation")
                with ends.target(play, port) as sink:
                    for name in COURSE:
                        before = pair.cpu_seconds()
                        run = ends.run(play, pair.forwards[protocol], sink)
                        costs.setdefault((protocol, name), []).append(Timed(run, pair.cpu_seconds() - before))
                play.remove()
        _see_understood(pair)
    for name in PASSES:
        yield judged(shape, name, *(costs[protocol, name] for protocol in PROTOCOLS))


def _see_understood(pair: Pair) -> None:
    """Make sure that iSCSI was understood: what falls back to plain bytes is fast, but not what is to be measured.

    Raises LoadFailure.
    """
    for site in pair.sites:
        status = site.status()
        if status["peers"][0]["fallbacks"] or not status["bytes"]["pdus"]:
            raise LoadFailure(f"{site.name} did not understand everything: {status['peers'][0]['fallbacks']}")


def judged(shape: Shape, name: str, tcp: list[Timed], iscsi: list[Timed]) -> Figure:
    """The table's line."""
    rates = [[cost.run.rate / MB for cost in costs] for costs in (tcp, iscsi)]
    plain, understood = map(median, rates)
    best, best_understood = map(max, rates)
    work, more_work = (min(cost.cpu for cost in costs) for costs in (tcp, iscsi))
    ratio = understood / plain
    values = {
        "tcp": plain,
        "iscsi": understood,
        "ratio": ratio,
        "best": best_understood / best,
        "CPU ratio": more_work / max(work, 0.01),
    }
    goals = (shape.goal(ratio, understood),) if shape.goal else ()
    return Figure(shape.name, name, values, goals, all(cost.run.identical for cost in (*tcp, *iscsi)))
