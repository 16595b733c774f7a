"""A user who is not root, for tests of what may not be read or written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOBODY = 65534
"""By Debian's policy; root may read and write everything, so it becomes somebody else meanwhile."""


@contextmanager
def directory_of_nobody() -> Iterator[Path]:
    """Of the user that the test runs as, and below a directory that everybody may enter."""
    path = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        if user == 0:
            os.chown(path, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, 0)
        yield path
    finally:
        if user == 0:
            os.setresuid(0, 0, 0)
        shutil.rmtree(path)
