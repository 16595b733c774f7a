"""What the kernel is told to hold a process to so many reads of a disk; the kernel's part is a directory's here."""

import os
import shutil
from pathlib import Path

import pytest

from bench import slow_disk
from bench.slow_disk import NoSlowDisk, slow_reads

DISK = "7:3"


class Directory:
    """On a disk of that number."""

    def stat(self) -> os.stat_result:
        return os.stat_result((0, 0, os.makedev(7, 3), 0, 0, 0, 0, 0, 0, 0))


@pytest.fixture(params=["first", "second"])
def groups(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of control groups of either version, in which whatever a file is told is lost with its group."""
    monkeypatch.setattr(slow_disk, "FIRST", tmp_path if request.param == "first" else tmp_path / "nowhere")
    monkeypatch.setattr(slow_disk, "SECOND", tmp_path)
    monkeypatch.setattr(Path, "rmdir", lambda path: [file.unlink() for file in path.iterdir()])
    return tmp_path


def test_a_process_is_held_and_let_go(groups: Path) -> None:
    with slow_reads(Directory(), 120) as hold:  # type: ignore[arg-type]
        (group,) = (each for each in groups.iterdir() if each.is_dir())
        first = group / "blkio.throttle.read_iops_device"
        limit = first.read_text() if first.exists() else (group / "io.max").read_text()
        assert limit == (f"{DISK} 120" if first.exists() else f"{DISK} riops=120")
        hold(4711)
        assert (group / "cgroup.procs").read_text() == "4711"
    assert (groups / "cgroup.procs").read_text() == "4711"
    assert not [*group.iterdir()]


def test_what_a_bench_that_was_killed_has_left_goes(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)
    others, left = groups / f"isthmus-bench-{os.getppid()}", groups / "isthmus-bench-4194305"
    for group in (others, left):
        group.mkdir()
    with slow_reads(Directory(), 120):  # type: ignore[arg-type]
        assert [others.exists(), left.exists()] == [True, False], "no process has a number beyond 2^22"


def test_of_a_partition_the_whole_disk_is_limited(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices, whole = groups / "devices", groups / "devices" / "sda"
    (whole / "sda3").mkdir(parents=True)
    (whole / "dev").write_text("7:0\n")
    (whole / "sda3" / "partition").write_text("3\n")
    (devices / DISK).symlink_to(whole / "sda3")
    monkeypatch.setattr(slow_disk, "DEVICES", devices)
    with slow_reads(Directory(), 120):  # type: ignore[arg-type]
        told = [file.read_text() for file in groups.glob("isthmus-bench-*/*")]
    assert [text.split()[0] for text in told] == ["7:0"]


def test_where_there_are_no_groups_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(slow_disk, "FIRST", tmp_path / "nowhere")
    monkeypatch.setattr(slow_disk, "SECOND", tmp_path / "nowhere")
    with pytest.raises(NoSlowDisk, match="no control group can be made"), slow_reads(tmp_path, 120):
        raise AssertionError


def test_where_the_disk_is_none_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, groups: Path) -> None:
    def refused(path: Path, text: str) -> int:
        raise OSError(19, "No such device", str(path))

    monkeypatch.setattr(Path, "write_text", refused)
    with pytest.raises(NoSlowDisk, match=f"reads from disk {DISK}"), slow_reads(Directory(), 120):  # type: ignore[arg-type]
        raise AssertionError
    assert not [each for each in groups.iterdir() if each.is_dir() and [*each.iterdir()]]
