"""Bounds that figures are held against, and the table that says which were met."""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from rich.table import Table

from bench.tables import plain_table


class Goal(NamedTuple):
    """What a figure should be at least or at most."""

    what: str
    measured: float
    """Infinite if what is measured never happened."""
    bound: float
    at_least: bool
    unit: str

    @property
    def met(self) -> bool:
        """True if it is within the bound."""
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with whether it was met. JSON has no infinity, so that becomes None."""
        data = self._asdict() | {"met": self.met}
        return data if math.isfinite(self.measured) else data | {"measured": None}


def goal_table(goals: Iterable[Goal]) -> Table:
    """What should be reached, and whether it was."""
    table = plain_table("Goals", "what", "measured", "bound", "met", figures=("measured", "bound"))
    for goal in goals:
        sign = ">=" if goal.at_least else "<="
        table.add_row(
            goal.what,
            f"{goal.measured:,.2f} {goal.unit}" if math.isfinite(goal.measured) else "never",
            f"{sign} {goal.bound:,.2f} {goal.unit}",
            "yes" if goal.met else "NO",
        )
    return table
