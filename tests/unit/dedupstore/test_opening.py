"""The rules of FORMAT.md, "Opening": what is trusted, what is set aside, what fits."""

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lmdb
import pytest

from dedupstore import Verified, open_store, purge_store
from dedupstore.disk import DiskStore
from dedupstore.errors import ChunkMissing, StoreBusy, StoreUnusable
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES
from tests.conformance.filling import A_CONTAINER, chunk, fetch, fill, healthy, held, name_of, put
from tests.unit.dedupstore.stores import FIVE, SIZE, edit, opened, put_in_index, set_aside, spoil_pages, verified

SLOTS = 11


def with_hash(block: bytearray) -> bytes:
    return bytes(block[:32]) + fingerprint(bytes(block[:32]))


# What is there again


def test_a_closed_store_is_warm(filled: Path) -> None:
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert [fetch(store, name_of(number)) for number in FIVE] == [chunk(number) for number in FIVE]
    assert (store.alarms, store.figures().chunks, store.figures().containers) == ((), len(FIVE), 5)
    assert put(store, 999) == (6, 0)
    store.close()


def test_notes_about_peers_are_warm(path: Path) -> None:
    store = opened(path)
    fill(store, range(A_CONTAINER + 1))
    store.believe(b"p" * 16, 1, 0b11)
    store.believe(b"p" * 16, 2, 0b1)
    store.remember(b"p" * 16, b"epoch--1")
    store.believe(b"q" * 16, 1, 0b111)
    store.disbelieve(b"q" * 16)
    store.close()
    store = opened(path)
    assert [store.belief(b"p" * 16, container) for container in (1, 2)] == [0b11, 0b1]
    assert (store.recall(b"p" * 16), store.recall(b"q" * 16)) == (b"epoch--1", None)
    assert store.belief(b"q" * 16, 1) == 0
    store.close()


# What is not trusted


def spoil_nothing_but(name: str, how: Callable[[Path], object]) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        how(path / name)

    return spoil


def of_another_version(file: Path) -> None:
    block = bytearray(file.read_bytes()[:64])
    block[8] = 2
    edit(file, 0, with_hash(block))


def of_another_store(file: Path) -> None:
    block = bytearray(file.read_bytes()[:64])
    block[20] ^= 1
    edit(file, 0, with_hash(block))


def with_an_index_of_version_2(file: Path) -> None:
    with lmdb.open(str(file), max_dbs=8) as index, index.begin(write=True) as txn:
        txn.put(b"version", b"\2\0\0\0", db=index.open_db(b"meta", txn))


SPOILT = {
    "superblock is cut short": spoil_nothing_but("containers", lambda file: os.truncate(file, 40)),
    "the file `containers` is gone, or empty": spoil_nothing_but("containers", lambda file: os.truncate(file, 0)),
    "the file `containers` is gone, or empty ": spoil_nothing_but("containers", lambda file: file.unlink()),
    "not a store's": spoil_nothing_but("containers", lambda file: file.write_bytes(b"something else " * 9999)),
    "does not match its hash": spoil_nothing_but("containers", lambda file: edit(file, 17, b"\xff\xff\xff")),
    "is of version 2, this software knows 1": spoil_nothing_but("containers", of_another_version),
    "belong to different stores": spoil_nothing_but("containers", of_another_store),
    "index is of version 2": spoil_nothing_but("index", with_an_index_of_version_2),
    "index is gone": spoil_nothing_but("index", shutil.rmtree),
    "index is gone ": spoil_nothing_but("index/data.mdb", lambda file: file.unlink()),
    "index is damaged": spoil_nothing_but("index/data.mdb", lambda file: file.write_bytes(os.urandom(99_999))),
    "index is cut short": spoil_nothing_but("index/data.mdb", lambda file: os.truncate(file, 16384)),
}


@pytest.mark.parametrize("reason", SPOILT)
def test_what_cannot_be_trusted_is_set_aside(filled: Path, reason: str) -> None:
    SPOILT[reason](filled)
    store = opened(filled)
    assert held(store, FIVE) == []
    replaced, copies = store.alarms
    assert reason.strip() in replaced
    assert str(filled) in replaced
    assert set_aside(filled) == ["set-aside-20231114T221320Z"]
    assert "set-aside-20231114T221320Z" in copies
    assert put(store, 1) == (1, 0)
    store.close()
    again = opened(filled)
    assert fetch(again, name_of(1)) == chunk(1)
    assert len(again.alarms) == 1, "the copy is still there, and nothing else is wrong"
    again.close()


def test_copies_that_are_deleted_are_an_alarm_no_more(filled: Path) -> None:
    """Nobody has to restart for it, nor does the store have to learn something new."""
    (filled / "containers").write_bytes(b"foreign" * 100)
    now = 1_700_000_000.0
    store = opened(filled, clock=lambda: now)
    for name in set_aside(filled):
        shutil.rmtree(filled / name)
    assert (len(store.alarms), store.write_due) == (2, False)
    now += 120
    assert store.write_due
    store.write()
    assert (store.alarms, store.write_due) == ((), False)
    store.close()


def test_copies_that_stay_are_looked_for_rarely(filled: Path) -> None:
    (filled / "containers").write_bytes(b"foreign" * 100)
    now = 1_700_000_000.0
    store = opened(filled, clock=lambda: now)
    now += 120
    store.write()
    assert (len(store.alarms), store.write_due) == (2, False)
    store.close()


def test_only_the_three_newest_copies_survive(filled: Path) -> None:
    for count in range(5):
        (filled / "containers").write_bytes(b"foreign %d" % count * 100)
        opened(filled).close()
    kept = {(filled / name / "containers").read_bytes()[:9] for name in set_aside(filled)}
    assert kept == {b"foreign 2", b"foreign 3", b"foreign 4"}


def test_a_foreign_file_is_set_aside_even_without_an_index(path: Path) -> None:
    path.mkdir()
    (path / "containers").write_bytes(b"somebody's treasure")
    store = opened(path)
    assert len(store.alarms) == 2
    assert [(path / name / "containers").read_bytes() for name in set_aside(path)] == [b"somebody's treasure"]
    store.close()


def test_a_store_whose_creation_was_interrupted_begins_anew(path: Path) -> None:
    opened(path).close()
    shutil.rmtree(path / "index")
    store = opened(path)
    assert healthy(store)
    store.close()


def spoil(path: Path) -> None:
    """The pages of its index that lead to the first chunk."""
    spoil_pages(path / "index" / "data.mdb", name_of(0))


def test_a_spoilt_page_of_the_index_is_found_by_the_opening_after_the_next(filled: Path) -> None:
    """After an orderly close nobody walks the index: the page is noticed in use, and the next opening looks closely."""
    spoil(filled)
    store = opened(filled)
    assert healthy(store)
    assert store.find(name_of(0)) is None
    assert len(store.alarms) == 1
    assert "restart to begin an empty one" in store.alarms[0]
    with pytest.raises(ChunkMissing):
        store.read(name_of(0))
    store.load(name_of(0))
    fill(store, range(1000, 1000 + 3 * A_CONTAINER))
    store.close()
    assert (filled / "lock").read_bytes().strip(), "the next one walks before LMDB sees the index"
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    assert len(set_aside(filled)) == 1
    store.close()


@pytest.mark.parametrize("locked", [True, False])
def test_a_spoilt_page_of_an_index_that_was_not_closed_in_order_is_found_at_once(
    filled: Path, tmp_path: Path, locked: bool
) -> None:
    """After a crash; and whatever the lock says: a copy or a backup may have the files of a store that is open, and a
    lock that nobody has held."""
    store = opened(filled)
    shutil.copytree(filled, tmp_path / "copy")
    store.close()
    if not locked:
        (tmp_path / "copy" / "lock").write_bytes(b"")
    spoil(tmp_path / "copy")
    store = opened(tmp_path / "copy")
    assert "the index is damaged" in store.alarms[0]
    assert len(set_aside(tmp_path / "copy")) == 1
    store.close()


def test_verifying_walks_the_index_of_a_store_that_was_closed_in_order(filled: Path) -> None:
    assert verified(filled) == Verified(len(FIVE), 0, True, ())
    spoil(filled)
    found = verified(filled)
    assert (found.sound, found.dropped, found.whole) == (0, 0, False)
    assert "could not be trusted (the index is damaged" in found.alarms[0]
    found = verified(filled)
    assert (found.whole, len(found.alarms)) == (True, 1), "that the copy still lies there is no new loss"


def test_containers_that_are_lost_are_no_whole_store(filled: Path) -> None:
    os.truncate(filled / "containers", 3 * CONTAINER_BYTES + 50_000)
    found = verified(filled)
    assert (found.sound, found.dropped, found.whole) == (A_CONTAINER * 2, 0, False)


def test_who_died_with_the_store_has_its_index_walked(filled: Path) -> None:
    """Even if it died before it noted in the index that it had opened it."""
    assert (filled / "lock").read_bytes().strip() == b""
    spoil(filled)
    (filled / "lock").write_text("process 1 on somewhere since long\n")
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    store.close()
    assert (filled / "lock").read_bytes().strip() == b""


def test_an_index_that_was_closed_in_order_is_not_walked(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes seconds for a large one."""
    monkeypatch.setattr("dedupstore.opening.problems", lambda index: ["it was walked"])
    for _ in range(2):
        store = opened(filled)
        assert healthy(store)
        store.close()


def interrupted(path: Path) -> list[str]:
    raise KeyboardInterrupt


def test_a_walk_that_is_interrupted_is_left_to_the_next(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(filled)
    (filled / "lock").write_text("process 1 on somewhere since long\n")
    with monkeypatch.context() as patched:
        patched.setattr("dedupstore.opening.problems", interrupted)
        with pytest.raises(KeyboardInterrupt):
            opened(filled)
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    store.close()


def spoil_pointers(data: Path) -> None:
    """Every page of the trees keeps its header, but says that its nodes lie far behind its end."""
    content = data.read_bytes()
    for page in range(2 * 4096, len(content), 4096):
        flags, lower = (int.from_bytes(content[page + at : page + at + 2], "little") for at in (10, 12))
        if flags in (1, 2) and 16 <= lower <= 4096:
            edit(data, page + 16, b"\xff" * (lower - 16))


def test_an_index_of_which_a_process_may_die_is_set_aside_by_the_next(filled: Path) -> None:
    spoil_pointers(filled / "index" / "data.mdb")
    program = "import sys; from dedupstore import open_store; print(open_store('disk', 64 << 20, sys.argv[1]).alarms)"
    command = [sys.executable, "-c", program, str(filled)]
    subprocess.run(command, check=False, capture_output=True)  # LMDB trusts its file: this one may be killed
    after = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (after.returncode, len(set_aside(filled))) == (0, 1)
    assert "set-aside-" in after.stdout


def test_an_index_of_which_a_process_may_die_is_verified_at_once(filled: Path) -> None:
    spoil_pointers(filled / "index" / "data.mdb")
    found = verified(filled)
    assert not found.whole
    assert "could not be trusted (the index is damaged" in found.alarms[0]


@pytest.mark.parametrize("database", [b"container", b"peer"])
def test_rows_that_make_no_sense_are_no_reason_to_refuse(filled: Path, database: bytes) -> None:
    put_in_index(filled, database, (3).to_bytes(8, "big"), b"short")
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    assert len(set_aside(filled)) == 1
    store.close()


@pytest.mark.parametrize(("key", "value"), [(b"epochs", bytes(9)), (b"next", b"\xff" * 8)])
def test_what_the_store_says_of_itself_has_to_make_sense(filled: Path, key: bytes, value: bytes) -> None:
    """With an epoch of another length there was no HELLO that could be sent, as often as the site was restarted."""
    put_in_index(filled, b"meta", key, value)
    store = opened(filled)
    assert "the store's own data in the index make no sense" in store.alarms[0]
    assert [len(epoch) for epoch in store.epochs] == [8]
    fill(store, FIVE)
    store.close()


def test_a_place_that_makes_no_sense_is_a_miss(filled: Path) -> None:
    put_in_index(filled, b"chunk", name_of(0), b"short")
    store = opened(filled)
    assert (store.find(name_of(0)), store.find(name_of(1))) == (None, (1, 1))
    assert "restart to begin an empty one" in store.alarms[0]
    store.close()
    store = opened(filled)
    assert "the index is damaged" in store.alarms[0]
    assert store.figures().chunks == 0
    store.close()
    store = opened(filled)
    assert "copies that were set aside" in store.alarms[0], "that is all"
    store.close()


def test_verifying_finds_a_place_that_makes_no_sense(filled: Path) -> None:
    put_in_index(filled, b"chunk", name_of(0), b"short")
    found = verified(filled)
    assert (found.sound, found.whole) == (0, False)
    assert "could not be trusted (the index is damaged" in found.alarms[0]


# Who may


def test_one_process_at_a_time(path: Path) -> None:
    store = opened(path)
    in_use = rf"store {path} is in use by process {os.getpid()} (in a container )?on .+ since .+; stop that process"
    with pytest.raises(StoreBusy, match=in_use):
        opened(path)
    with pytest.raises(StoreBusy):
        purge_store(path)
    store.close()
    opened(path).close()


@pytest.mark.parametrize("below", ["", "below", "below/it"])
def test_a_file_stands_where_the_store_should_be(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    place = tmp_path / "file" / below
    expected = f"store {place}: {tmp_path}/file is not a directory; move it away, or name a directory as store.path"
    with pytest.raises(StoreUnusable, match=re.escape(expected)):
        opened(place)


def test_a_link_to_nowhere_stands_where_the_store_should_be(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreUnusable, match=f"store {tmp_path}/link: {tmp_path}/link is not a directory; move it away"):
        opened(tmp_path / "link")


def test_a_cache_too_small(path: Path) -> None:
    with pytest.raises(StoreUnusable, match="give it at least 32 MiB"):
        DiskStore(path, SIZE, cache_bytes=(32 << 20) - 1)
    assert not path.exists()


def test_a_cache_for_which_there_is_no_memory(filled: Path) -> None:
    """The kernel refuses it, and the store is left as it was: nobody has died with it."""
    with pytest.raises(StoreUnusable, match=r"no memory for a store cache of \d+ MiB; lower store.cache"):
        open_store("disk", SIZE, filled, cache_bytes=1 << 50)
    assert (filled / "lock").read_text().strip() == ""
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert len(store.epochs) == 1
    store.close()


def test_only_the_owner_may_read_what_is_stored(filled: Path) -> None:
    for part in (filled, *filled.rglob("*")):
        assert part.stat().st_mode & 0o077 == 0


def test_a_purged_store_is_another(filled: Path) -> None:
    store = opened(filled)
    store.close()
    (filled / "containers").write_bytes(b"foreign")
    opened(filled).close()
    purge_store(filled)
    assert sorted(os.listdir(filled)) == ["lock"]
    after = opened(filled)
    assert (after.identity != store.identity, after.alarms, after.figures().chunks) == (True, (), 0)
    after.close()


def test_purging_nothing_is_no_trouble(tmp_path: Path) -> None:
    purge_store(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


# Links


@pytest.mark.parametrize("part", ["containers", "index"])
def test_a_link_that_leads_nowhere_costs_nothing(filled: Path, part: str) -> None:
    """Its disk is not mounted. The rest was set aside, and each further try drove out one more copy."""
    elsewhere = filled.parent / "disk" / part
    elsewhere.parent.mkdir()
    (filled / part).rename(elsewhere)
    (filled / part).symlink_to(elsewhere)
    unmounted = elsewhere.parent.rename(filled.parent / "unmounted")
    for _ in range(5):
        with pytest.raises(StoreUnusable, match=f"{part} is a link that leads nowhere; mount what it leads to"):
            opened(filled)
    unmounted.rename(elsewhere.parent)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert healthy(store)
    store.close()


def test_a_copy_that_is_a_link_does_not_keep_a_store_from_opening(filled: Path) -> None:
    (filled / "set-aside-moved").symlink_to(filled.parent / "nowhere")
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    assert "delete set-aside-moved" in store.alarms[0]
    store.close()


def test_of_copies_that_are_links_the_link_goes(filled: Path) -> None:
    kept = filled.parent / "kept"
    kept.mkdir()
    for number in range(3):
        (filled / f"set-aside-{number}").symlink_to(kept)
    edit(filled / "containers", 0, bytes(8))
    opened(filled).close()
    assert len(set_aside(filled)) == 3
    assert kept.is_dir()


@pytest.mark.parametrize("name", ["containers", "index", "set-aside-moved"])
def test_purging_refuses_links_before_it_deletes_anything(filled: Path, name: str) -> None:
    elsewhere = filled.parent / "elsewhere"
    if (filled / name).exists():
        (filled / name).rename(elsewhere)
    else:
        elsewhere.mkdir()
    (filled / name).symlink_to(elsewhere)
    with pytest.raises(StoreUnusable, match=f"{name} is a symbolic link; delete the link, and what it leads to"):
        purge_store(filled)
    store = opened(filled)
    assert held(store, FIVE) == list(FIVE)
    store.close()


@pytest.mark.parametrize("part", ["containers", "index"])
def test_what_cannot_be_set_aside_stays_as_a_whole(filled: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk is mounted there. The rest was moved, and each further try left one more copy of nothing."""
    rename = Path.rename

    def busy(path: Path, target: Path) -> Path:
        if path.name == part:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path), None, str(target))
        return rename(path, target)

    before = [(filled / "containers").stat().st_ino, (filled / "index").stat().st_ino]
    edit(filled / "containers", 0, bytes(8))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", busy)
        for _ in range(5):
            with pytest.raises(StoreUnusable, match="busy"):
                opened(filled)
    assert set_aside(filled) == []
    assert [(filled / "containers").stat().st_ino, (filled / "index").stat().st_ino] == before
    opened(filled).close()
    assert len(set_aside(filled)) == 1
