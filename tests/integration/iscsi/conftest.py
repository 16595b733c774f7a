"""Tests of a file share a target and a pair: what they leave behind is theirs to clean up."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import short_directory
from tests.integration.iscsi.stage import ANY_DIGEST, PROTOCOLS, Stage, staged


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """As `site_directory`, for all tests of a file."""
    with short_directory() as directory:
        yield directory


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
