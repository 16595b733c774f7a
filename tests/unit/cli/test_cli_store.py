"""`isthmus store stats|verify|purge`: of a stopped site from the disk, of a running one from itself."""

import errno
import json
import os
import pwd
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from blake3 import blake3

from dedupstore import container_file, open_store
from dedupstore.fingerprint import fingerprint
from dedupstore.store import CONTAINER_BYTES, ChunkStore
from proxy.cli.users import as_user
from proxy.errors import ExitCode
from tests.unit.cli.conftest import NO_TOKEN, OUTLINE, Isthmus, StatusSite, change
from tests.unit.dedupstore.stores import failing_but_for_the_superblock

SIZE = 64 << 20
CHUNKS = [bytes([number]) * 5000 for number in range(20)]
ANY = pytest.mark.parametrize("words", [("stats",), ("verify",), ("purge", "--yes")])
"""Any of the commands."""


def open_west(pair: Path) -> ChunkStore:
    return open_store("disk", SIZE, pair / "store")


@pytest.fixture
def filled(pair: Path) -> Path:
    """West's file, with some chunks in its store."""
    config = pair / "west.toml"
    change(config, "10GiB", "64MiB")
    store = open_west(pair)
    for chunk in CHUNKS:
        store.put(fingerprint(chunk), chunk)
    store.close()
    return config


@pytest.fixture
def owner(filled: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the store."""
    program = "import sys, dedupstore as d; s = d.open_store('disk', int(sys.argv[2]), sys.argv[1]); print(); input()"
    command = [sys.executable, "-u", "-c", program, str(filled.parent / "store"), str(SIZE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.communicate("\n")


def test_stats_of_a_stopped_site(isthmus: Isthmus, filled: Path) -> None:
    shown = isthmus("store", "stats", filled, "--json")
    assert (shown.exit_code, shown.stderr) == (0, "")
    figures = json.loads(shown.stdout)
    assert (figures["mode"], figures["size_bytes"], figures["chunks"]) == ("disk", SIZE, len(CHUNKS))
    assert "97.7 KiB" in isthmus("store", "stats", filled).stdout


def test_stats_of_another_releases_store_leave_it_where_it_is(isthmus: Isthmus, filled: Path) -> None:
    """Set aside by a question it would be lost to the release that made it, and is still installed, or is again."""
    store = filled.parent / "store"
    with (store / "containers").open("r+b") as file:
        head = bytearray(file.read(32))
        struct.pack_into("<I", head, 8, 2)
        file.seek(0)
        file.write(head + blake3(head).digest())
    shown = isthmus("store", "stats", filled)
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    assert "the store is of version 2, this software knows 1; the next start of the site sets it aside" in shown.stderr
    assert sorted(os.listdir(store)) == ["containers", "index", "lock"]
    with (store / "containers").open("r+b") as file:
        struct.pack_into("<I", head, 8, 1)
        file.write(head + blake3(head).digest())
    again = isthmus("store", "stats", filled, "--json")
    assert (again.exit_code, json.loads(again.stdout)["chunks"]) == (0, len(CHUNKS))


def test_stats_of_a_store_that_is_not_all_there_take_nothing_from_it(isthmus: Isthmus, filled: Path) -> None:
    """It may be on its way back, from a backup. What was not there yet was dropped, and told to nobody else."""
    containers = filled.parent / "store" / "containers"
    content = containers.read_bytes()
    os.truncate(containers, CONTAINER_BYTES + 50_000)
    shown = isthmus("store", "stats", filled)
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    assert "its file `containers` is too short; put all of it back, or 1 container is lost when the" in shown.stderr
    containers.write_bytes(content)
    assert isthmus("store", "verify", filled).stdout.startswith("Sound chunks: 20.")


@pytest.mark.usefixtures("owner")
def test_stats_of_a_running_site(isthmus: Isthmus, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for who cannot look into the store's directory."""
    monkeypatch.setattr(os, "listdir", forbidden)
    with closing(StatusSite(filled)) as west:
        west.answers({"site": "west", "store": {"mode": "disk", "chunks": 1234567}})
        assert json.loads(isthmus("store", "stats", filled, "--json").stdout)["chunks"] == 1234567
        assert west.paths == [OUTLINE]
        assert "1,234,567" in isthmus("store", "stats", filled).stdout


def test_a_running_site_that_refuses(isthmus: Isthmus, filled: Path) -> None:
    with closing(StatusSite(filled)) as west:
        west.answers(NO_TOKEN, 401)
        shown = isthmus("store", "stats", filled)
        assert shown.exit_code == ExitCode.FAILED
        words = f"a token is needed, and {filled} names none; name the file of the site's as status.token"
        assert shown.stderr.endswith(f"refuses /api/v1/status: {words}\n")


def test_stats_of_a_running_site_with_its_store_in_memory(isthmus: Isthmus, pair: Path, east: StatusSite) -> None:
    east.answers({"site": "east", "store": {"mode": "memory", "alarms": ["[red]full"]}})
    shown = isthmus("store", "stats", pair / "east.toml")
    assert shown.exit_code == 0
    assert "! [red]full" in shown.stdout
    east.answers({"site": "east"})
    assert isthmus("store", "stats", pair / "east.toml").exit_code == 0


def test_stats_of_a_stopped_site_with_its_store_in_memory(isthmus: Isthmus, pair: Path) -> None:
    shown = isthmus("store", "stats", pair / "east.toml")
    assert shown.exit_code == ExitCode.UNREACHABLE
    assert "is `isthmus serve" in shown.stderr


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (("stats",), r", and there is no status of site west from .+: Connection refused; is .+ running\?"),
        (("verify",), "; stop that process first"),
        (("purge", "--yes"), "; stop that process first"),
    ],
)
def test_a_store_that_somebody_holds(
    isthmus: Isthmus, filled: Path, owner: subprocess.Popen[str], words: tuple[str, ...], remedy: str
) -> None:
    shown = isthmus("store", *words, filled)
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    held = rf"store {filled.parent}/store is in use by process {owner.pid} (in a container )?on \S+ since [\d:T+-]+"
    assert re.search(rf"{held}{remedy}\n$", shown.stderr), shown.stderr


def forbidden(path: Path) -> list[str]:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


@ANY
def test_a_store_of_another_user(
    isthmus: Isthmus, filled: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Root would leave files there that the site cannot open."""
    store, user = filled.parent / "store", pwd.getpwuid(os.geteuid()).pw_name
    before = sorted(path.name for path in store.rglob("*"))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    shown = isthmus("store", *words, filled)
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    assert f"store {store} belongs to {user}, " in shown.stderr
    assert as_user(user, "isthmus", "store", words[0], filled) in shown.stderr
    assert sorted(path.name for path in store.rglob("*")) == before


def test_a_store_that_this_user_cannot_look_into(
    isthmus: Isthmus, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "listdir", forbidden)
    shown = isthmus("store", "verify", filled)
    assert shown.exit_code == ExitCode.STORE
    assert "cannot be looked into: Permission denied; run this as the site's user" in shown.stderr


@pytest.mark.parametrize("words", [("verify",), ("purge", "--yes")])
def test_a_store_in_memory(isthmus: Isthmus, pair: Path, words: tuple[str, ...]) -> None:
    shown = isthmus("store", *words, pair / "east.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    assert "the store of site east is in memory: it ends with the site" in shown.stderr


@ANY
def test_no_store_yet(isthmus: Isthmus, pair: Path, words: tuple[str, ...]) -> None:
    shown = isthmus("store", *words, pair / "west.toml")
    assert (shown.exit_code, shown.stdout) == (ExitCode.STORE, "")
    assert f"there is no store in {pair}/store yet" in shown.stderr
    assert not (pair / "store").exists(), "looking makes none"


@ANY
def test_a_file_in_the_stores_place(isthmus: Isthmus, pair: Path, words: tuple[str, ...]) -> None:
    (pair / "store").touch()
    shown = isthmus("store", *words, pair / "west.toml")
    assert shown.exit_code == ExitCode.STORE
    assert f"store {pair}/store cannot be looked into: Not a directory" in shown.stderr


def test_verify_of_a_sound_store(isthmus: Isthmus, filled: Path) -> None:
    shown = isthmus("store", "verify", filled)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == "Sound chunks: 20. Damaged ones, which were dropped: 0.\n"


def test_verify_of_a_damaged_store(isthmus: Isthmus, filled: Path) -> None:
    containers = filled.parent / "store" / "containers"
    with containers.open("r+b") as file:
        file.seek(CONTAINER_BYTES + 40960 + 3 * 5000 + 17)
        file.write(b"\xff")
    shown = isthmus("store", "verify", filled)
    assert shown.exit_code == ExitCode.FAILED
    assert shown.stdout == "Sound chunks: 19. Damaged ones, which were dropped: 1.\n"
    assert isthmus("store", "verify", filled).exit_code == 0


def test_verify_of_a_store_that_the_disk_does_not_give(
    isthmus: Isthmus, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_file, "preadv", failing_but_for_the_superblock)
    shown = isthmus("store", "verify", filled)
    assert shown.exit_code == ExitCode.FAILED
    assert shown.stderr == (
        f"warning: 1 of 1 containers of store {filled.parent}/store could not be read (the disk failed: Input/output"
        " error); nothing of them was dropped. See to the disk, then verify again.\n"
    )
    assert shown.stdout == "Sound chunks: 0. Damaged ones, which were dropped: 0.\n"
    monkeypatch.undo()
    assert isthmus("store", "verify", filled).exit_code == 0


def test_verify_says_what_else_is_wrong(isthmus: Isthmus, filled: Path) -> None:
    (filled.parent / "store" / "containers").write_bytes(b"foreign" * 1000)
    shown = isthmus("store", "verify", filled)
    assert shown.stderr.startswith("warning: ")
    assert "could not be trusted" in shown.stderr
    assert shown.exit_code == ExitCode.FAILED
    assert shown.stdout == "Sound chunks: 0. Damaged ones, which were dropped: 0.\n"


def test_verify_walks_the_index_of_a_store_that_was_closed_in_order(isthmus: Isthmus, filled: Path) -> None:
    data = filled.parent / "store" / "index" / "data.mdb"
    content, name = data.read_bytes(), fingerprint(CHUNKS[0])
    with data.open("r+b") as file:
        for page in range(0, len(content), 4096):
            if name in content[page : page + 4096]:
                file.seek(page)
                file.write(b"\xff" * 4096)
    shown = isthmus("store", "verify", filled)
    assert shown.exit_code == ExitCode.FAILED
    first, *_ = shown.stderr.splitlines()
    assert first.startswith(f"warning: The store {filled.parent}/store could not be trusted (the index is damaged: ")
    assert first.endswith("); an empty one took its place.")
    assert shown.stdout == "Sound chunks: 0. Damaged ones, which were dropped: 0.\n"
    assert isthmus("store", "verify", filled).exit_code == 0


def test_purge_asks_first(isthmus: Isthmus, filled: Path) -> None:
    refused = isthmus("store", "purge", filled, keyboard="n\n")
    assert refused.exit_code == ExitCode.USAGE
    assert f"Empty the store in {filled.parent}/store? [y/N]" in refused.stdout
    assert "nothing was purged" in refused.stderr
    assert json.loads(isthmus("store", "stats", filled, "--json").stdout)["chunks"] == len(CHUNKS)
    assert isthmus("store", "purge", filled, keyboard="y\n").exit_code == 0


def test_purge_without_anybody_to_ask(isthmus: Isthmus, filled: Path) -> None:
    shown = isthmus("store", "purge", filled, keyboard="")
    assert shown.exit_code == ExitCode.USAGE
    assert shown.stderr.endswith("isthmus: nothing was purged: nobody has answered; add --yes\n")
    assert json.loads(isthmus("store", "stats", filled, "--json").stdout)["chunks"] == len(CHUNKS)


def test_a_purged_store_is_another_one(isthmus: Isthmus, filled: Path) -> None:
    before = open_west(filled.parent)
    before.close()
    shown = isthmus("store", "purge", filled, "--yes")
    assert (shown.exit_code, shown.stdout) == (0, f"The store in {filled.parent}/store is empty.\n")
    after = open_west(filled.parent)
    after.close()
    assert after.identity != before.identity
    assert after.figures().chunks == 0
