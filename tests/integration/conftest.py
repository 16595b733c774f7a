"""A bed of sites for each test; at its end nothing runs any more, and no site has logged a defect."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.bed.sites import Bed


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(tmp_path)
    yield bed
    bed.close()
    assert not bed.complaints()
