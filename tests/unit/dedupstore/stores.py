"""Small stores on disk."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb

from dedupstore import open_store
from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER

SIZE = 64 << 20
FIVE = range(A_CONTAINER * 5)


def opened(path: Path, size: int = SIZE, clock: Callable[[], float] = lambda: 1_700_000_000.0) -> ChunkStore:
    return open_store("disk", size, path, cache_bytes=32 << 20, clock=clock)


def failing(*_: object) -> int:
    """What a disk makes of a call when it fails."""
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def failing_but_for_the_superblock(file: int, buffers: list[Any], offset: int) -> int:
    """What a disk makes of a read that has bad places."""
    return failing() if offset else os.preadv(file, buffers, offset)


def put_in_index(path: Path, database: bytes, key: bytes, value: bytes) -> bytes | None:
    """Behind the back of a closed store; what was there."""
    with lmdb.open(str(path / "index"), max_dbs=8) as index, index.begin(write=True) as txn:
        return txn.replace(key, value, db=index.open_db(database, txn))
