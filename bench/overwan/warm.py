"""How fast a stream is whose bytes the far site knows already: in turns over a line and without one.

Then, likewise in turns, over the same line without its delay: this shows what the emulator costs, which takes CPU time
from the sites.
"""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from bench import load
from bench.case_results import Figure
from bench.cases import Bench
from bench.datasets import Dataset
from bench.goals import Goal
from bench.lines import Setting, untrue, widen
from bench.processes import Process
from bench.sites import Pair, room_for
from bench.wan import Line, Wan, line
from proxy.config.units import show_size

MB = 10**6
GIB = 1 << 30
SETTINGS = [Setting("1Gbit"), Setting(loss=1)]
ROUNDS = 7
"""In each round once over the line and once without, so that whatever else the machine does concerns both."""
FILLING = {"rate": "400Mbit", "delay": "0ms", "queue": "8MiB"}
"""The line while stores are filled: fast, but not too fast for an emulator in user space, and with a queue so long that
it loses no more than the line's own losses. For two minutes after losses a tunnel sends short frames by several lanes,
which takes packets (`proxy/net/loss.py`)."""
LEAST = 200.0
"""MB/s."""

Rounds = list[tuple[load.Run, load.Run]]
"""Of each round the run without a line, and the one over it."""


def warm(bench: Bench) -> Iterator[Figure]:
    """Stores in memory, filled without a line and over one without a delay; then the line."""
    size = bench.bytes(GIB)
    file = bench.directory / "volume"
    Dataset("warm", size).fill(file)
    for setting in SETTINGS[: bench.lines]:
        yield _warm(bench, setting, file, size)
    file.unlink()


def _warm(bench: Bench, setting: Setting, file: Path, size: int) -> Figure:
    with line(Line().changed(**(setting.texts | FILLING)), seed=1) as wan:
        widen(wan, setting)
        with _without_a_line(file, size) as near, _over(wan, file, size) as far:
            bench.tell(f"{setting.text}: filling the stores, without a line and over a fast one")
            identical = all([near.send().identical, far.send().identical])
            wan.set(**(setting.texts | {"delay": "0ms"}))
            without_delay = _in_turns(bench, f"{setting.text}, without its delay", near, far)
            wan.set(**setting.texts, queue="0B")  # by rate and delay
            used = emulating(wan)
            rounds = _in_turns(bench, setting.text, near, far)
            emulator = (emulating(wan) - used) / ROUNDS
            return judged(setting, rounds, without_delay, identical, emulator, untrue(wan, setting))


def _in_turns(bench: Bench, line: str, near: "_Way", far: "_Way") -> Rounds:
    rounds = []
    for number in range(1, ROUNDS + 1):
        bench.tell(f"{line}: warm, without a line and over it, {number} of {ROUNDS}")
        rounds.append((near.send(), far.send()))
    return rounds


def emulating(wan: Wan) -> float:
    """CPU seconds that the emulator has used so far: over a real line the sites would have had them."""
    return float(sum(way.get("cpu_seconds", 0.0) for way in wan.stats().values()))


def judged(
    setting: Setting, rounds: Rounds, without_delay: Rounds, identical: bool, emulator: float = 0.0, excuse: str = ""
) -> Figure:
    """The line of the table, in medians. `identical`: whether what filled the stores arrived as it was sent.

    `emulator`: CPU seconds that the emulator takes for a round.
    """
    bare = statistics.median(one.seconds for one, _ in rounds)
    seconds = statistics.median(other.seconds for _, other in rounds)
    more, emulated = _more(rounds), _more(without_delay)
    size = rounds[0][1].bytes
    goals = (
        Goal("warm", size / seconds / MB, LEAST, True, "MB/s"),
        Goal("warm, like no line", more, setting.round_trip / 1000, False, "s"),
        Goal("warm, by the delay", more - emulated, setting.round_trip / 1000, False, "s"),
    )
    values = {
        "MB/s": size / seconds / MB,
        "took": seconds,
        "no line": bare,
        "more": more,
        "0 ms": emulated,
        "emulator": emulator,
    }
    same = identical and all(run.identical for both in (*rounds, *without_delay) for run in both)
    return Figure(setting.text, f"{size >> 20} MiB", values, goals, same, excuse)


def _more(rounds: Rounds) -> float:
    """Seconds that it takes longer over the line: the median."""
    return statistics.median(other.seconds - one.seconds for one, other in rounds)


class _Way:
    """A pair, and a sink behind it."""

    def __init__(self, file: Path, pair: Pair, sink: Process, wan: Wan | None = None) -> None:
        self._file, self._pair, self._sink, self._wan = file, pair, sink, wan

    def send(self) -> load.Run:
        """Send the file once."""
        with self._wan.inside("east") if self._wan else nullcontext():
            return load.run(self._file, self._pair.forwards["array"], self._sink, load.Shape())


@contextmanager
def _without_a_line(file: Path, size: int) -> Iterator[_Way]:
    with (
        load.sinking(file) as (address, sink),
        Pair({"array": address}, store_size=show_size(room_for(size))) as pair,
    ):
        pair.wait_prepared()
        yield _Way(file, pair, sink)


@contextmanager
def _over(wan: Wan, file: Path, size: int) -> Iterator[_Way]:
    with ExitStack() as stack:
        with wan.inside("west"):
            address, sink = stack.enter_context(load.sinking(file))
        pair = stack.enter_context(Pair({"array": address}, wan=wan, store_size=show_size(room_for(size))))
        pair.wait_prepared()
        yield _Way(file, pair, sink, wan)
