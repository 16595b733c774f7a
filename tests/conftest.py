"""What all tests share: hypothesis settings, free ports, site directories, what the markers mean."""

import contextlib
import gc
import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from bench.sites import free_port as loopback_port
from tests import second_chance

GROUPS = "serial", "patient"
"""Markers of tests of which one runs at a time: some disturb each other, and others would leave the machine idle."""
TIMELESS = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
"""No time is judged, since the machine may stand still at any moment."""
settings.register_profile("developer", TIMELESS)
settings.register_profile("ci", TIMELESS, derandomize=True, database=None)  # the same examples each time
settings.load_profile("ci" if "CI" in os.environ else "developer")


@pytest.fixture
def free_port() -> Callable[[], int]:
    """A function that gives a loopback TCP port that nobody listens on, each time another."""
    return loopback_port


@pytest.fixture
def hangups() -> Iterator[None]:
    """What is started heeds SIGHUP; from a suite that nohup has started it would inherit to ignore it."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@contextlib.contextmanager
def short_directory() -> Iterator[Path]:
    """A directory with a short path (Unix sockets allow about 100 bytes), removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="isthmus-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture
def site_directory() -> Iterator[Path]:
    """One of these."""
    with short_directory() as directory:
        yield directory


def heed_interrupts() -> None:
    """What a script starts in the background ignores SIGINT; so would all that tests start, to interrupt it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    heed_interrupts()
    config.pluginmanager.register(second_chance.SecondChance(config))


def groups_of(item: pytest.Item) -> list[str]:
    """Which tests run in one worker: those so marked, and those that share what a fixture of their file has made."""
    assert isinstance(item, pytest.Function)
    if marked := [group for group in GROUPS if item.get_closest_marker(group)]:
        return marked
    file = item.nodeid.partition("::")[0]
    fixtures = itertools.chain(*item._fixtureinfo.name2fixturedefs.values())
    return [file] if any(each.scope == "module" and each.baseid == file for each in fixtures) else []


@pytest.hookimpl(tryfirst=True)  # before xdist turns groups into names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    second_chance.give(items)
    for item in items:
        for group in groups_of(item):
            item.add_marker(pytest.mark.xdist_group(group))
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))


def pytest_collection_finish() -> None:
    """What was collected stays to the end: nobody looks for garbage in it again and again, nor often elsewhere."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
