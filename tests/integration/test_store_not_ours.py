"""A directory that this user may not write to: the store refuses to start and says what to do."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.errors import StoreUnusable
from tests.nobody import directory_of_nobody


@pytest.fixture
def directory() -> Iterator[Path]:
    with directory_of_nobody() as path:
        yield path


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_directory_without_permission(directory: Path, mode: int) -> None:
    directory.chmod(mode)
    with pytest.raises(StoreUnusable, match=rf"; let user {os.geteuid()} read and write {directory} \(chown\)$"):
        open_store("disk", 64 << 20, directory / "below")
    directory.chmod(0o700)
    open_store("disk", 64 << 20, directory / "below").close()


def test_a_file_without_permission(directory: Path) -> None:
    """Such as one that a start as root has left behind."""
    open_store("disk", 64 << 20, directory).close()
    (directory / "lock").chmod(0o400)
    with pytest.raises(StoreUnusable, match=rf"; let user {os.geteuid()} read and write {directory}/lock \(chown\)$"):
        open_store("disk", 64 << 20, directory)
