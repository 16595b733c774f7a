"""Fits the sections of a page into a terminal's height: each gets as many rows as there is room for."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

LEAST = 3
"""Rows of a section before another one gets more."""

Cell = Text | str
"""A str is shown as it is, too: it may be the words of another site, and nothing in them is markup."""


@dataclass(frozen=True, slots=True)
class Section:
    """A line of headings, and rows of one line each. Without rows nothing is shown."""

    headings: tuple[Cell, ...]
    rows: Sequence[tuple[Cell, ...]]
    newest: bool = False
    """Where not all fit, the last rows are shown instead of the first."""

    def without(self, headings: Container[str]) -> "Section":
        """The section less the columns of these headings."""
        kept = [index for index, heading in enumerate(self.headings) if str(heading) not in headings]
        rows = [tuple(row[index] for index in kept) for row in self.rows]
        return Section(tuple(self.headings[index] for index in kept), rows, self.newest)


def page(sections: Sequence[Section], height: int) -> RenderableType:
    """As many rows of each as fit into so many lines; the first sections count most."""
    shown = [section for section in sections if section.rows]
    return Group(*(_table(section, rows) for section, rows in zip(shown, _shared(shown, height), strict=False)))


def _shared(sections: Sequence[Section], height: int) -> list[int]:
    """Rows for each; the list ends where there is no room for a section's headings and one row."""
    wanted = [min(len(section.rows), LEAST) for section in sections]
    while wanted and sum(wanted) + len(wanted) > height:
        wanted[-1] -= 1
        if not wanted[-1]:
            wanted.pop()
    left = height - sum(wanted) - len(wanted)
    for index, rows in enumerate(wanted):
        more = min(left, len(sections[index].rows) - rows)
        wanted[index] += more
        left -= more
    return wanted


def _table(section: Section, count: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="reverse", expand=True)
    last, hidden = len(section.headings) - 1, len(section.rows) - count
    for index, heading in enumerate(section.headings):
        said = Text.assemble(heading, f" ({hidden} more)" if hidden and not index else "")
        table.add_column(said, no_wrap=True, overflow="ellipsis", ratio=1 if index == last else None)
    for row in section.rows[-count:] if section.newest else section.rows[:count]:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table
