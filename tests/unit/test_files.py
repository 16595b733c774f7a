"""Files that are written whole or not at all."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from proxy.files import File, create_all, replace_all


def test_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "second").write_text("mine")
    with pytest.raises(FileExistsError):
        create_all([(tmp_path / "first", b"1", 0o644), (tmp_path / "second", b"2", 0o644)])
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("second", "mine")]


@pytest.mark.parametrize("write", [create_all, replace_all])
def test_who_is_interrupted_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Sequence[File]], None]
) -> None:
    """Ctrl-C while the disk is slow: the next `isthmus init` would be told that its files are there already."""
    synced = []

    def interrupted(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write([(tmp_path / "first", b"1", 0o644), (tmp_path / "second", b"2", 0o644)])
    assert not list(tmp_path.iterdir())


def test_who_is_interrupted_between_two_names_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a private key in it."""

    def interrupted(draft: Path, path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_all([(tmp_path / "file", b"new", 0o600)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [OSError(errno.EBUSY, "Device or resource busy"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", [{"first": "old", "second": "old"}, {"second": "old"}])
def test_what_cannot_all_be_replaced_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: BaseException, before: dict[str, str]
) -> None:
    """The second is mounted by itself, as in a container: the old key has to be there for the old certificate."""
    for name, content in before.items():
        (tmp_path / name).write_text(content)
    real = os.replace

    def replace(draft: Path, path: Path) -> None:
        if path.name == "second":
            raise wrong
        real(draft, path)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(type(wrong)):
        replace_all([(tmp_path / "first", b"new", 0o600), (tmp_path / "second", b"new", 0o644)])
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_mode_does_not_depend_on_the_umask(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o077)
    try:
        create_all([(tmp_path / "file", b"content", mode)])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_what_is_replaced_is_so_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with (tmp_path / "file").open() as reader:
        replace_all([(tmp_path / "file", b"new", 0o600)])
        assert reader.read() == "old"
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "new")]


def test_what_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not even of the first file, which was in its place already; and the error names no file that is gone."""
    (tmp_path / "second").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        replace_all([(tmp_path / name, b"new", 0o600) for name in ("first", "second", "third")])
    assert raised.value.filename == str(tmp_path / "second")
    assert [path.name for path in tmp_path.iterdir()] == ["second"]


def test_where_nothing_can_be_written_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        replace_all([(tmp_path / "none" / "file", b"new", 0o600)])
    assert raised.value.filename == str(tmp_path / "none" / "file")


@pytest.mark.root
def test_a_file_keeps_its_owner(tmp_path: Path) -> None:
    """Root edits the file of the site's own user, who is to read it afterwards as well."""
    (tmp_path / "file").write_text("old")
    os.chown(tmp_path / "file", 12345, 23456)
    replace_all([(tmp_path / "file", b"new", 0o600)])
    owned = (tmp_path / "file").stat()
    assert (owned.st_uid, owned.st_gid) == (12345, 23456)


@pytest.mark.root
def test_nobody_is_given_what_a_link_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root edits a file in a directory of the site's user, who puts a link in the draft's place just before it is
    given to him."""
    (tmp_path / "of root").write_text("root's")
    place = tmp_path / "site"
    place.mkdir()
    (place / "file").write_text("old")
    os.chown(place / "file", 12345, 23456)
    real = os.chown

    def late(draft: Path, user: int, group: int, **more: bool) -> None:
        draft.rename(place / "taken")
        draft.symlink_to(tmp_path / "of root")
        real(draft, user, group, **more)

    monkeypatch.setattr(os, "chown", late)
    replace_all([(place / "file", b"new", 0o600)])
    owned = (tmp_path / "of root").stat()
    assert (owned.st_uid, owned.st_gid) == (0, 0)
