"""A directory that this user may not write to: the store refuses to start and says what to do."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.errors import StoreUnusable

NOBODY = 65534
"""By Debian's policy; root may write everywhere, so it becomes somebody else for the time of a test."""


@pytest.fixture
def directory() -> Iterator[Path]:
    """Of the user that the test runs as, and below a directory that everybody may enter."""
    path = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        if user == 0:
            os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield path
    finally:
        os.seteuid(user)
        shutil.rmtree(path)


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_directory_without_permission(directory: Path, mode: int) -> None:
    directory.chmod(mode)
    with pytest.raises(StoreUnusable, match="let this user write there"):
        open_store("disk", 64 << 20, directory)
    directory.chmod(0o700)
    open_store("disk", 64 << 20, directory).close()
