"""What is read, what is passed over, and what is refused."""

import os
import socket
from pathlib import Path

import pytest

from proxy.analysis.inputs import READ_BYTES, Remarks, Unreadable, find, read
from tests.nobody import directory_of_nobody


def everything(*paths: Path) -> tuple[bytes, Remarks]:
    remarks = Remarks()
    return b"".join(data for source in find(paths, remarks) for data in read(source, remarks)), remarks


def test_files_and_directories_are_read_in_order(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "b" / "deeper").mkdir(parents=True)
    (top / "b" / "deeper" / "x").write_bytes(b"3")
    (top / "b" / "y").write_bytes(b"2")
    (top / "c").write_bytes(b"1")
    (top / "alone").write_bytes(b"0" * (READ_BYTES + 1))
    (tmp_path / "c").write_bytes(b"4")
    whole, remarks = everything(top, tmp_path / "c")
    assert whole == b"0" * (READ_BYTES + 1) + b"1" + b"2" + b"3" + b"4"
    assert remarks == Remarks()


def test_what_is_named_twice_is_read_once(tmp_path: Path) -> None:
    """Otherwise half of it would repeat, whatever it is."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_bytes(b"1")
    (tmp_path / "d2").write_bytes(b"2")
    (tmp_path / "link").symlink_to("d2")
    whole, remarks = everything(
        tmp_path / "d" / "a", tmp_path / "d", tmp_path / "d2", tmp_path / "link", tmp_path / "d"
    )
    assert whole == b"12"
    assert remarks.passed_over == {"part of what is named beside it": 3}
    assert not remarks.examples, "none of it is missing"


def test_a_named_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert everything(tmp_path / "link")[0] == b"content"


def test_what_is_no_file_is_passed_over_within_directories(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    os.link(tmp_path / "file", tmp_path / "second name")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "s"))
        whole, remarks = everything(tmp_path)
    assert whole == b"content"
    assert remarks.passed_over == {
        "it is a symbolic link": 1,
        "it is a pipe": 1,
        "it is a socket": 1,
        "another name of a file that is read already": 1,
    }
    assert not remarks.examples, "none of them is missing"


@pytest.mark.parametrize(("name", "why"), [("missing", "no such file"), ("pipe", "is a pipe"), ("loop", "symbolic")])
def test_what_is_named_and_cannot_be_read_is_an_error(tmp_path: Path, name: str, why: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(Unreadable, match=why) as caught:
        everything(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert "; " in str(caught.value), "it names a remedy"


def test_endless_devices_are_refused() -> None:
    with pytest.raises(Unreadable, match="/dev/zero is a character device"):
        everything(Path("/dev/zero"))


def test_no_permission() -> None:
    with directory_of_nobody() as path:
        (path / "secret").write_bytes(b"content")
        (path / "secret").chmod(0)
        with pytest.raises(Unreadable, match="permission denied; run it as a user who may read it"):
            everything(path / "secret")
        assert everything(path)[1].passed_over == {"permission denied": 1}


def test_a_path_from_a_directory_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(Unreadable, match="data cannot be read: no such file or directory; check the path"):
        list(find([Path("data")], Remarks()))


@pytest.mark.parametrize("change", ["grow", "shrink", "rewrite", "nothing"])
def test_files_that_change_meanwhile_are_noted(tmp_path: Path, change: str) -> None:
    path = tmp_path / "busy"
    path.write_bytes(b"0" * 3 * READ_BYTES)
    os.utime(path, (1, 1))
    remarks = Remarks()
    (source,) = find([path], remarks)
    reading = read(source, remarks)
    got = len(next(reading))
    if change == "grow":
        os.truncate(path, 9 * READ_BYTES)
    elif change == "shrink":
        os.truncate(path, READ_BYTES)
    elif change == "rewrite":
        with path.open("r+b") as file:
            file.write(b"1")
    got += sum(map(len, reading))
    assert got == (READ_BYTES if change == "shrink" else 3 * READ_BYTES), "never more than at the beginning"
    assert remarks.changed == (change != "nothing")


def test_a_file_that_vanishes_is_passed_over(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    remarks = Remarks()
    found = list(find([tmp_path], remarks))
    (tmp_path / "a").unlink()
    assert b"".join(data for source in found for data in read(source, remarks)) == b"b"
    assert remarks.passed_over == {"no such file or directory": 1}


def test_examples_are_bounded_and_harmless(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"\x1b[31m{number}").write_bytes(b"content")
    remarks = Remarks()
    found = list(find([tmp_path], remarks))
    for source in found:
        Path(source.path).unlink()
        assert not list(read(source, remarks))
    assert remarks.passed_over == {"no such file or directory": 50}
    assert len(remarks.examples) == 10
    assert all(example.isprintable() for example in remarks.examples)
