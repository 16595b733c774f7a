"""A mistake in a site's file, and the error that carries all of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proxy.errors import ExitCode, OperatorError
from proxy.text import printable

KeyPath = tuple[str | int, ...]
"""Where a value stands: ("forward", 1, "listen")."""

SHOWN_CHARACTERS = 80
"""Longer values are cut when shown."""


class _Absent:
    pass


ABSENT = _Absent()
"""Stands for the value of a mistake that has none."""


@dataclass(frozen=True)
class Mistake:
    """One thing to put right. `where` is empty if the file as a whole is meant."""

    where: KeyPath
    value: object
    wrong: str
    remedy: str
    passes: bool = False
    """It goes away once this host's clock is right."""

    @property
    def key(self) -> str:
        """The place as operators read it."""
        return show_key(self.where)

    def __str__(self) -> str:
        value = "" if isinstance(self.value, _Absent) else f" = {show(self.value)}"
        place = f"{self.key}{value}\n    " if self.where else ""
        return f"{place}{printable(self.wrong)}; {printable(self.remedy)}"


class ConfigError(OperatorError):
    """The file cannot be used; `mistakes` has all reasons, in the order of the file where there is one."""

    def __init__(self, source: Path, mistakes: Sequence[Mistake]) -> None:
        self.source = source
        self.mistakes = tuple(mistakes)
        count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes)} mistakes"
        lines = "\n".join(f"  {mistake}" for mistake in mistakes)
        super().__init__(f"{printable(str(source))}: {count}\n{lines}", ExitCode.CONFIGURATION)

    @property
    def in_one_line(self) -> str:
        """For alarms and the log, where lines do not keep the mistakes apart."""
        mistakes = ". ".join(" ".join(str(mistake).split()) for mistake in self.mistakes)
        return f"{printable(str(self.source))}: {mistakes}"


def show_key(where: KeyPath) -> str:
    """A place as operators read it: `forward[1].listen`, counted from 0."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{printable(step)}" for step in where)
    return "".join(steps).removeprefix(".")


def show(value: object) -> str:
    """A value as it might stand in the file, cut and without control characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = "(too large to show)"
    return printable(text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…")
