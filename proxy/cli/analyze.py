"""`isthmus analyze`: data is read once, with a progress bar, and what reduction would save on it is shown."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from proxy.analysis.analysis import Analysis
from proxy.analysis.chunks import Chunked
from proxy.analysis.findings import Findings
from proxy.analysis.inputs import Remarks, Unreadable, find, read
from proxy.cli import quantities
from proxy.cli.analyze_report import report
from proxy.cli.cells import show
from proxy.cli.plan import MOST_LOSS, bounds, expect_nothing_of, notes, way_data
from proxy.errors import OperatorError
from proxy.plan.line import Line

_OF_A_LINE = {"round_trip": "100ms", "loss": "0%"}
"""Options that mean nothing without --line, and their defaults."""


def run(paths: Sequence[Path], rates: Sequence[str], round_trip: str, loss: str, as_json: bool) -> None:
    """Read everything, and show what was found. Raises OperatorError."""
    seconds, lost = quantities.duration("--round-trip", round_trip), quantities.share("--loss", loss, MOST_LOSS)
    lines = [Line(quantities.rate("--line", rate), seconds, lost) for rate in rates]
    if not lines:
        typed = {"round_trip": round_trip, "loss": loss}
        expect_nothing_of(typed, _OF_A_LINE, "needs a line: add its rate, such as --line 45Mbit")
    remarks = Remarks()
    try:
        found = as_data(analyze(paths, remarks), lines, remarks)
    except Unreadable as error:
        raise OperatorError(str(error)) from None
    if not found["bytes"]:
        raise OperatorError(_nothing(paths, remarks))
    show(found, report(found), as_json=as_json)


def analyze(paths: Sequence[Path], remarks: Remarks) -> Findings:
    """What is in all these files, directories and devices, as one volume. Raises Unreadable."""
    total = sum(source.size for source in find(paths, Remarks()))
    analysis = Analysis(total)
    with _bar() as bar:
        task = bar.add_task("reading", total=total)
        for source in find(paths, remarks):
            for data in read(source, remarks):
                analysis.feed(data)
                bar.advance(task, len(data))
    return analysis.finish()


def as_data(findings: Findings, lines: Sequence[Line], remarks: Remarks) -> dict[str, Any]:
    """For JSON and for the tables: sizes in bytes, shares 0 to 1, rates in bits a second, times in seconds."""
    return {
        "bytes": findings.total,
        "deduplication": findings.usual.duplicates,
        "compressibility": 1 - findings.zlib.ratio,
        "compression": {
            "fast_line": 1 - findings.quick.ratio,
            "slow_line": 1 - findings.thorough.ratio,
            "measured_on": findings.thorough.before,
            "compressibility_measured_on": findings.zlib.before,
        },
        "crosses_the_line": {
            "new_fast_line": findings.crossing(findings.usual, findings.quick),
            "new_slow_line": findings.crossing(findings.usual, findings.thorough),
            "known": findings.warm(findings.usual),
        },
        "chunk_sizes": [_chunk_size(findings, each) for each in findings.chunked],
        "best_chunk_size": findings.best.average,
        "store": {
            "finds_while_replicated_once": [{"size": hits.size, "share": hits.share} for hits in findings.stores],
            "enough_for_once": findings.store_for_once.size,
            "enough_for_all": findings.store_for_all,
        },
        "lines": [_line(findings, line) for line in lines],
        "remarks": {
            "passed_over": dict(remarks.passed_over),
            "changed": remarks.changed,
            "examples": remarks.examples,
        },
    }


def _chunk_size(findings: Findings, each: Chunked) -> dict[str, Any]:
    return {
        "average": each.average,
        "chunks": each.chunks,
        "duplicates": each.duplicates,
        "crosses_the_line": findings.crossing(each, findings.thorough),
        "updated": findings.updated(each, findings.thorough),
        "known": findings.warm(each),
        "sampled": each.sampled,
        "margin": each.margin / each.total if each.total else 0.0,
    }


def _line(findings: Findings, line: Line) -> dict[str, Any]:
    return {
        "rate": line.rate,
        "round_trip": line.round_trip,
        "loss": line.loss,
        "replication": [way_data(window, way) for window, way in findings.times(line)],
        "notes": [*notes(line), *bounds(line), *_spared(findings, line)],
    }


def _spared(findings: Findings, line: Line) -> Iterator[str]:
    if findings.spared(line):
        yield (
            "a line faster than compression: a site soon leaves that out, so all that is new crosses as it is;"
            " where a rate or a level is set, as shown"
        )


def _nothing(paths: Sequence[Path], remarks: Remarks) -> str:
    named = ", ".join(map(str, paths))
    why = "; ".join(remarks.examples) or "there is no file with any content"
    return f"nothing was read of {named}: {why}; name files, directories or devices with data that this user can read"


def _bar() -> Progress:
    """On stderr, and only on a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
