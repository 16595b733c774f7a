"""A suite of two trials that measures nothing and can be told to fail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.replay.command import Order
from bench.replay.document import Notes, Section, Table, goals, measured
from bench.replay.results import Results
from bench.replay.suite import Suite
from bench.replay.trial import Figure, Options, Outcome, Stage, Trial

CELLS = ("passes/1", "passes/2")
ALONE = "alone"


@dataclass
class MadeUp:
    """What happens when its cells are measured, and how often that was."""

    measured: list[str] = field(default_factory=list)
    troubles: dict[str, Callable[[], Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=lambda: {"line": "45Mbit"})
    complaints: dict[str, str] = field(default_factory=dict)

    @property
    def suite(self) -> Suite:
        return Suite("made-up", "A suite of the tests", 1 / 4, self.trials, report)

    def trials(self, options: Options) -> list[Trial]:
        return [
            Trial(cells, partial(self.measure, cells), 10.0, self.settings | {"command": options.command})
            for cells in (CELLS, (ALONE,))
        ]

    def measure(self, cells: tuple[str, ...], stage: Stage) -> Iterator[tuple[str, Outcome]]:
        for cell in cells:
            stage.tell(f"measuring {cell}")
            self.troubles.get(cell, lambda: None)()
            self.measured.append(cell)
            found, complaint = figure(40.0 + len(self.measured)), self.complaints.get(cell, "")
            yield cell, Outcome((found,), {"line": [[0.0, 0.0]]}, complaint=complaint)


def report(results: Results) -> Iterator[Section]:
    notes = Notes()
    rows = [(name, measured(cell.summaries.get("throughput"), notes, cell)) for name, cell in results.cells.items()]
    yield Section("Throughput", tables=[Table("", ("cell", "Mb/s"), rows, notes)], findings=list(goals(results)))


def figure(value: float | None, remark: str = "") -> Figure:
    return Figure("throughput", value, "Mb/s", published=20.0, limit=50.0, goal=30.0, remark=remark)


def order(out: Path, **more: Any) -> Order:
    """`isthmus bench run made-up --out OUT`, and more."""
    given = {"only": (), "scale": None, "repeat": 1, "command": "", "again": False, **more}
    return Order(suites=("made-up",), out=out, **given)


def raising(error: BaseException) -> Callable[[], None]:
    def trouble() -> None:
        raise error

    return trouble
