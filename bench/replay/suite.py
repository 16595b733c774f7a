"""A suite: a test of the field, as trials and a report. (Benchmarks of our own are made of `bench.cases`.)"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.replay.document import Section
from bench.replay.results import Results
from bench.replay.trial import Options, Trial


@dataclass(frozen=True)
class Suite:
    """A test of the field. Its module makes one and `bench.replay.suites` names it."""

    name: str
    title: str
    small: float
    """The scale at which it takes a few minutes."""
    trials: Callable[[Options], list[Trial]]
    report: Callable[[Results], Iterator[Section]]
    """Makes sections from what was found."""
    lacking: Callable[[], str] = lambda: ""
    """Why nothing of it can be measured here, with the remedy; or nothing."""
    failures: tuple[type[Exception], ...] = ()
    """What may go wrong besides `bench.programs.FAILURES`; such a failure ends the trial, not the run."""
