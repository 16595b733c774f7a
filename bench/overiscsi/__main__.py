"""`python -m bench.overiscsi`: see the package."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from bench.array import ArrayFailure, IscsiTarget
from bench.initiator.initiator import Protocol
from bench.initiator.login import LoginRefused
from bench.load import LoadFailure
from bench.machine import machine_facts, warn_if_busy
from bench.overiscsi.cases import CASES
from bench.overwan.__main__ import count, scale, write
from bench.overwan.bench import Bench
from bench.overwan.results import Results, show
from bench.sites import SiteFailure
from proxy.errors import ExitCode

FAILURES = (SiteFailure, LoadFailure, ArrayFailure, LoginRefused, Protocol, OSError, subprocess.SubprocessError)
"""What may go wrong with the pair, the ends, the target and the initiators."""


def main() -> int:
    options = _options()
    if reason := IscsiTarget.lacking():
        print(f"bench-iscsi cannot run here: {reason}", file=sys.stderr)
        return ExitCode.USAGE
    warn_if_busy()
    results = Results(machine_facts(), options.scale)
    with tempfile.TemporaryDirectory(prefix="isthmus-") as directory:
        measure(Bench(Path(directory), _tell, options.scale, options.lines), options.only, results)
    show(results, {name: case.title for name, case in CASES.items()}, Console())
    written = not options.json or write(results, options.json)
    return ExitCode.OK if results.right and written else ExitCode.FAILED


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
        prog="python -m bench.overiscsi",
        description='What it costs and brings that the pair understands iSCSI, beside protocol = "tcp".',
    )
    parser.add_argument("--only", nargs="+", choices=[*CASES], default=[*CASES], metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--lines", type=count, default=100, help="measure only the first so many lines of a case")
    parser.add_argument("--scale", type=scale, default=1.0, help="of all volumes, 0.01 to 10 (default 1)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
