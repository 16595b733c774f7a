"""A bed of sites for each test; at its end nothing runs any more, and no site has logged a defect."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.bed.sites import Bed


@pytest.fixture(autouse=True, scope="module")
def _left_open() -> Iterator[None]:
    """What tests left open is held against the last one of their file, and not against one of something else."""
    yield
    gc.collect()


@pytest.fixture
def bed(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bed]:
    bed = Bed(tmp_path, typed=[name for marker in request.node.iter_markers("typed") for name in marker.args])
    yield bed
    bed.close()
    assert not bed.complaints()
