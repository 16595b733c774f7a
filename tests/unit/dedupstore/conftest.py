"""A store's directory, empty and filled; a disk that fails as told, and a store on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore.disk import DiskStore
from tests.conformance.filling import fill
from tests.unit.dedupstore.failing_disk import Clock, Disk
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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def store(tmp_path: Path, clock: Clock, disk: Disk) -> Iterator[DiskStore]:
    store = opened(tmp_path, clock=clock)
    yield store
    store.close()
