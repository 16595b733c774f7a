"""Benches that measure case after case (`make bench-wan`, `make bench-iscsi`): their options, order and results.

A case is a function that takes the `Bench` (how long, where, whom to tell) and yields a `Figure` of
`bench.case_results` for each line of its table.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.case_results import Figure, Results, show
from bench.ending import said
from bench.machine import machine_facts, warn_if_busy
from bench.programs import FAILURES, file_to_write, measured, tell, told, whole
from proxy.errors import ExitCode

MIB = 1 << 20


@dataclass(frozen=True)
class Bench:
    """One run of a benchmark, as cases see it."""

    directory: Path
    """For temporary files."""
    tell: Callable[[str], None]
    """Progress."""
    scale: float = 1.0
    """Factor of all times and sizes."""
    lines: int = 100
    """At most so many lines of a case are measured."""

    def bytes(self, whole: int, least: int = MIB) -> int:
        """That many bytes, scaled, in whole MiB, but not less than `least`."""
        return max(least, round(whole * self.scale) // MIB * MIB)

    def seconds(self, whole: float, least: float = 1.0) -> float:
        """That many seconds, scaled, but not less than `least`."""
        return max(least, whole * self.scale)


class Case(NamedTuple):
    """What is measured, and the title of its table."""

    title: str
    measure: Callable[[Bench], Iterator[Figure]]


@dataclass(frozen=True)
class Benchmark:
    """`make NAME`."""

    name: str
    module: str
    """What `python -m` runs."""
    description: str
    cases: Mapping[str, Case]
    lacking: Callable[[], str | None]
    """Why it cannot run here, or nothing."""
    failures: tuple[type[Exception], ...] = ()
    """What may go wrong, besides `FAILURES`, without being a defect."""

    def run(self) -> ExitCode:
        """The command; its exit status."""
        options = self._options()
        if reason := self.lacking():
            print(f"{self.name} cannot run here: {reason}", file=sys.stderr)
            return ExitCode.USAGE
        warn_if_busy()
        results = Results(machine_facts(), options.scale)
        measure = partial(self._measure, options, results)
        return measured(self.name, measure, partial(self._conclude, results, options.json))

    def _measure(self, options: argparse.Namespace, results: Results, directory: Path) -> None:
        self.measure(Bench(directory, tell, options.scale, options.lines), options.only, results)

    def _conclude(self, results: Results, file: Path | None, failure: str) -> bool:
        """Write and show what was measured, if anything; whether all is right."""
        if failure and not any(results.figures.values()):
            return False
        titles = {name: case.title for name, case in self.cases.items()}
        return told(results.as_dict(), file, partial(show, results, titles)) and results.right

    def measure(self, bench: Bench, names: list[str], results: Results) -> None:
        """These cases, one after another: nothing else competes for the cores. A case that fails ends only itself.

        If a case is interrupted or has a defect, `results` says so.
        """
        for name in names:
            figures = results.figures.setdefault(name, [])
            try:
                figures.extend(self.cases[name].measure(bench))
            except FAILURES + self.failures as error:
                results.failures[name] = said(error)
                tell(f"{name} failed: {said(error)}")
            except BaseException as error:
                results.failures[name] = "interrupted" if isinstance(error, KeyboardInterrupt) else repr(error)
                raise

    def _options(self) -> argparse.Namespace:
        every = [*self.cases]
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=self.description)
        parser.add_argument("--only", nargs="+", choices=every, default=every, metavar="CASE", help=", ".join(every))
        parser.add_argument("--lines", type=whole, default=100, help="measure only the first so many lines of a case")
        parser.add_argument("--scale", type=scale, default=1.0, help="of all times and sizes, 0.01 to 10 (default 1)")
        parser.add_argument("--json", type=file_to_write, help="also write the figures to this file")
        return parser.parse_args()


def scale(text: str) -> float:
    """A scale, from an option. Raises argparse.ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 10:
        raise argparse.ArgumentTypeError(f'"{text}" is not a scale; write a number from 0.01 to 10')
    return value
