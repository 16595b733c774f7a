"""A store of 64 MiB on a file system of 24 MB: the disk is really full, for containers and for the index.

Row 14 of the fault table: nothing raises, an alarm says so, the store works on with what room there is, evicts the
oldest instead of growing, and is whole when it is opened again.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedupstore import open_store, purge_store
from dedupstore.disk import DiskStore
from dedupstore.errors import StoreUnusable
from dedupstore.store import ChunkStore
from tests.conformance.filling import A_CONTAINER, LARGE, chunk, fetch, fill, held, name_of
from tests.integration.bed import disks

pytestmark = pytest.mark.root

SIZE = 64 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disks.small_disk(tmp_path / "disk", 24) as disk:
        yield disk


def free(disk: Path) -> int:
    room = os.statvfs(disk)
    return room.f_bavail * room.f_frsize


def take_the_rest(disk: Path) -> None:
    with (disk / "others").open("wb") as file:
        while free(disk):
            os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free(disk))


def fill_and_check(store: ChunkStore, first: int, containers: int, length: int = LARGE) -> None:
    numbers = range(first, first + containers * A_CONTAINER * (LARGE // length))
    fill(store, numbers, length)
    young = held(store, numbers, length)
    assert young, "the disk is full, and yet something new is stored"
    assert young == list(range(young[0], young[-1] + 1))
    assert [fetch(store, name_of(number, length)) for number in young] == [chunk(number, length) for number in young]


def test_a_disk_that_fills_up(small_disk: Path) -> None:
    store = open_store("disk", SIZE, small_disk / "store")
    fill_and_check(store, 0, 20)
    assert any("The disk is full" in alarm for alarm in store.alarms)
    fill_and_check(store, 10_000, 20, length=8192)
    fill_and_check(store, 1000, 20)
    store.close()
    store = DiskStore(small_disk / "store", SIZE)
    assert store.alarms == ()
    assert store.verify() == (store.figures().chunks, 0)
    assert store.figures().containers >= 3
    store.close()


def test_a_disk_that_others_fill(small_disk: Path) -> None:
    """Not a byte is left, not even for the index: the store gives up containers until it has room to say so."""
    now = 1_700_000_000.0
    store = open_store("disk", SIZE, small_disk / "store", clock=lambda: now)
    fill(store, range(A_CONTAINER * 3))
    take_the_rest(small_disk)
    fill(store, range(100, 100 + A_CONTAINER * 4), 8192)
    for round_ in range(5):
        fill(store, range(1000 * round_, 1000 * round_ + A_CONTAINER * 3))
        now += 641
    assert store.alarms != ()
    store.figures()
    (small_disk / "others").unlink()
    now += 641
    fill(store, range(20_000, 20_000 + A_CONTAINER * 2))
    store.close()
    store = DiskStore(small_disk / "store", SIZE)
    assert store.alarms == ()
    assert store.verify() == (store.figures().chunks, 0)
    store.close()


def test_a_disk_that_is_full_when_the_store_is_opened(small_disk: Path) -> None:
    """A host that was started anew had no site for want of the 60 bytes by which `lock` names its holder."""
    store = open_store("disk", SIZE, small_disk / "store")
    fill(store, range(A_CONTAINER * 3))
    store.close()
    take_the_rest(small_disk)
    store = open_store("disk", SIZE, small_disk / "store")
    assert len(held(store, range(A_CONTAINER * 3))) == A_CONTAINER * 3
    fill_and_check(store, 1000, 4)
    store.close()


def test_a_store_on_a_full_disk_is_purged(small_disk: Path) -> None:
    """That makes room."""
    open_store("disk", SIZE, small_disk / "store").close()
    take_the_rest(small_disk)
    purge_store(small_disk / "store")
    assert free(small_disk) > 0


def test_a_disk_without_room_for_an_empty_store(small_disk: Path) -> None:
    with (small_disk / "others").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free(small_disk) - 8192)
    with pytest.raises(StoreUnusable, match="make room on the disk"):
        open_store("disk", SIZE, small_disk / "store")


OPEN = """
import sys
from dedupstore import open_store
from dedupstore.errors import StoreUnusable
try:
    open_store("disk", int(sys.argv[2]), sys.argv[1]).close()
except StoreUnusable as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("pages", range(1, 9))
def test_a_disk_with_too_little_room_for_an_empty_store(small_disk: Path, pages: int) -> None:
    """Who opens it is refused: LMDB's table of readers is mapped, and touching it ended the process, each time."""
    with (small_disk / "others").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free(small_disk) - pages * 4096)
    command = [sys.executable, "-c", OPEN, str(small_disk / "store"), str(SIZE)]
    for _ in range(2):
        opening = subprocess.run(command, check=False, capture_output=True, text=True)
        assert (opening.returncode, opening.stderr) == (0, "")
        assert opening.stdout.endswith("; make room on the disk\n")
    assert not list(small_disk.rglob("set-aside-*")), "there is nothing yet that could be damaged"


def test_a_store_that_is_set_aside_and_leaves_no_room_for_another(small_disk: Path) -> None:
    """It is what fills the disk, and no word was said of it."""
    path = small_disk / "store"
    store = open_store("disk", SIZE, path)
    fill_and_check(store, 0, 3)
    store.close()
    with (path / "containers").open("r+b") as file:
        file.write(b"foreign!")
    take_the_rest(small_disk)
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=rf"make room on the disk: delete set-aside-\S+ in {path}$"):
            open_store("disk", SIZE, path)
    shutil.rmtree(next(path.glob("set-aside-*")))
    store = open_store("disk", SIZE, path)
    fill_and_check(store, 0, 2)
    store.close()


def test_a_disk_that_cannot_be_written(small_disk: Path) -> None:
    open_store("disk", SIZE, small_disk / "store").close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    for path in (small_disk / "store", small_disk / "new"):
        words = f"store {path} cannot be opened: Read-only file system .*; mount it writable, or let its service"
        with pytest.raises(StoreUnusable, match=words):
            open_store("disk", SIZE, path)
