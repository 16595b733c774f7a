"""Where LMDB does not open the index, or dies of it: damage is set aside, trouble of the host's is not."""

import errno
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dedupstore import purge_store
from dedupstore.errors import StoreUnusable
from tests.conformance.filling import healthy, held
from tests.unit.dedupstore.failing_disk import Disk
from tests.unit.dedupstore.stores import FIVE, failing, opened, put_in_index, verified


def flip(path: Path, at: int, bit: int) -> None:
    """In both of LMDB's first pages, one of which counts."""
    data = path / "index" / "data.mdb"
    content = bytearray(data.read_bytes())
    for meta in (0, 4096):
        content[meta + at] ^= bit
    data.write_bytes(content)


@pytest.mark.parametrize(
    "at",
    [
        pytest.param(20, id="version"),
        pytest.param(141, id="more pages than there is memory for"),
        pytest.param(142, id="more pages than LMDB maps"),
    ],
)
def test_a_bit_for_which_lmdb_does_not_open_the_index_is_no_reason_to_refuse(filled: Path, at: int) -> None:
    """It takes some for trouble of the host's, and an index that was closed in order is not walked otherwise."""
    flip(filled, at, 0x80)
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    assert list(filled.glob("set-aside-*"))
    store.close()


def test_trouble_of_the_hosts_is_no_reason_to_set_an_index_aside(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("dedupstore.index.lmdb.open", failing(errno.ENOMEM))
        with pytest.raises(StoreUnusable, match="Cannot allocate memory"):
            opened(filled)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


class FailingWalk:
    """What lmdb.verify makes of an index of which a disk gives nothing, for so many times."""

    def __init__(self, times: float = math.inf) -> None:
        self.times = times

    def __call__(self, file: str) -> list[str]:
        self.times -= 1
        if self.times >= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO), file)
        return []


def orphan(path: Path) -> None:
    """Leave the store as if its holder had died: its index is walked over before LMDB opens it."""
    (path / "lock").write_text("process 1 on somewhere since long\n")


def leave_unclean(path: Path) -> None:
    """As a store that is copied while it is open: its index is walked over when LMDB has opened it."""
    put_in_index(path, b"meta", b"clean", b"\0")


@pytest.fixture
def unreadable(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose holder died, and a disk that gives nothing of its index; the walk over that sees it."""
    orphan(filled)
    monkeypatch.setattr("lmdb.verify.verify", FailingWalk())
    return filled


@pytest.mark.parametrize(("times", "pauses"), [(1, [1.0]), (2, [1.0, 10.0])])
@pytest.mark.parametrize("leave", [orphan, leave_unclean])
def test_an_index_that_can_be_read_again_seconds_later_costs_nothing(
    filled: Path, monkeypatch: pytest.MonkeyPatch, leave: Callable[[Path], None], times: int, pauses: list[float]
) -> None:
    """As where a path to the disk is switched, or a controller reset: the whole store was set aside."""
    leave(filled)
    monkeypatch.setattr("lmdb.verify.verify", FailingWalk(times))
    slept = list[float]()
    store = opened(filled, sleep=slept.append)
    assert slept == pauses
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()
    assert not list(filled.glob("set-aside-*"))


@pytest.mark.parametrize(("times", "pauses"), [(1, [1.0]), (2, [1.0, 10.0])])
@pytest.mark.parametrize("leave", [orphan, leave_unclean, lambda path: None], ids=["orphan", "unclean", "in order"])
def test_a_disk_that_is_back_seconds_later_is_waited_for(
    filled: Path,
    disk: Disk,
    monkeypatch: pytest.MonkeyPatch,
    leave: Callable[[Path], None],
    times: int,
    pauses: list[float],
) -> None:
    """The start was refused at once, where only a part of the index that was not given had been asked for again."""
    leave(filled)
    disk.read_error = errno.EIO
    monkeypatch.setattr("lmdb.verify.verify", lambda file: failing(disk.read_error)() if disk.read_error else [])
    slept = list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        disk.read_error = errno.EIO if len(slept) < times else 0

    store = opened(filled, sleep=sleep)
    assert slept == pauses
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


@pytest.mark.parametrize(("call", "name"), [("os.open", "lock"), ("os.open", "containers"), ("os.stat", "containers")])
def test_a_file_that_can_be_opened_seconds_later_is_waited_for(
    filled: Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    """The start was refused at once, where only what lies in the file had been asked for again."""
    really, slept = getattr(os, call[3:]), list[float]()

    def away(path: Any, *arguments: Any, **more: Any) -> Any:
        if path == filled / name and len(slept) < 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return really(path, *arguments, **more)

    monkeypatch.setattr(call, away)
    store = opened(filled, sleep=slept.append)
    assert slept == [1.0, 10.0]
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


def test_an_index_that_cannot_be_read_is_set_aside(unreadable: Path) -> None:
    """LMDB would end the process there. A part of the disk is bad, and a site is worth more than what is warm."""
    slept = list[float]()
    store = opened(unreadable, sleep=slept.append)
    assert slept == [1.0, 10.0]
    assert "the index cannot be read: Input/output error" in store.alarms[0]
    assert list(unreadable.glob("set-aside-*"))
    store.close()


def test_a_copy_that_was_set_aside_can_be_put_back(unreadable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As OPERATIONS.md says, where the disk was only away for a moment."""
    opened(unreadable).close()
    monkeypatch.undo()
    shutil.rmtree(unreadable / "index")
    (unreadable / "containers").unlink()
    (copy,) = unreadable.glob("set-aside-*")
    for part in copy.iterdir():
        part.rename(unreadable / part.name)
    copy.rmdir()
    assert verified(unreadable) == (len(FIVE), 0, True, ())


def test_an_index_that_cannot_be_read_is_not_set_aside_by_who_verifies(
    unreadable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That part of the disk may be away for a moment, and no site waits."""
    for _ in range(2):
        with pytest.raises(
            StoreUnusable, match=r"the index cannot be read: Input/output error \(.*\); see to the disk before the site"
        ):
            verified(unreadable)
    assert not list(unreadable.glob("set-aside-*"))
    monkeypatch.undo()
    assert verified(unreadable) == (len(FIVE), 0, True, ())


def test_a_disk_of_which_nothing_can_be_read_costs_no_store(
    unreadable: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be back in a minute, as one on a network. All that was warm was set aside, and the start failed as well,
    since an empty store could not be made either."""
    disk.read_error = errno.EIO
    for _ in range(2):
        with pytest.raises(StoreUnusable, match="the disk failed: Input/output error; see to the disk"):
            opened(unreadable)
    assert not list(unreadable.glob("set-aside-*"))
    monkeypatch.undo()
    store = opened(unreadable)
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


def test_a_superblock_that_cannot_be_read_is_named(filled: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """If that place alone is bad, no word led to a site that runs again: the disk was said to have failed."""
    disk.read_error = errno.EIO
    for _ in range(2):
        with pytest.raises(
            StoreUnusable, match=r"its superblock cannot be read \(.*Input/output.*\); .* purge the store"
        ):
            opened(filled)
    assert not list(filled.glob("set-aside-*"))
    purge_store(filled)
    monkeypatch.undo()
    store = opened(filled)
    assert healthy(store)
    store.close()


def test_a_process_that_may_open_no_more_files_is_told_so(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that the disk is to blame."""
    monkeypatch.setattr("dedupstore.index.lmdb.open", failing(errno.EMFILE))
    with pytest.raises(StoreUnusable, match=r"Too many open files; let this process open more files \(ulimit -n\)"):
        opened(filled)


def test_a_directory_that_cannot_be_listed_leaves_nothing_open(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies that were set aside are looked for last, when all files are open."""
    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr("dedupstore.opening.parts.warn_of_copies", failing(errno.EIO))
        with pytest.raises(StoreUnusable, match="Input/output error"):
            opened(filled)
    assert len(os.listdir("/proc/self/fd")) == before
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    store.close()


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENODEV])
def test_a_file_system_that_maps_no_file_damages_nothing(
    filled: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """As of 9p or FUSE. By EINVAL a sound store was set aside, and at the fourth start it was deleted."""
    with monkeypatch.context() as patched:
        patched.setattr("dedupstore.readers.mmap", SimpleNamespace(mmap=failing(error)))
        patched.setattr("dedupstore.index.lmdb.open", failing(error))
        with pytest.raises(StoreUnusable, match=r"cannot be mapped on its file system .*; configure a path on a local"):
            opened(filled)
    assert not list(filled.glob("set-aside-*"))
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


def test_what_a_systemd_unit_keeps_from_being_written_is_said_to_be_perhaps_that(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours lets a site write below /var/lib/isthmus alone, and `mount` shows the rest as writable."""

    def read_only(place: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(place))

    monkeypatch.setattr(Path, "mkdir", read_only)
    with pytest.raises(StoreUnusable, match=r"Read-only file system.*ReadWritePaths of a systemd unit"):
        opened(path)


OPEN = "from dedupstore import open_store as opened; print(opened('disk', 64 << 20, sys.argv[1]).alarms)"
VERIFY = "from dedupstore import verify_store; print(verify_store(sys.argv[1], 64 << 20).alarms)"


@pytest.mark.parametrize("steps", [[OPEN, OPEN], [VERIFY]], ids=["open", "verify"])
def test_a_bit_of_which_a_process_dies_is_found_by_the_next(filled: Path, steps: list[str]) -> None:
    """Each one died of it, also who verified the store: no page that is walked over shows the bit."""
    flip(filled, 44, 4)
    for step in steps:
        command = [sys.executable, "-c", f"import sys; {step}", str(filled)]
        last = subprocess.run(command, check=False, capture_output=True, text=True)  # the first one may die
    assert last.returncode == 0
    assert "the index is damaged" in last.stdout


def test_a_store_for_which_there_is_no_address_space_names_its_size(tmp_path: Path) -> None:
    """Not the disk, which is well."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from dedupstore import open_store\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "open_store('disk', 900 << 40, Path(sys.argv[1]))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert "lower store.size, or let this process map more (ulimit -v)" in ended.stderr
