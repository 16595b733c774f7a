"""How fast a stream is whose bytes the far site knows already, over a line and without one."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from bench import load
from bench.datasets import Dataset
from bench.goals import Goal
from bench.overwan.bench import Bench
from bench.overwan.lines import Setting, untrue, widen
from bench.overwan.results import Figure
from bench.sites import Pair
from bench.wan import Line, Wan, line
from proxy.config.units import show_size

MB = 10**6
GIB = 1 << 30
SETTINGS = [Setting("1Gbit"), Setting(loss=1)]
REPEATS = 3
"""The best of them counts, with a line and without: what else the machine does costs more than the line."""
FILLING = "400Mbit"
"""Fast, but not too fast for an emulator in user space."""
LEAST = 200.0
"""MB/s."""


def warm(bench: Bench) -> Iterator[Figure]:
    """Stores in memory, filled without a line or over one without a delay; then the lines."""
    size = max(1 << 20, round(GIB * bench.scale) >> 20 << 20)
    file = bench.directory / "volume"
    with file.open("wb") as opened:
        opened.writelines(Dataset("warm", size))
    bare = _without_a_line(bench, file, size)
    yield Figure("none", f"{size >> 20} MiB", _values(bare), (), bare.identical)
    with line(Line.of(rate=FILLING), seed=1) as wan, ExitStack() as stack:
        for setting in SETTINGS:
            widen(wan, setting)
        with wan.inside("west"):
            address, sink = stack.enter_context(load.listening("sink", "--file", str(file)))
        pair = stack.enter_context(Pair({"array": address}, wan=wan, store_size=_store(size)))
        pair.wait_prepared()
        bench.tell("filling the stores over a fast line")
        identical = _send(wan, file, pair, sink).identical
        for setting in SETTINGS[: bench.lines]:
            wan.set(**setting.texts)
            runs = []
            for number in range(1, REPEATS + 1):
                bench.tell(f"{setting.text}: warm, {number} of {REPEATS}")
                runs.append(_send(wan, file, pair, sink))
            yield judged(setting, runs, bare, identical, untrue(wan, setting))
    file.unlink()


def judged(setting: Setting, runs: list[load.Run], bare: load.Run, identical: bool, excuse: str = "") -> Figure:
    """The line of the table. `bare`: without a line; `identical`: what filled the stores arrived."""
    best = min(runs, key=lambda run: run.seconds)
    allowed = bare.seconds + setting.round_trip / 1000
    goals = (
        Goal("warm", best.rate / MB, LEAST, True, "MB/s"),
        Goal("warm, like no line", best.seconds, allowed, False, "s"),
    )
    same = identical and all(run.identical for run in runs)
    return Figure(setting.text, f"{best.bytes >> 20} MiB", _values(best), goals, same, excuse)


def _values(run: load.Run) -> dict[str, float | None]:
    return {"MB/s": run.rate / MB, "seconds": run.seconds}


def _store(size: int) -> str:
    """Room for the volume."""
    return show_size(size * 5 // 4 + (64 << 20))


def _without_a_line(bench: Bench, file: Path, size: int) -> load.Run:
    with (
        load.listening("sink", "--file", str(file)) as (address, sink),
        Pair({"array": address}, store_size=_store(size)) as pair,
    ):
        pair.wait_prepared()
        runs = []
        for name in ("cold", *("warm" for _ in range(REPEATS))):
            bench.tell(f"without a line: {name}")
            runs.append(load.run(file, pair.forwards["array"], sink, load.Shape()))
    best = min(runs[1:], key=lambda run: run.seconds)
    return load.Run(best.bytes, best.seconds, all(run.identical for run in runs))


def _send(wan: Wan, file: Path, pair: Pair, sink: load.Process) -> load.Run:
    with wan.inside("east"):
        return load.run(file, pair.forwards["array"], sink, load.Shape())
