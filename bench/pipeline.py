"""`make bench-pipeline`: speed, reduction, latency and memory of a pair on this machine, beside what is possible.

Real sites with TLS and verification on, real sockets, ends that are faster than the pair. In the same run: these ends
with nothing between, a plain TLS relay pair without reduction (`baseline`) and the sum of the kernels (`kernels`), the
last two given as ratios. The exit status is 1 if a byte differs; missed goals are shown, not punished, since they
depend on the machine.
"""

import argparse
import os
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from bench import kernels, load
from bench.baseline import plain_pair
from bench.datasets import Dataset
from bench.ending import program
from bench.machine import lacking_disk, machine_facts, warn_if_busy
from bench.pipeline_results import MANY, STORES, Measurement, Results, show
from bench.processes import Process
from bench.programs import MIB, file_to_write, measured, size_of, tell, told, whole
from bench.replicator import Sink, replicate
from bench.sites import Address, Pair, SiteFailure, keygen, room_for
from proxy.config.units import show_size
from proxy.errors import ExitCode

KERNEL_SAMPLE = 64 * MIB
QUESTIONS = 2000
SLOW_EVERY = 64 * MIB
SLOW_PAUSE = 1.0
"""The slow far array stops reading for so many seconds after each so many bytes."""
KINDS = {"random": 0.0, "38 %": 38.0}
"""Data by compressibility."""


ONE_AFTER_ANOTHER = {
    "cold": load.Shape(),
    "warm": load.Shape(),
    "warm, cut otherwise": load.Shape(varied=True),  # other writes, with pauses between
    "warm, a byte first": load.Shape(inserted=1),
}


class Pipeline:
    """One run; what it measures goes into `results`."""

    def __init__(self, size: int, memory_size: int, rounds: int) -> None:
        """`size`: bytes of a transfer; `memory_size`: those of the test of resident memory with a disk store.

        `rounds`: how often one connection and many are compared, in turns, so that both meet a full store and whatever
        else the machine does. Latency is measured as often.
        """
        self.results = Results(machine_facts(), size)
        self._size = size
        self._memory_size = memory_size
        self._rounds = rounds
        self._files: dict[str, Path] = {}

    def run(self, directory: Path) -> None:
        """Everything, one after another: nothing else competes for the cores. `directory` is for temporary files."""
        self._directory = directory
        self._prepare()
        self._measure_kernels()
        self._measure_baseline()
        for store in STORES:
            self._measure_store(store)
        self._measure_latency()
        self._measure_slow_array()

    def _prepare(self) -> None:
        """Make keys and files. On a full disk, stores would learn nothing and transfers go on, so there has to be room
        for the files, and for the two stores of one pair."""
        stores = 2 * max(room_for(self._size), self._memory_size)
        if lacking := lacking_disk((len(KINDS) + 1) * self._size + stores):
            raise SiteFailure(f"{lacking}; or give a smaller --size and --memory-size")
        tell(f"generating {len(KINDS)} files of {self._size // MIB} MiB")
        for site in ("east", "west"):
            keygen(site, self._directory)
        for number, kind in enumerate((*KINDS, "many")):
            self._files[kind] = self._directory / f"volume{number}"
            self._files[kind].touch()
            os.truncate(self._files[kind], self._size)
        for kind, compressibility in KINDS.items():  # the file of "many" gets new data in each round
            Dataset(kind, self._size, compressibility).fill(self._files[kind])

    def _measure_kernels(self) -> None:
        for kind, compressibility in KINDS.items():
            tell(f"kernels, one core, {kind}")
            sample = b"".join(Dataset("sample", min(KERNEL_SAMPLE, self._size), compressibility))
            found = kernels.measure(sample, self._directory)
            self.results.kernels[kind] = {name: 1 / seconds for name, seconds in found.items()}
            for name in kernels.WORK:
                for store in STORES:
                    limit = kernels.limit(found, name, store)
                    self.results.limits[f"{kind}, {name}, {store}"] = {**asdict(limit), "rate": limit.rate}

    def _measure_baseline(self) -> None:
        file = self._files["random"]
        with (
            load.sinking(file) as (address, sink),
            plain_pair(self._directory, address) as via,
        ):
            for connections in (1, MANY):
                tell(f"plain TLS relay pair, {connections} connections")
                shape = load.Shape(connections)
                self.results.direct[str(connections)] = max(load.run(file, address, sink, shape).rate for _ in range(2))
                self.results.baseline[str(connections)] = max(load.run(file, via, sink, shape).rate for _ in range(2))

    def _measure_store(self, store: str) -> None:
        """Each kind cold, then warm. The store is larger than one volume, and full before the end."""
        with ExitStack() as stack:
            sinks = {kind: stack.enter_context(load.sinking(file)) for kind, file in self._files.items()}
            exports = {name_of(kind): address for kind, (address, _) in sinks.items()}
            store_size = room_for(self._size)
            pair = stack.enter_context(Pair(exports, store=store, store_size=show_size(store_size)))
            pair.wait_prepared()
            runs = [("random", *each) for each in ONE_AFTER_ANOTHER.items()]
            runs += [("38 %", name, load.Shape()) for name in ("cold", "warm")]
            for kind, name, shape in runs:
                self.results.transfers.append(self._transfer(pair, kind, sinks[kind][1], name, shape))
            self._measure_many(pair, sinks["many"][1])
            self._note_peaks(pair, store_size)

    def _measure_many(self, pair: Pair, sink: Process) -> None:
        """One connection and many, in turns, each with data of its own. Of the rounds with many the median is shown."""
        found: dict[tuple[str, int], list[Measurement]] = defaultdict(list)
        for number in range(self._rounds):
            turns = (1, MANY) if number % 2 == 0 else (MANY, 1)
            for connections in turns:
                Dataset(f"many {number} {connections}", self._size).fill(self._files["many"])
                for name in ("cold", "warm"):
                    transfer = self._transfer(pair, "many", sink, name, load.Shape(connections))
                    found[name, connections].append(transfer)
        for name in ("cold", "warm"):
            many = found[name, MANY]
            pairs = zip(many, found[name, 1], strict=True)
            self.results.many[f"{pair.store}, {name}"] = [each.rate / one.rate for each, one in pairs]
            shown = middle(many)
            same = all(each.identical for each in (*many, *found[name, 1]))
            self.results.transfers.append(replace(shown, identical=same))

    def _transfer(self, pair: Pair, kind: str, sink: Process, name: str, shape: load.Shape) -> Measurement:
        tell(f"{pair.store} store, {kind}, {shape.connections} connections, {name}")
        before = pair.east.status()["bytes"]["wire"]
        run = load.run(self._files[kind], pair.forwards[name_of(kind)], sink, shape)
        wire = pair.east.status()["bytes"]["wire"] - before
        data = "random" if kind == "many" else kind
        limit = self.results.limits.get(f"{data}, {name}, {pair.store}")
        return Measurement(
            pair.store,
            data,
            name,
            shape.connections,
            run.rate,
            100 * wire / run.bytes,
            run.rate / self.results.baseline[str(shape.connections)],
            run.rate / limit["rate"] if limit else None,
            run.identical,
        )

    def _note_peaks(self, pair: Pair, store_size: int, case: str = "full store", same: bool = True) -> None:
        peaks = {site.name: site.peak_memory() for site in pair.sites}
        self.results.memory.append(
            {"case": case, "store": pair.store, "store_size": store_size, "peaks": peaks, "identical": same}
        )

    def _measure_latency(self) -> None:
        """Latency, in rounds as well, each with a new pair, to which all questions are new."""
        for number in range(self._rounds):
            tell(f"latency of questions and answers, {number + 1} of {self._rounds}")
            with load.echoing() as (address, _):
                self._ask("direct", address)
                with plain_pair(self._directory, address) as via:
                    self._ask("plain TLS relay pair", via)
                with Pair({"echo": address}, store_size="64MiB") as pair:  # for 16 MiB of words
                    pair.wait_prepared()
                    self._ask("pair", pair.forwards["echo"])

    def _ask(self, way: str, to: Address) -> None:
        self.results.latency.setdefault(way, []).append(load.latency(to, QUESTIONS))

    def _measure_slow_array(self) -> None:
        """Resident memory with a disk store, cold and warm, while the far array keeps stopping."""
        store_size = room_for(self._memory_size)
        volume = Dataset("slow", self._memory_size, 38, 10)
        with (
            Sink(pause_every=SLOW_EVERY, pause_seconds=SLOW_PAUSE) as sink,
            Pair({"array": sink.address}, store="disk", store_size=show_size(store_size)) as pair,
        ):
            for name in ("cold", "warm"):
                tell(f"resident memory, disk store, {self._memory_size // MIB} MiB to a slow array, {name}")
                transfer = replicate(volume.writes(MIB), pair.forwards["array"])
                self._note_peaks(pair, store_size, f"slow array, {name}", transfer.verified)


def middle(transfers: list[Measurement]) -> Measurement:
    """The one with the median rate; of an even number, the slower of the two in the middle."""
    return sorted(transfers, key=lambda each: each.rate)[(len(transfers) - 1) // 2]


def name_of(kind: str) -> str:
    """The kind as the name of an export."""
    return kind.replace(" %", "-percent")


def main() -> ExitCode:
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=size_of, default="1GiB", help="of each transfer (default 1GiB)")
    parser.add_argument("--memory-size", type=size_of, default="4GiB", help="through the slow array (default 4GiB)")
    parser.add_argument(
        "--rounds", type=whole, default=3, help="comparisons of one connection and many, and of latency (default 3)"
    )
    parser.add_argument("--json", type=file_to_write, help="also write the figures to this file")
    options = parser.parse_args()
    warn_if_busy()
    pipeline = Pipeline(options.size, options.memory_size, options.rounds)
    return measured("bench-pipeline", pipeline.run, partial(conclude, pipeline.results, options.json))


def conclude(results: Results, file: Path | None, failure: str) -> bool:
    """Write and show what was measured, if anything; whether all is right."""
    if not results.kernels:
        return False
    results.failure = failure
    return told(asdict(results), file, partial(show, results)) and results.identical


if __name__ == "__main__":
    program(main)
