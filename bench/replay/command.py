"""`isthmus bench list|run|report`, as the command line calls it."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.replay.document import scale_text
from bench.replay.progress import Screen
from bench.replay.records import RecordFailure, Records
from bench.replay.runner import Tally, Work, outstanding, perform, set_aside
from bench.replay.suite import Suite
from bench.replay.suites import SUITES
from bench.replay.suites.alternatives import ALTERNATIVES
from bench.replay.trial import Options
from proxy.cli.ending import ended_in_order
from proxy.errors import ExitCode, OperatorError

EVERY = "all"


@dataclass(frozen=True)
class Order:
    """What is to be run."""

    suites: Sequence[str]
    only: Sequence[str]
    scale: float | None
    """None: each suite's own small one."""
    repeat: int
    out: Path
    command: str
    again: bool
    """Finished results are set aside, and all is measured again."""


def show_suites(names: Sequence[str], scale: float | None) -> int:
    """Print all suites with their sizes, or the cells of the suites that are named."""
    console = Console()
    if names:
        for suite in chosen(names):
            for trial in suite.trials(Options(scale or suite.small)):
                for cell in trial.cells:
                    console.print(f"{suite.name}/{cell}", markup=False, highlight=False, soft_wrap=True)
        return ExitCode.OK
    console.print(f"{'suite':<14}{'scale':>7}{'cells':>7}{'minutes':>9}  what", style="bold", highlight=False)
    whole = 0.0
    for suite in SUITES.values():
        used = scale or suite.small
        trials = suite.trials(Options(used))
        cells, seconds = sum(len(trial.cells) for trial in trials), sum(trial.seconds for trial in trials)
        row = f"{suite.name:<14}{scale_text(used):>7}{cells:>7,}{seconds / 60:>9,.1f}  {suite.title}"
        console.print(row, markup=False, highlight=False, soft_wrap=True)
        whole += seconds
    console.print(f"{EVERY:<28}{whole / 60:>9,.1f}", highlight=False)
    return ExitCode.OK


def run(order: Order) -> int:
    """Measure what is not finished yet. OK if every cell that can be measured here was, and all bytes arrived."""
    console = Console(stderr=True, soft_wrap=True)
    records = Records(order.out)
    works, reasons = planned(order)
    try:
        records.prepare()
    except RecordFailure as error:
        raise OperatorError(str(error)) from None
    try:
        rest, others = outstanding(records, works, order.again)
        if others:
            more = f" (and {len(others) - 1:,} more)" if len(others) > 1 else ""
            or_else = "" if order.again else ", or replace them with --again"
            raise OperatorError(f"{others[0]}{more}; name another directory with --out{or_else}", ExitCode.USAGE)
        if order.again:
            set_aside(records, works)
        _say(console, f"{len(works) - len(rest)} of {len(works)} trials are finished already" if rest != works else "")
        tally = _watched(console, records, rest, order)
    except RecordFailure as error:
        raise OperatorError(f"{error}; what was finished is kept: {remedy(order)}") from None
    for reason in tally.lacking:
        _say(console, f"not measured: {reason}")
    for complaint in reasons:
        _say(console, complaint, "bold red")
    if tally.failed:
        same = "the same command without --again" if order.again else "the same command"
        _say(console, f"{tally.failed} cells failed, see above; {same} tries them again", "bold red")
    _say(console, f"the results are in {order.out}; isthmus bench report {shlex.quote(str(order.out))} shows them")
    return ExitCode.FAILED if reasons or tally.failed else ExitCode.OK


def planned(order: Order) -> tuple[list[Work], list[str]]:
    """All trials that the order asks for, repeat by repeat within a suite; and why suites cannot be measured here.

    Raises OperatorError if there are none.
    """
    works: list[Work] = []
    reasons: list[str] = []
    suites = chosen(order.suites)
    if order.command and ALTERNATIVES not in suites:
        wrong = f"--command is another proxy for {ALTERNATIVES.name}, and only"
        raise OperatorError(f"{wrong} {', '.join(order.suites)} is to be run; name that suite", ExitCode.USAGE)
    for suite in suites:
        scale = order.scale or suite.small
        trials = [each for each in suite.trials(Options(scale, order.command)) if each.chosen(order.only)]
        if trials and (reason := suite.lacking()):
            reasons.append(f"{suite.name} cannot be measured here: {reason}")
            continue
        works += [Work(suite, trial, repeat, scale) for repeat in range(1, order.repeat + 1) for trial in trials]
    if not works and reasons:
        raise OperatorError("; ".join(reasons), ExitCode.USAGE)
    if not works:
        patterns = " or ".join(order.only)
        others = "" if order.command or ALTERNATIVES not in suites else ", --command adds its own"
        raise OperatorError(
            f"no cell is called {patterns}; isthmus bench list SUITE names them{others}", ExitCode.USAGE
        )
    return works, reasons


def chosen(names: Sequence[str]) -> list[Suite]:
    """The suites of these names. Raises OperatorError."""
    for name in names:
        if name not in SUITES and name != EVERY:
            known = ", ".join([*SUITES, EVERY])
            raise OperatorError(f"there is no suite {name!r}; there are {known}", ExitCode.USAGE)
    return [suite for name, suite in SUITES.items() if name in names or EVERY in names]


def remedy(order: Order) -> str:
    """What to type to go on; without --again, which would begin anew."""
    words = ["isthmus", "bench", "run", *order.suites]
    words += [word for pattern in order.only for word in ("--only", pattern)]
    words += ["--scale", scale_text(order.scale)] if order.scale else []
    words += ["--repeat", str(order.repeat)] if order.repeat > 1 else []
    words += ["--command", order.command] if order.command else []
    return f"go on with {shlex.join([*words, '--out', str(order.out)])}"


def _watched(console: Console, records: Records, works: list[Work], order: Order) -> Tally:
    try:
        with Screen(console, works) as screen, ended_in_order():
            return perform(records, works, screen)
    except KeyboardInterrupt:
        message = f"interrupted; what was finished is kept in {order.out}: {remedy(order)}"
        raise OperatorError(message, ExitCode.INTERRUPTED) from None


def _say(console: Console, text: str, style: str = "") -> None:
    if text:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
