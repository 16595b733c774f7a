"""The figures of benches of several cases: what is kept of a run, and the tables that show it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.goals import Goal, goal_table
from bench.machine import machine_text
from bench.tables import plain_table


@dataclass(frozen=True)
class Figure:
    """A line of a table."""

    line: str
    """The settings that it was measured on."""
    what: str
    values: Mapping[str, float | None]
    """By column, in the unit that the case's title names; None: could not be measured."""
    goals: tuple[Goal, ...] = ()
    identical: bool = True
    """Every byte that was sent has arrived."""
    excuse: str = ""
    """Why the values mean nothing on this machine, or nothing."""

    @property
    def met(self) -> str:
        """The text of the table's last column."""
        if not self.identical:
            return "BYTES DIFFER"
        if self.excuse or not self.goals:
            return ""
        return "yes" if all(goal.met for goal in self.goals) else "NO"


@dataclass
class Results:
    """Everything that JSON=FILE writes."""

    machine: dict[str, Any]
    scale: float
    figures: dict[str, list[Figure]] = field(default_factory=dict)
    """By case."""
    failures: dict[str, str] = field(default_factory=dict)
    """Why a case could not be measured to its end."""

    @property
    def right(self) -> bool:
        """Every byte of every transfer arrived, and nothing failed. Goals do not matter."""
        return not self.failures and all(figure.identical for figure in self._all())

    def goals(self) -> Iterator[Goal]:
        """All goals whose figures have no excuse."""
        for figure in self._all():
            if not figure.excuse:
                yield from (goal._replace(what=f"{figure.line}, {goal.what}") for goal in figure.goals)

    def as_dict(self) -> dict[str, Any]:
        """For JSON; each goal says whether it was met."""
        data = asdict(self)
        for case, figures in self.figures.items():
            for figure, written in zip(figures, data["figures"][case], strict=True):
                written["goals"] = [goal.as_dict() for goal in figure.goals]
        return data

    def _all(self) -> Iterator[Figure]:
        for figures in self.figures.values():
            yield from figures


def show(results: Results, titles: Mapping[str, str], console: Console) -> None:
    """Print all tables; `titles`: by case."""
    console.print(machine_text(results.machine), highlight=False)
    for case, figures in results.figures.items():
        console.print("", case_table(titles[case], figures))
    goals = list(results.goals())
    if goals:
        console.print("", goal_table(goals))
    for case, complaint in results.failures.items():
        console.print(f"{case} failed: {complaint}", style="bold red", highlight=False, markup=False)
    if not results.right:
        console.print("Bytes differ, or a case has failed: see above.", style="bold red")


def case_table(title: str, figures: list[Figure]) -> Table:
    """The table of one case. Where a figure has an excuse, its number stands in place of the values."""
    columns = list(dict.fromkeys(name for figure in figures for name in figure.values))
    table = plain_table(title, "line", "", *columns, "met", figures=tuple(columns))
    excuses: dict[str, int] = {}
    for figure in figures:
        shown = [_text(figure.values.get(name)) for name in columns]
        if figure.excuse:
            note = excuses.setdefault(figure.excuse, len(excuses) + 1)
            shown = [f"({note})" for _ in columns]
        table.add_row(figure.line, figure.what, *shown, figure.met)
    if excuses:
        table.caption = "\n".join(f"({note}) not measured: {excuse}" for excuse, note in excuses.items())
        table.caption_justify = "left"
    return table


def _text(value: float | None) -> str:
    """Three digits or more."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
