"""What lies in a store's directory and may be somebody else's, or lies elsewhere and is the store's."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupstore import open_store, purge_store
from dedupstore.errors import StoreUnusable
from dedupstore.lock import holder
from tests.conformance.filling import held
from tests.unit.dedupstore.stores import FIVE, SIZE, opened, set_aside


def test_the_newest_copy_survives_a_clock_that_was_set_back(filled: Path) -> None:
    """The others seemed to be younger, so it was deleted as soon as it had been set aside."""
    for count in range(4):
        for name in set_aside(filled):
            os.utime(filled / name, (4e9, 4e9 + count))
        (filled / "containers").write_bytes(b"foreign %d" % count * 100)
        opened(filled).close()
    kept = {(filled / name / "containers").read_bytes()[:9] for name in set_aside(filled)}
    assert len(kept) == 3
    assert b"foreign 3" in kept


def test_a_copy_that_cannot_be_deleted_stops_no_site(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's, say. The store had been moved by then: the start failed, and the next one did not say why."""
    for count in range(3):
        (filled / f"set-aside-{count}").mkdir()
    (filled / "containers").write_bytes(b"foreign" * 100)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", forbidden)
        store = opened(filled)
    replaced, copies = store.alarms
    assert "is not a store's" in replaced
    assert "set-aside-0, set-aside-1, set-aside-2, set-aside-20231114T221320Z" in copies
    store.close()
    (filled / "containers").write_bytes(b"foreign" * 100)
    opened(filled).close()
    assert set_aside(filled) == ["set-aside-2", "set-aside-20231114T221320Z", "set-aside-20231114T221320Z-2"]


def forbidden(path: Path, **_: object) -> None:
    if "set-aside" in path.name:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def stays(path: Path, treasure: Path, wrong: str) -> None:
    """Somebody else's file: the store is neither opened nor purged."""
    treasure.parent.mkdir(parents=True)
    treasure.write_bytes(b"somebody's treasure")
    expected = f"store {path}: {wrong}; name a directory of its own"
    with pytest.raises(StoreUnusable, match=expected):
        opened(path)
    with pytest.raises(StoreUnusable, match=expected):
        purge_store(path)
    assert treasure.read_bytes() == b"somebody's treasure"


def test_a_directory_of_that_name_is_somebody_elses(path: Path) -> None:
    """As of podman, whose images are in /var/lib/containers: opening moved them away, and purging deleted them."""
    image = path / "containers" / "storage" / "image"
    stays(path, image, f"{path}/containers is a directory, which no store makes")
    assert sorted(entry.name for entry in path.iterdir()) == ["containers", "lock"]


@pytest.mark.parametrize("action", [opened, purge_store])
def test_a_device_or_a_pipe_is_somebody_elses(path: Path, action: Callable[[Path], object]) -> None:
    """A disk has no length, and so passed for an empty file: its first bytes were written over."""
    path.mkdir()
    os.mkfifo(path / "containers")
    with pytest.raises(StoreUnusable, match=f"{path}/containers is a device, a pipe or a socket, which no store makes"):
        action(path)
    assert sorted(os.listdir(path)) == ["containers", "lock"]


def a_device(place: Path) -> None:
    place.symlink_to("/dev/null")


@pytest.mark.parametrize("name", ["lock", "containers", "index/data.mdb", "index/lock.mdb"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, a_device])
def test_whatever_is_no_file_where_a_store_has_one_stays(
    filled: Path, name: str, make: Callable[[Path], object]
) -> None:
    """A pipe as `data.mdb` hung the start, which only SIGKILL ended; a directory there cost the whole store."""
    (filled / name).rename(filled.parent / "kept")
    make(filled / name)
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=f"{filled / name} is .*, which no store makes; name a directory of"):
            opened(filled)
    assert holder(filled) == ""
    assert set_aside(filled) == []
    if (filled / name).is_dir():
        (filled / name).rmdir()
    (filled.parent / "kept").rename(filled / name)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    store.close()


@pytest.mark.parametrize("name", ["index", "index/compact"])
def test_whatever_is_no_directory_where_a_store_has_one_stays(filled: Path, name: str) -> None:
    """The store was set aside, and its containers with it."""
    index = filled / "index"
    if index == filled / name:
        index.rename(filled.parent / "kept")
    (filled / name).write_bytes(b"somebody's treasure")
    with pytest.raises(StoreUnusable, match=f"{filled / name} is no directory, as a store makes it; name a directory"):
        opened(filled)
    assert set_aside(filled) == []
    assert (filled / name).read_bytes() == b"somebody's treasure"


@pytest.mark.parametrize("name", ["lock", "index/data.mdb", "index/lock.mdb"])
def test_a_link_to_itself_leads_nowhere(filled: Path, name: str) -> None:
    """The remedy was another disk."""
    (filled / name).unlink()
    (filled / name).symlink_to((filled / name).name)
    with pytest.raises(
        StoreUnusable, match=f"{filled / name} is a link that leads nowhere; mount what it leads to, or"
    ):
        opened(filled)


def test_so_is_what_else_lies_in_a_directory_called_index(path: Path) -> None:
    """Other programs have one, too: it was moved away, or deleted by a purge, with all that was in it."""
    segment = path / "index" / "segments_1"
    stays(path, segment, f"{segment} is nothing that a store makes")
    assert sorted(entry.name for entry in path.iterdir()) == ["index", "lock"]


def test_an_index_may_be_a_disk_of_its_own(path: Path) -> None:
    (path / "index" / "lost+found").mkdir(parents=True)
    opened(path).close()
    opened(path).close()


def test_what_is_nothing_of_a_store_is_not_what_each_disk_has(path: Path) -> None:
    """To move `lost+found` away was the advice, with which nothing was better."""
    (path / "index" / "lost+found").mkdir(parents=True)
    (path / "index" / "segments_1").touch()
    with pytest.raises(StoreUnusable, match="index/segments_1 is nothing that a store makes"):
        opened(path)


def test_a_file_that_somebody_left_in_the_index_stops_no_site(filled: Path) -> None:
    (filled / "index" / "data.mdb.bak").write_bytes(b"of before the upgrade")
    store = opened(filled)
    assert not store.alarms
    store.close()


def test_a_refused_purge_leaves_the_mark_of_who_died_with_the_store(filled: Path) -> None:
    """By it the next opening walks over the index before LMDB sees it."""
    (filled / "lock").write_text("process 1 on somewhere since long\n")
    (filled / "set-aside-of-somebody").symlink_to(filled.parent)
    with pytest.raises(StoreUnusable, match="is a symbolic link"):
        purge_store(filled)
    assert (filled / "lock").read_bytes().strip()
    (filled / "set-aside-of-somebody").unlink()
    purge_store(filled)
    assert not (filled / "lock").read_bytes().strip()


@pytest.mark.parametrize("half", ["containers", "index"])
def test_a_half_that_was_moved_is_not_begun_by_who_only_asks(filled: Path, half: str) -> None:
    """What it had left there was in the way of the link to where the half is now, and cost the whole store."""
    elsewhere = filled.parent / half
    (filled / half).rename(elsewhere)
    before = sorted(filled.iterdir())
    for _ in range(2):
        with pytest.raises(StoreUnusable, match=f"{half}.* is not there; put it back"):
            open_store("disk", SIZE, filled, keep=True)
    assert sorted(filled.iterdir()) == before
    (filled / half).symlink_to(elsewhere)
    store = open_store("disk", SIZE, filled, keep=True)
    assert held(store, FIVE) == list(FIVE)
    store.close()


def test_the_lock_is_written_in_its_place(filled: Path) -> None:
    """A disk that is full by then has no room for a file that was cut to nothing."""
    lock = filled / "lock"
    released = lock.stat()
    store = opened(filled)
    assert lock.read_text().startswith("process ")
    assert lock.stat().st_size == released.st_size > 0
    store.close()
    assert lock.stat().st_size == released.st_size
