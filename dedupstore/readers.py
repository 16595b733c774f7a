"""Makes LMDB's table of readers, `lock.mdb`, and tries to map it, before LMDB does."""

import errno
import mmap
import os
from pathlib import Path

from dedupstore.errors import StoreFault

READERS = 16
READERS_FULL = -30790
"""LMDB's number of the error that there is room for no more (MDB_READERS_FULL)."""
_TABLE_BYTES = 192 + (READERS - 1) * 64
"""Length of the table for so many readers. In a longer one LMDB would find room for more."""


def make_table(table: Path) -> None:
    """Make the table. Raises OSError if there is no room for it, StoreFault if the file system cannot map files."""
    _allocate(table)
    _try_to_map(table)


def _allocate(table: Path) -> None:
    """Allocate the table on disk: LMDB maps it without writing it, and on a full disk touching it ends the process."""
    file = os.open(table, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(file, 0, _TABLE_BYTES)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
    finally:
        os.close(file)


def _try_to_map(table: Path) -> None:
    """Map the table as LMDB will. A file system that maps no files (9p, FUSE) is no damage, but some report EINVAL."""
    try:
        with table.open("r+b") as file:
            if os.fstat(file.fileno()).st_size:
                mmap.mmap(file.fileno(), 0).close()
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENODEV):
            raise
        words = f"{table} cannot be mapped on its file system ({error.strerror}), as an index has to be"
        raise StoreFault(words) from error
