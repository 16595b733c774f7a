"""Small stores on disk."""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import lmdb

from dedupstore import Verified, verify_store
from dedupstore.disk import DiskStore
from dedupstore.store import CONTAINER_BYTES
from tests.conformance.filling import A_CONTAINER

SIZE = 64 << 20
FIVE = range(A_CONTAINER * 5)


def no_pause(seconds: float) -> None:
    """In place of `time.sleep`."""


def opened(
    path: Path,
    size: int = SIZE,
    clock: Callable[[], float] = lambda: 1_700_000_000.0,
    sleep: Callable[[float], None] = no_pause,
) -> DiskStore:
    return DiskStore(path, size, cache_bytes=32 << 20, clock=clock, sleep=sleep)


def verified(path: Path) -> Verified:
    return verify_store(path, SIZE, 32 << 20, sleep=no_pause)


def failing(error: int) -> Callable[..., Any]:
    """What the system makes of any call."""

    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(error, os.strerror(error))

    return fail


def failing_but_for_the_superblock(file: int, buffers: list[Any], offset: int) -> int:
    """What a disk makes of a read that has bad places."""
    return (failing(errno.EIO) if offset else os.preadv)(file, buffers, offset)


def put_in_index(path: Path, database: bytes, key: bytes, value: bytes) -> bytes | None:
    """Behind the back of a closed store; what was there."""
    with lmdb.open(str(path / "index"), max_dbs=8) as index, index.begin(write=True) as txn:
        return txn.replace(key, value, db=index.open_db(database, txn))


def edit(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as opened_file:
        opened_file.seek(offset)
        opened_file.write(data)


def damage(path: Path, slot: int, offset: int) -> None:
    """Flip a bit of the live file."""
    place = slot * CONTAINER_BYTES + offset
    with (path / "containers").open("rb") as file:
        (byte,) = os.pread(file.fileno(), 1, place)
    edit(path / "containers", place, bytes([byte ^ 4]))


def spoil_pages(data: Path, name: bytes) -> None:
    """Write over each page of an index's file that has this fingerprint in it."""
    content = data.read_bytes()
    position = content.find(name)
    assert position > 0
    while position > 0:
        edit(data, position // 4096 * 4096, random.Random(1).randbytes(4096))
        position = content.find(name, position + 1)


def set_aside(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.name.startswith("set-aside-"))
