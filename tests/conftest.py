"""What all tests share: hypothesis settings, free ports, site directories, what the markers mean."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from bench.sites import free_port as loopback_port

settings.register_profile("isthmus", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("isthmus")


@pytest.fixture
def free_port() -> Callable[[], int]:
    """A function that gives a loopback TCP port that nobody listens on, each time another."""
    return loopback_port


@pytest.fixture
def site_directory() -> Iterator[Path]:
    """A directory with a short path (Unix sockets allow about 100 bytes), removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="isthmus-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.hookimpl(tryfirst=True)  # before xdist turns groups into names
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("serial"):
            item.add_marker(pytest.mark.xdist_group("serial"))
        if item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))
