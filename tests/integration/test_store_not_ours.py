"""A directory that this user may not write to: the store refuses to start and says what to do. (As root: see the full
disk, where the file system itself is read-only.)"""

import os
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.errors import StoreUnusable


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_directory_without_permission(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    try:
        with pytest.raises(StoreUnusable, match="let this user write there"):
            open_store("disk", 64 << 20, tmp_path)
    finally:
        tmp_path.chmod(0o700)
