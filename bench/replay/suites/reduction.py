"""What reduction saves on the generated volumes, by the same analysis as `isthmus analyze`; and whether these are as
compressible and as repetitive as they are said to be, and quickly made."""

import time
from collections.abc import Iterator
from functools import partial

from bench.datasets import Dataset
from bench.replay.suite import Suite
from bench.replay.suites.field import SIZES, stated, volume
from bench.replay.suites.field_pass import SETTING
from bench.replay.suites.reduction_report import report
from bench.replay.trial import Figure, Options, Outcome, Stage, Trial
from proxy.analysis.analysis import Analysis
from proxy.analysis.findings import Findings

KIB, MIB = 1 << 10, 1 << 20
GENERATED_GOAL = 200.0
"""MB a second of one core."""
ANALYSED = 12e6
"""Bytes a second that an analysis is guessed to do."""


def trials(options: Options) -> list[Trial]:
    """One trial for each volume."""
    found = []
    for name in SIZES:
        contents = volume(name, options.scale)
        settings = {"size": contents.size, **stated(name)}
        found.append(Trial((name,), partial(measure, contents), contents.size / ANALYSED, settings))
    return found


def measure(contents: Dataset, stage: Stage) -> Iterator[tuple[str, Outcome]]:
    """Generate the volume once to time that, then again to analyse it."""
    stage.tell(f"generating {contents.kind}")
    rate = generation_rate(contents)
    analysis, done = Analysis(contents.size), 0
    for buffer in contents:
        analysis.feed(buffer)
        done += len(buffer)
        if done % (16 * MIB) == 0:
            stage.tell(f"analysing {contents.kind}, {done * 100 // contents.size} %")
    findings = analysis.finish()
    figures = (*_generated(contents, rate, findings), *_reduced(contents, findings))
    yield contents.kind, Outcome(figures, _samples(findings))


def generation_rate(contents: Dataset) -> float:
    """MB for each second of this thread's processor time."""
    next(iter(contents))  # what all volumes share is made once
    began, made = time.thread_time(), sum(map(len, contents))
    return made / max(time.thread_time() - began, 1e-9) / 1e6


def duplicate_share(contents: Dataset) -> float:
    """Percent of the bytes that are in files which repeat an earlier one."""
    seen: set[int] = set()
    repeated = 0
    for file in contents.files():
        repeated += file.size if file.number in seen else 0
        seen.add(file.number)
    return 100 * repeated / contents.size


def _generated(contents: Dataset, rate: float, findings: Findings) -> Iterator[Figure]:
    yield Figure("generated", rate, "MB/s", goal=GENERATED_GOAL)
    yield Figure("compressibility", 100 * (1 - findings.zlib.ratio), "%")
    yield Figure("duplicate files", duplicate_share(contents), "%")


def _reduced(contents: Dataset, findings: Findings) -> Iterator[Figure]:
    usual = findings.usual
    yield Figure("deduplication saves", 100 * usual.duplicates, "%")
    yield Figure("compression saves, fast line", 100 * (1 - findings.quick.ratio), "%")
    yield Figure("compression saves, slow line", 100 * (1 - findings.thorough.ratio), "%")
    yield Figure("crosses, new", 100 * findings.crossing(usual, findings.compressed_for(SETTING.possible)), "%", False)
    yield Figure("crosses, 1 % changed", 100 * findings.updated(usual, findings.thorough), "%", False)
    yield Figure("crosses, known", 100 * findings.warm(usual), "%", False)
    yield Figure("best chunk size", findings.best.average / KIB, "KiB")
    *_, (_, cold), (_, warm) = findings.times(SETTING.possible)
    for number, way in enumerate((cold, warm), 1):
        yield Figure(f"expected, pass {number}", 60 * contents.size / MIB / way.seconds, "MB/min")


def _samples(findings: Findings) -> dict[str, list[list[float]]]:
    return {
        "stores": [[hits.size / MIB, 100 * hits.share] for hits in findings.stores],
        "chunks": [
            [
                each.average / KIB,
                100 * each.duplicates,
                100 * findings.crossing(each, findings.thorough),
                100 * findings.updated(each, findings.thorough),
                100 * findings.warm(each),
            ]
            for each in findings.chunked
        ],
    }


REDUCTION = Suite(
    "reduction", "What deduplication and compression save on the generated volumes", 1 / 32, trials, report
)
