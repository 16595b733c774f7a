"""Trials that are measured in one go, and the figures that they bring.

    def trials(options: Options) -> list[Trial]:
        return [Trial(cells=("line/10ms",), measure=measure, seconds=20, settings={"delay": "10ms"})]

    def measure(stage: Stage) -> Iterator[tuple[str, Outcome]]:
        stage.tell("sending")
        yield "line/10ms", Outcome((Figure("throughput", 41.2, "Mb/s", published=30.0, limit=43.4),))

A cell is what a report has a place for; its name is unique within its suite. A measurement that depends on an earlier
one, such as the second pass over a volume, is a cell of the same trial: a trial is repeated whole or not at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bench.machine import lacking_disk

MIB = 1 << 20


class Lacking(Exception):
    """A trial cannot be measured here; the message names what is missing and the remedy. The next run tries again."""


def see_room(wanted: int) -> None:
    """Raises Lacking if there is no room for so many bytes of temporary files."""
    if reason := lacking_disk(wanted):
        raise Lacking(f"{reason}; use a smaller --scale")


@dataclass(frozen=True)
class Figure:
    """One figure of a cell."""

    name: str
    """Such as "throughput"; the same in all cells that a table compares."""
    value: float | None
    """None: it could not be measured, and `remark` says why."""
    unit: str
    more_is_better: bool = True
    published: float | None = None
    """The reference's figure, in the same unit."""
    limit: float | None = None
    """What would be possible at best, in the same unit."""
    goal: float | None = None
    """What it should be at least, or at most if less is better."""
    remark: str = ""
    """What a reader has to know, such as that the emulator was late; a footnote of the cell."""


@dataclass(frozen=True)
class Outcome:
    """What was found for a cell."""

    figures: tuple[Figure, ...]
    samples: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Raw samples for JSON and plots, by name; a course over time is a list of [seconds, value]."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Circumstances that were found out while measuring, for JSON; those known before are the trial's settings."""
    complaint: str = ""
    """How it shows that other bytes arrived than were sent; empty if they are the same."""


@dataclass(frozen=True)
class Stage:
    """Where and how a trial is measured."""

    directory: Path
    """For temporary files; empty at the start, removed at the end."""
    scale: float
    """Factor of all sizes and times; 1 for the real ones."""
    tell: Callable[[str], None] = lambda text: None
    """Takes what is being done now, in a few words, for whoever watches."""

    def bytes(self, whole: float) -> int:
        """A size in bytes, scaled, in whole MiB; one at least."""
        return max(1, round(whole * self.scale / MIB)) * MIB

    def seconds(self, whole: float, least: float = 1.0) -> float:
        """That many seconds, scaled, but not less than `least`."""
        return max(least, whole * self.scale)


@dataclass(frozen=True)
class Trial:
    """What is measured in one go."""

    cells: tuple[str, ...]
    """Names, such as "singly/f5vol2/disk/1", in the order in which `measure` yields them."""
    measure: Callable[[Stage], Iterator[tuple[str, Outcome]]]
    """Yields a cell's name and outcome as soon as it has them. Raises Lacking, or one of the suite's failures."""
    seconds: float
    """About how long it takes, for the time left."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """For JSON. Finished results with other settings are not taken for results of this trial."""

    def chosen(self, patterns: Sequence[str]) -> bool:
        """Whether a pattern matches one of its cells, or there are no patterns. They are as a shell's; a name's
        beginning, up to a slash, is enough."""
        wanted = [*patterns, *(f"{pattern}/*" for pattern in patterns)]
        return not patterns or any(fnmatchcase(cell, pattern) for cell in self.cells for pattern in wanted)


@dataclass(frozen=True)
class Options:
    """What a suite is told when its trials are made."""

    scale: float
    command: str = ""
    """A user's own proxy, for the alternatives: see `bench.replay.suites.alternatives`."""
