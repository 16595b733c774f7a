"""Tests of a file share a target and a pair: what they leave behind is theirs to clean up."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.iscsi.stage import ANY_DIGEST, PROTOCOLS, Stage, staged


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """With a short path (Unix sockets allow about 100 bytes), removed after the last test of the file."""
    directory = Path(tempfile.mkdtemp(prefix="isthmus-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def stage(directory: Path) -> Iterator[Stage]:
    """A target that agrees to any digest."""
    with staged(directory, parameters=ANY_DIGEST) as stage:
        yield stage


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """Of the forward that the way through leads by."""
    name: str = request.param
    return name
