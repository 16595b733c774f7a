"""`isthmus analyze`: what it prints, as JSON and as tables, and what it refuses."""

import json
import subprocess
from pathlib import Path

import pytest

from bench.datasets import Dataset
from proxy.analysis.findings import Findings
from proxy.errors import ExitCode
from tests.unit.cli.conftest import PROGRAM, Isthmus

MIB = 1 << 20


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume.img"
    with path.open("wb") as file:
        for _ in range(2):
            file.writelines(Dataset("analyze", 2 * MIB, 60))
    return path


def test_as_data(isthmus: Isthmus, volume: Path) -> None:
    shown = isthmus("analyze", volume, "--line", "45Mbit", "--line", "1Gbit", "--loss", "1%", "--json")
    assert (shown.exit_code, shown.stderr) == (0, "")
    found = json.loads(shown.stdout)
    assert found["bytes"] == 4 * MIB
    assert 0.4 < found["deduplication"] < 0.51
    assert found["compressibility"] == pytest.approx(0.6, abs=0.03)
    assert [each["average"] >> 10 for each in found["chunk_sizes"]] == [4, 8, 16, 32, 64]
    assert [line["rate"] for line in found["lines"]] == [45e6, 1e9]
    assert [way["way"] for way in found["lines"][0]["replication"]][:2] == ["arrays alone"] * 2
    assert found["remarks"] == {"passed_over": {}, "changed": 0, "examples": []}


def test_as_tables(isthmus: Isthmus, volume: Path) -> None:
    (volume.parent / "link").symlink_to("nowhere")
    shown = isthmus("analyze", volume.parent, "--line", "45Mbit")
    assert shown.exit_code == 0
    for words in ("4 MiB", "deduplication saves", "Chunk size", "best", "Store", "45 Mbit/s, 100 ms", "Isthmus, warm"):
        assert words in shown.stdout
    assert "not read, 1: it is a symbolic link" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80


def test_in_60_columns_no_share_is_broken(isthmus: Isthmus, volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It showed "0.451" above "%"."""
    monkeypatch.setenv("COLUMNS", "60")
    lines = isthmus("analyze", volume).stdout.splitlines()
    shares = [line for line in lines if line.lstrip().startswith(("4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"))]
    assert [line.count(" %") for line in shares] == [4] * 5


@pytest.mark.parametrize(
    ("best", "told"),
    [
        (8 << 10, 'set minimum = "2KiB", average = "8KiB", maximum = "32KiB" in [chunking] at both sites'),
        (16 << 10, "memory. A site has it by default."),
    ],
)
def test_what_to_do_about_the_best_chunk_size(
    isthmus: Isthmus, volume: Path, monkeypatch: pytest.MonkeyPatch, best: int, told: str
) -> None:
    """It was marked, and not a word said where to set it, or that it is set already."""
    at = property(lambda findings: next(each for each in findings.chunked if each.average == best))
    monkeypatch.setattr(Findings, "best", at)
    shown = " ".join(isthmus("analyze", volume).stdout.split())
    assert told in shown
    assert "A store of 64 MiB holds all of it" in shown


def test_what_gains_nothing_is_said(isthmus: Isthmus, tmp_path: Path) -> None:
    Dataset("encrypted", MIB).fill(tmp_path / "encrypted")
    assert "encrypted or compressed already" in " ".join(isthmus("analyze", tmp_path).stdout.split())


def test_a_line_that_is_worse_than_its_times_say(isthmus: Isthmus, volume: Path) -> None:
    """As `isthmus plan` says it."""
    words = ("analyze", volume, "--line", "1Gbit", "--rtt", "600ms", "--loss", "6%")
    (line,) = json.loads(isthmus(*words, "--json").stdout)["lines"]
    lossy, bounded = line["notes"]
    assert lossy.startswith("above 5% loss BBR, too, gets less than the goodput")
    assert bounded.startswith("Isthmus is held to 895 Mbit/s by the default of tunnel.unacked")
    shown = " ".join(isthmus(*words).stdout.split())
    assert f"! {lossy}" in shown
    assert f"! {bounded}" in shown


@pytest.mark.parametrize(("line", "said"), [("1Gbit", False), ("10Gbit", True)])
def test_a_line_on_which_a_site_leaves_compression_out(
    isthmus: Isthmus, volume: Path, line: str, *, said: bool
) -> None:
    (found,) = json.loads(isthmus("analyze", volume, "--line", line, "--rtt", "1ms", "--json").stdout)["lines"]
    assert [note[:36] for note in found["notes"]] == ["a line faster than compression: a si"] * said


def test_nothing_is_written(isthmus: Isthmus, volume: Path) -> None:
    before = {path: path.stat() for path in (volume, volume.parent)}
    assert isthmus("analyze", volume.parent).exit_code == 0
    for path, found in before.items():
        now = path.stat()
        assert (now.st_mtime_ns, now.st_size, now.st_mode) == (found.st_mtime_ns, found.st_size, found.st_mode)
    assert list(volume.parent.iterdir()) == [volume]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["missing"], ExitCode.FAILED, "cannot be read: no such file or directory; check the path"),
        (["/dev/zero"], ExitCode.FAILED, "character device"),
        (["empty"], ExitCode.FAILED, "there is no file with any content"),
        ([], ExitCode.USAGE, "Missing argument"),
        (["empty", "--line", "fast"], ExitCode.USAGE, "--line 'fast'"),
        (["empty", "--line", "1Mbit", "--rtt", "0s"], ExitCode.USAGE, "--round-trip"),
        (["empty", "--line", "1Mbit", "--loss", "99%"], ExitCode.USAGE, "--loss"),
        (["empty", "--round-trip", "soon"], ExitCode.USAGE, "--round-trip 'soon' is not a duration"),
        (["empty", "--loss", "1%"], ExitCode.USAGE, "--loss needs a line: add its rate, such as --line 45Mbit"),
        (["empty", "--round-trip", "9ms"], ExitCode.USAGE, "--round-trip needs a line"),
        (["empty", "--loss", "some"], ExitCode.USAGE, "--loss 'some' is not a percentage"),
    ],
)
def test_one_clear_error(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: ExitCode, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    shown = isthmus("analyze", *words)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert message in shown.stderr
    assert "Traceback" not in shown.stderr


def test_a_result_that_nobody_reads_is_no_defect(volume: Path) -> None:
    """`isthmus analyze ... | head -1`"""
    command = [*PROGRAM, "analyze", str(volume), "--json"]
    done = subprocess.run(["sh", "-c", f"{' '.join(command)} | head -c1"], capture_output=True, text=True, check=True)
    assert done.stdout == "{"
    assert "defect" not in done.stderr


def test_nothing_to_read_is_said_with_what_to_name(isthmus: Isthmus, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    shown = isthmus("analyze", tmp_path)
    assert shown.exit_code == ExitCode.FAILED
    assert f"nothing was read of {tmp_path}: " in shown.stderr
    assert "; name files, directories or devices with data" in shown.stderr
