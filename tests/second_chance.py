"""A second run for tests of real processes, and the names of those that needed it.

A test that starts sites on a machine which others use as well may meet a stall that it does not survive. It is run
once more, so that this does not hide what the other four thousand say; but it is named at the end of the run, because
it is a defect all the same. Tests of plain code have no second chance: what fails there once is wrong. Nor has any
test in which wrong bytes were delivered, or an end that nobody made: those in `integration` judge that by `bed/ends.py`
(tests/architecture/test_wrong_bytes.py), whose WrongBytes is known here by its name.
"""

import contextlib
import gc
import itertools
import re
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import pytest
from pytest_timeout import Settings

TESTS = Path(__file__).parent
GIVEN_TO = [TESTS / "integration", TESTS / "browser"]
"""Directories whose tests start real processes."""
NEVER = "WrongBytes", r"where False = identical\("
"""What a failure says that has none: other bytes than were sent."""
WRONG = "failed", "rerun"
"""Outcomes of a test's phase, the second one of a plugin's."""
SAID = "held only the second time: a defect of the test or the product, to be mended"
_LIMIT = pytest.StashKey[Settings]()
_ONE_OF_SEVERAL = re.compile(r"^    +\| ((?:\w+\.)*\w+(?:Error|Failure|Failed|Exception)\b.*)", re.MULTILINE)
"""Deeper than the group's own."""


def give(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that are run again when they fail."""
    given_to = tuple(f"{directory}/" for directory in GIVEN_TO)  # to ask each item's Path takes 65 times as long
    for item in items:
        if str(item.path).startswith(given_to):
            item.add_marker(pytest.mark.flaky(reruns=1, rerun_except=list(NEVER)))


class SecondChance:
    """The plugin: each run, and what cleans up after it, has the whole time limit; who needed two is named."""

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Say at once what is wrong as well: who cuts the run short sees no summary."""
        terminal = self._plugins.get_plugin("terminalreporter")  # workers have none
        if report.outcome in WRONG and terminal is not None:
            terminal.write_line(f"\n{report.nodeid} ({report.when}): {_reason(report)}{_trail(report)}")

    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Settings) -> None:
        item.stash[_LIMIT] = settings

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if getattr(item, "execution_count", 1) > 1:
            _limit_anew(item)
            _begin_anew(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        _limit_anew(item)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        again, failed = (
            {report.nodeid: report for name in names for report in terminalreporter.getreports(name)}
            for names in (["rerun"], ["failed", "error"])
        )
        if held := sorted(again.keys() - failed.keys()):
            terminalreporter.section(SAID, yellow=True)
            for name in held:
                terminalreporter.line(f"{name}: {_reason(again[name])}{_trail(again[name])}")


def _limit_anew(item: pytest.Item) -> None:
    """pytest-timeout stops its clock at the first failure, and would wait for ever for what follows."""
    if item.stash.get(_LIMIT, None) is not None:
        item.config.hook.pytest_timeout_cancel_timer(item=item)
        item.config.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_LIMIT])


def _begin_anew(item: pytest.Item) -> None:
    """Take down what the tests of the file share, which may be broken, and what the failed run left open."""
    assert isinstance(item, pytest.Function)
    for shared in itertools.chain(*item._fixtureinfo.name2fixturedefs.values()):
        if shared.scope == "module":
            with contextlib.suppress(Exception, pytest.fail.Exception):
                shared.finish(item._request)  # type: ignore[arg-type]  # of a part of it; not looked at
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _reason(report: pytest.TestReport) -> str:
    """The first time's last word; of several errors that are told as one, each one's."""
    text = getattr(getattr(report.longrepr, "reprcrash", None), "message", None) or str(report.longrepr)
    first = text.strip().splitlines()[0] if text.strip() else str(report.when)
    return "; ".join([first, *_ONE_OF_SEVERAL.findall(str(report.longrepr))])


def _trail(report: pytest.TestReport) -> str:
    """Where that was: of what happens once in thousands of runs nothing else is left."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
    places = [place for entry in entries if (place := getattr(entry, "reprfileloc", None)) is not None]
    return "".join(f"\n    {place.path}:{place.lineno}" for place in places)
