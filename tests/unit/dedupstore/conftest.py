"""A store's directory, empty and filled."""

from pathlib import Path

import pytest

from tests.conformance.filling import fill
from tests.unit.dedupstore.stores import FIVE, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def filled(path: Path) -> Path:
    """A store of five full containers, closed in order."""
    store = opened(path)
    fill(store, FIVE)
    store.close()
    return path
