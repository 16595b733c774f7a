"""`python -m bench.overwan`: see the package."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench.load import LoadFailure
from bench.machine import machine_facts, warn_if_busy
from bench.overwan import iperf
from bench.overwan.bench import Bench
from bench.overwan.cases import CASES
from bench.overwan.results import Results, show
from bench.sites import SiteFailure
from bench.wan import Line, WanFailure, line
from proxy.errors import ExitCode

FAILURES = (SiteFailure, LoadFailure, WanFailure, OSError, subprocess.SubprocessError)
"""What may go wrong with the pair, the ends, the line and iperf3."""


def main() -> int:
    options = _options()
    if reason := iperf.lacking() or no_line():
        print(f"bench-wan cannot run here: {reason}", file=sys.stderr)
        return ExitCode.USAGE
    warn_if_busy()
    results = Results(machine_facts(), options.scale)
    with tempfile.TemporaryDirectory(prefix="isthmus-") as directory:
        measure(Bench(Path(directory), _tell, options.scale, options.lines), options.only, results)
    show(results, {name: case.title for name, case in CASES.items()}, Console())
    written = not options.json or write(results, options.json)
    return ExitCode.OK if results.right and written else ExitCode.FAILED


def write(results: Results, file: Path) -> bool:
    """The figures as data; False, and a complaint, if that cannot be."""
    try:
        file.write_text(json.dumps(results.as_dict(), indent=2) + "\n")
    except OSError as error:
        print(f"the figures cannot be written to {file}: {error.strerror}", file=sys.stderr)
        return False
    return True


def no_line() -> str:
    """Why no line can be emulated here, or nothing: found out by trying."""
    try:
        with line(Line()):
            return ""
    except WanFailure as error:
        return str(error)


def measure(bench: Bench, names: list[str], results: Results) -> None:
    """These cases, one after another: nothing else competes for the cores. A case that fails ends only itself."""
    for name in names:
        figures = results.figures.setdefault(name, [])
        try:
            figures.extend(CASES[name].measure(bench))
        except FAILURES as error:
            results.failures[name] = str(error)
            _tell(f"{name} failed: {error}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.overwan",
        description="What a pair does over slow, long and lossy lines, beside iperf3 on the same lines.",
    )
    parser.add_argument("--only", nargs="+", choices=[*CASES], default=[*CASES], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--lines", type=count, default=100, help="measure only the first so many lines of a case")
    parser.add_argument("--scale", type=scale, default=1.0, help="of all times and sizes, 0.01 to 10 (default 1)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of lines; write 1 or more')
    return int(text)


def scale(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 10:
        raise argparse.ArgumentTypeError(f'"{text}" is not a scale; write a number from 0.01 to 10')
    return value


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
