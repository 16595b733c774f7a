"""What this user may not read: in the words of who reads it, with the exit code of that and the remedy."""

import codecs
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proxy.cli import analyze, check, doctor, events, init
from proxy.errors import ExitCode
from tests.nobody import directory_of_nobody
from tests.unit.cli.conftest import Isthmus
from tests.unit.cli.histories import keep
from tests.unit.config.contract import EAST

IMPORTED = analyze, check, doctor, events, init, codecs.lookup("ascii")
"""Before root becomes somebody else for a test: that one may not read modules, either."""


@pytest.fixture
def directory() -> Iterator[Path]:
    with directory_of_nobody() as path:
        yield path


@pytest.fixture
def east(free_port: Callable[[], int]) -> str:
    """The text of its file. It does not run, whatever else this host runs."""
    return EAST.replace("127.0.0.1:8900", f"127.0.0.1:{free_port()}")


def test_events_beside_which_nothing_can_be_made(isthmus: Isthmus, directory: Path, east: str) -> None:
    """As where the disk is mounted read-only: SQLite makes files beside one, unless it knows that nobody writes."""
    state = directory / "state"
    state.mkdir()
    keep(state / "history.db", "time 1")
    (directory / "east.toml").write_text(east.replace("[status]", f'[status]\nhistory = "{state}/history.db"'))
    state.chmod(0o500)
    assert "time 1" in isthmus("events", directory / "east.toml").stdout
    state.chmod(0o700)


@pytest.mark.parametrize("what", ["file", "directory"])
def test_events_of_a_site_that_does_not_run(isthmus: Isthmus, directory: Path, east: str, what: str) -> None:
    """Nothing is shown, which does not mean that there was nothing."""
    state = directory / "state"
    state.mkdir()
    history = state / "history.db"
    file = directory / "east.toml"
    file.write_text(east.replace("[status]", f'[status]\nhistory = "{history}"'))
    assert "this user" not in isthmus("events", file).stderr
    history.touch(0o000 if what == "file" else 0o600)
    state.chmod(0o700 if what == "file" else 0o000)
    shown = isthmus("events", file)
    state.chmod(0o700)
    assert (shown.exit_code, shown.stdout) == (ExitCode.UNREACHABLE, "")
    assert shown.stderr.endswith(
        f"(what it kept in {history} this user may not read: run this as the site's user, or as root)\n"
    )


def test_what_doctor_looks_at(isthmus: Isthmus, directory: Path, east: str) -> None:
    """All findings come, though it ended as by a defect before the first one was shown."""
    private = directory / "private"
    private.mkdir(0o000)
    file = directory / "east.toml"
    text = east.replace("[status]", f'[status]\nhistory = "{private}/history.db"')
    file.write_text(text.replace('"east.', f'"{private}/east.'))
    shown = isthmus("doctor", file)
    private.chmod(0o700)
    assert (shown.exit_code, shown.stderr) == (ExitCode.FAILED, "")
    found = " ".join(shown.stdout.split())
    denied = f"it cannot be looked at: Permission denied: {private} is of user {os.geteuid()} and group "
    assert f"{private}/history.db cannot be written ({denied}" in found


def test_a_sites_file(isthmus: Isthmus, directory: Path) -> None:
    file = directory / "east.toml"
    file.touch(0o000)
    shown = isthmus("check", file)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    remedy = "run this as the site's user, or let this user read it"
    assert shown.stderr == f"isthmus: {file}: 1 mistake\n  cannot be read: Permission denied; {remedy}\n"


def test_where_a_site_is_to_be_made(isthmus: Isthmus, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container any other directory is gone with it: so the first remedy is to let the user write in this one."""
    directory.chmod(0o500)
    monkeypatch.chdir(directory)
    shown = isthmus("init", "--site", "east", "--peer", "west=198.18.0.2:4500")
    directory.chmod(0o700)
    assert (shown.exit_code, shown.stdout) == (ExitCode.FAILED, "")
    remedy = f"let user {os.geteuid()} write in {directory}, or choose another directory (--out)"
    assert shown.stderr == f"isthmus: {directory}/state cannot be written: Permission denied; {remedy}\n"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("private/east", "/private/east cannot be written: Permission denied; let user "),
        ("e" * 300, "e cannot be written: File name too long; see what is there, or choose another directory (--out)"),
    ],
    ids=["private", "long"],
)
def test_where_it_cannot_be_seen_what_is_there(isthmus: Isthmus, directory: Path, name: str, told: str) -> None:
    """It ended as by a defect."""
    (directory / "private").mkdir(0o000)
    shown = isthmus("init", "--site", "east", "--peer", "west=198.18.0.2:4500", "--out", directory / name)
    (directory / "private").chmod(0o700)
    assert (shown.exit_code, shown.stdout) == (ExitCode.FAILED, "")
    assert told in shown.stderr


def test_a_sites_key_and_token(isthmus: Isthmus, directory: Path) -> None:
    """Nobody is told to let others read them: then the site would refuse them."""
    made = isthmus("init", "--site", "east", "--peer", "west=198.18.0.2:4500", "--out", directory)
    assert made.exit_code == ExitCode.OK
    for name in ("east.key", "east.token"):
        (directory / name).chmod(0o000)
    shown = isthmus("check", directory / "east.toml")
    assert shown.exit_code == ExitCode.CONFIGURATION
    assert "let this user read it" not in shown.stderr
    for name in ("east.key", "east.token"):
        own = f"it has to own the file: chown {os.geteuid()} {directory / name}\n"
        assert f"({directory / name}); run this as the site's user; if that is this one, {own}" in shown.stderr


def test_data_to_be_analysed(isthmus: Isthmus, directory: Path) -> None:
    data = directory / "data"
    data.mkdir(0o000)
    shown = isthmus("analyze", data)
    assert (shown.exit_code, shown.stdout) == (ExitCode.FAILED, "")
    remedy = "run it as a user who may read it, such as root"
    assert shown.stderr == f"isthmus: {data} cannot be read: permission denied; {remedy}\n"
