"""A benchmark target that has several cases: its options, one case after another, tables, and figures as data."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from bench.ending import scratch
from bench.load import LoadFailure
from bench.machine import machine_facts, warn_if_busy
from bench.overwan.bench import Bench
from bench.overwan.results import Figure, Results, show
from bench.sites import SiteFailure
from proxy.errors import ExitCode

FAILURES: tuple[type[Exception], ...] = (SiteFailure, LoadFailure, OSError, subprocess.SubprocessError)
"""What may go wrong with any pair and the ends."""


class Case(NamedTuple):
    """What is measured, and the title of its table."""

    title: str
    measure: Callable[[Bench], Iterator[Figure]]


@dataclass(frozen=True)
class Suite:
    """`make NAME`."""

    name: str
    module: str
    """What `python -m` runs."""
    description: str
    cases: Mapping[str, Case]
    lacking: Callable[[], str | None]
    """Why it cannot run here, or nothing."""
    failures: tuple[type[Exception], ...] = ()
    """What may go wrong beside `FAILURES`."""

    def run(self) -> int:
        """The command; its exit status."""
        options = self._options()
        if reason := self.lacking():
            print(f"{self.name} cannot run here: {reason}", file=sys.stderr)
            return ExitCode.USAGE
        warn_if_busy()
        results = Results(machine_facts(), options.scale)
        with scratch() as directory:
            self.measure(Bench(directory, _tell, options.scale, options.lines), options.only, results)
        show(results, {name: case.title for name, case in self.cases.items()}, Console())
        written = not options.json or write(results.as_dict(), options.json)
        return ExitCode.OK if results.right and written else ExitCode.FAILED

    def measure(self, bench: Bench, names: list[str], results: Results) -> None:
        """These cases, one after another: nothing else competes for the cores. A case that fails ends only itself."""
        for name in names:
            figures = results.figures.setdefault(name, [])
            try:
                figures.extend(self.cases[name].measure(bench))
            except FAILURES + self.failures as error:
                results.failures[name] = str(error)
                _tell(f"{name} failed: {error}")

    def _options(self) -> argparse.Namespace:
        every = [*self.cases]
        parser = argparse.ArgumentParser(prog=f"python -m {self.module}", description=self.description)
        parser.add_argument("--only", nargs="+", choices=every, default=every, metavar="CASE", help=", ".join(every))
        parser.add_argument("--lines", type=count, default=100, help="measure only the first so many lines of a case")
        parser.add_argument("--scale", type=scale, default=1.0, help="of all times and sizes, 0.01 to 10 (default 1)")
        parser.add_argument("--json", type=Path, help="also write the figures to this file")
        return parser.parse_args()


def whole(text: str) -> int:
    """A number, from an option. Raises argparse.ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number; write 1 or more')
    return int(text)


def write(figures: object, file: Path) -> bool:
    """The figures as data; False, and a complaint, if that cannot be."""
    try:
        file.write_text(json.dumps(figures, indent=2) + "\n")
    except OSError as error:
        print(f"the figures cannot be written to {file}: {error.strerror}", file=sys.stderr)
        return False
    return True


def count(text: str) -> int:
    """Of lines. Raises argparse.ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of lines; write 1 or more')
    return int(text)


def scale(text: str) -> float:
    """Raises argparse.ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 10:
        raise argparse.ArgumentTypeError(f'"{text}" is not a scale; write a number from 0.01 to 10')
    return value


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
