"""The figures of `bench.pipeline`: what is kept of a run, how it is judged, and the tables that show it."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.goals import Goal, goal_table
from bench.machine import machine_text
from bench.tables import plain_table

MB = 10**6
MIB = 1 << 20
MANY = 32
"""How many connections at once are compared with one."""
STORES = ("memory", "disk")


@dataclass(frozen=True)
class Measurement:
    """One transfer through the pair."""

    store: str
    data: str
    name: str
    """The pass: cold, warm, or warm and in what way it differs from the cold one."""
    connections: int
    rate: float
    """Plain bytes a second."""
    wire_percent: float
    """Bytes that the near site sent, in percent of plain bytes."""
    of_baseline: float
    """Ratio to the plain TLS relay pair."""
    of_limit: float | None
    """Ratio to the sum of the kernels, where it applies."""
    identical: bool


@dataclass
class Results:
    """Everything that JSON=FILE writes. Rates are bytes a second, times seconds."""

    machine: dict[str, Any]
    size: int
    direct: dict[str, float] = field(default_factory=dict)
    """Rate with nothing between the ends, by number of connections: what these ends can do."""
    baseline: dict[str, float] = field(default_factory=dict)
    """Rate through the plain TLS relay pair, by number of connections."""
    kernels: dict[str, dict[str, float]] = field(default_factory=dict)
    """Rate of one core by data and kernel."""
    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    """What the kernels allow, by data, pass and store."""
    transfers: list[Measurement] = field(default_factory=list)
    many: dict[str, list[float]] = field(default_factory=dict)
    """By store and pass: rates of many connections, each divided by that of one in the same round."""
    latency: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    """Median and 99th percentile of a question and its answer, by way, round by round."""
    memory: list[dict[str, Any]] = field(default_factory=list)
    """Peaks of resident memory."""
    failure: str = ""
    """Why it was not measured to the end."""

    @property
    def identical(self) -> bool:
        """Every byte of every transfer arrived."""
        return all(each.identical for each in self.transfers) and all(each["identical"] for each in self.memory)


RATES = {
    # store, data, pass: MB/s that one connection must reach
    ("memory", "random", "cold"): 220,
    ("memory", "random", "warm"): 440,
    ("memory", "38 %", "cold"): 150,
    ("disk", "random", "cold"): 150,
    ("disk", "random", "warm"): 330,
    ("disk", "38 %", "cold"): 150,
}
WIRE = {"warm": 0.6, "warm, a byte first": 0.6, "warm, cut otherwise": 1.5}
"""Pass: bytes on the wire in percent of plain bytes, at most."""
LATENCY_MS = 0.5
DISK_STORE_MIB = 400


def goals(results: Results) -> Iterator[Goal]:
    """Every bound that the run can be held against."""
    one = [each for each in results.transfers if each.connections == 1]
    for each in one:
        label = f"{each.store}, {each.data}, {each.name}"
        bound = RATES.get((each.store, each.data, each.name))
        if bound:
            yield Goal(label, each.rate / MB, bound, True, "MB/s")
        if each.name in WIRE:
            yield Goal(f"{label}: wire", each.wire_percent, WIRE[each.name], False, "%")
    yield from _many_against_one(results)
    if "pair" in results.latency:
        yield Goal("latency added to 4 KiB, median", 1000 * added_latency(results, "pair"), LATENCY_MS, False, "ms")
    for kept in results.memory:
        for site, peak in kept["peaks"].items():
            disk = kept["store"] == "disk"
            bound = DISK_STORE_MIB if disk else 1.25 * kept["store_size"] / MIB + 200
            yield Goal(f"resident, {site}, {kept['store']}, {kept['case']}", peak / MIB, bound, False, "MiB")


def _many_against_one(results: Results) -> Iterator[Goal]:
    for name, ratios in results.many.items():
        yield Goal(f"{name}: {MANY} connections against one", statistics.median(ratios), 1.0, True, "x")


def added_latency(results: Results, way: str) -> float:
    """Seconds that a way adds to the direct one: the median over the rounds."""
    # In an interrupted run, the last round may lack a way.
    rounds = zip(results.latency[way], results.latency["direct"], strict=False)
    return statistics.median(found["median"] - direct["median"] for found, direct in rounds)


def show(results: Results, console: Console) -> None:
    """Print all tables."""
    console.print(f"{machine_text(results.machine)}\n{results.size // MIB} MiB a transfer", highlight=False)
    for table in (kernel_table(results), transfer_table(results), latency_table(results), goal_table(goals(results))):
        console.print(table, "")
    if not results.identical:
        console.print("Bytes differ: see the column 'same'.", style="bold red")


def kernel_table(results: Results) -> Table:
    """Kernels by data, and the limits that follow."""
    table = plain_table("One core, MB/s", "kernel", *results.kernels, figures=tuple(results.kernels))
    names = next(iter(results.kernels.values()), {})
    for name in names:
        table.add_row(name, *(_rate(found[name]) for found in results.kernels.values()))
    table.add_section()
    for name in ("cold, memory", "cold, disk", "warm, memory", "warm, disk"):
        limits = (results.limits[f"{kind}, {name}"]["rate"] for kind in results.kernels)
        table.add_row(f"limit, {name} store", *map(_rate, limits))
    return table


def transfer_table(results: Results) -> Table:
    """The transfers and their ratios: to the plain TLS relay pair, and to the limit that the kernels set."""
    rates = ("MB/s", "x TLS", "x limit", "wire, %")
    table = plain_table("Through the pair", "store", "data", "conns", "pass", *rates, "same", figures=("conns", *rates))
    for connections, rate in results.baseline.items():
        direct = results.direct[connections]
        table.add_row("none", "any", connections, "nothing between", _rate(direct), f"{direct / rate:.2f}", "", "", "")
        table.add_row("none", "any", connections, "plain TLS relay", _rate(rate), "1.00", "", "", "")
    table.add_section()
    for each in results.transfers:
        table.add_row(
            each.store,
            each.data,
            str(each.connections),
            each.name,
            _rate(each.rate),
            f"{each.of_baseline:.2f}",
            "" if each.of_limit is None else f"{each.of_limit:.2f}",
            f"{each.wire_percent:.2f}",
            "yes" if each.identical else "NO",
        )
    return table


def latency_table(results: Results) -> Table:
    """Questions and answers of 4 KiB, the medians of all rounds."""
    times = ("median", "99 %", "added, median")
    table = plain_table("4 KiB asked, 4 KiB answered, ms", "way", *times, figures=times)
    for way, rounds in results.latency.items():
        middle = {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}
        added = f"{1000 * added_latency(results, way):.3f}" if way != "direct" else ""
        table.add_row(way, f"{1000 * middle['median']:.3f}", f"{1000 * middle['percentile_99']:.3f}", added)
    return table


def _rate(rate: float) -> str:
    return f"{rate / MB:,.0f}"
