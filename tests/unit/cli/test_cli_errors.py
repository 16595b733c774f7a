"""Every error becomes one clear message and an exit code; no traceback reaches an operator."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from proxy.cli import keygen
from proxy.errors import ExitCode, OperatorError
from tests.unit.cli.conftest import PROGRAM, Isthmus

KEYGEN = ("keygen", "--site", "east", "--out", "somewhere")


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(keygen, "run", run)


@pytest.mark.parametrize("code", [code for code in ExitCode if code is not ExitCode.OK])
def test_an_operators_error(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch, code: ExitCode) -> None:
    raising(monkeypatch, OperatorError("the thing at the place is wrong; do this", code))
    shown = isthmus(*KEYGEN)
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert shown.stderr == "isthmus: the thing at the place is wrong; do this\n"


@pytest.mark.parametrize(
    "error",
    [OperatorError("names: \x1b]0;\x07;\n  do this\u202e"), click.BadParameter("names: \x1b]0;\x07;\n  do this\u202e")],
)
def test_what_others_sent_moves_no_cursor(
    isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch, error: click.ClickException | OperatorError
) -> None:
    """A certificate's names, what a program answers that is no site, a line that was copied: lines stay lines."""
    raising(monkeypatch, error)
    shown = isthmus(*KEYGEN)
    *_, first, last = shown.stderr.splitlines()
    assert first.endswith(r"names: \x1b]0;\x07;")
    assert last == r"  do this\u202e"


@pytest.mark.parametrize("error", [KeyError("x\x1b[2J"), AssertionError(), OSError(errno.EIO, "bad"), RecursionError()])
def test_a_defect(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.delenv("ISTHMUS_DEBUG", raising=False)
    raising(monkeypatch, error)
    shown = isthmus(*KEYGEN)
    assert shown.exit_code == ExitCode.DEFECT
    (line,) = shown.stderr.splitlines()
    assert line.startswith(f"isthmus: unexpected {type(error).__name__}: ")
    assert line.endswith("(this is a defect; run it again with ISTHMUS_DEBUG=1 and report what that shows)")
    assert line.isprintable()


def test_a_defect_with_its_traceback(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DEBUG", "1")
    raising(monkeypatch, KeyError("x"))
    shown = isthmus(*KEYGEN)
    assert shown.exit_code == ExitCode.DEFECT
    assert "Traceback (most recent call last):" in shown.stderr


@pytest.mark.parametrize("command", ["keygen --site east --out .", "init --site east --peer west=198.18.0.2:4500"])
def test_in_a_directory_that_was_removed(
    isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    shown = isthmus(*command.split())
    words = "isthmus: the directory in which this was typed is gone; cd to another one\n"
    assert (shown.exit_code, shown.stdout, shown.stderr) == (ExitCode.FAILED, "", words)


def test_interrupted(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    shown = isthmus(*KEYGEN)
    assert (shown.exit_code, shown.stderr.strip()) == (ExitCode.INTERRUPTED, "")


def test_interrupted_while_modules_are_read() -> None:
    program = """
import sys

class Keyboard:
    def find_spec(self, name, path=None, target=None):
        if name == "proxy.cli.commands":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Keyboard())
from proxy.cli import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (ExitCode.INTERRUPTED, "", "")


def test_clicks_own_errors(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, click.BadParameter("no"))
    shown = isthmus(*KEYGEN)
    assert (shown.exit_code, shown.stderr) == (
        ExitCode.USAGE,
        "Usage: isthmus keygen [OPTIONS]\nTry 'isthmus keygen --help' for help.\n\nError: Invalid value: no\n",
    )


@pytest.mark.parametrize(
    "words",
    [
        ["keygen", "--site", "east", "--out", ""],
        ["init", "--site", "east", "--peer", "west=198.18.0.2:4500", "--out", ""],
        ["init", "--site", "east", "--peer", "west=198.18.0.2:4500", "--store-path", ""],
        ["analyze", ""],
        ["check", ""],
    ],
)
def test_an_empty_path_is_not_the_working_directory(
    isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """It is mostly a variable that is not set."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_bytes(bytes(1000))
    shown = isthmus(*words)
    assert shown.exit_code == ExitCode.USAGE
    assert "it is empty; name a file or a directory" in shown.stderr or "is not a path" in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_reader_that_has_gone() -> None:
    """`isthmus --help | head -1` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    command = [*PROGRAM, "--help"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (ExitCode.FAILED, "")


@pytest.mark.parametrize(
    "words", [["--help"], ["plan", "--table"], ["plan", "--table", "--json"], ["completion", "bash"]]
)
def test_output_that_finds_no_room(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*PROGRAM, *words]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == ExitCode.FAILED
    told = "output cannot be written: No space left on device; make room there, or send it elsewhere"
    assert ended.stderr == f"isthmus: {told}\n"


@pytest.mark.parametrize(
    ("words", "code"), [(["serve", "none.toml"], ExitCode.CONFIGURATION), (["frobnicate"], ExitCode.USAGE)]
)
def test_a_code_that_is_all_that_finds_room(words: list[str], code: ExitCode) -> None:
    """By it systemd tells what a restart would not mend, also where stderr is a file on a full disk."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run([*PROGRAM, *words], stdout=full, stderr=full, check=False)
    assert ended.returncode == code


def test_a_terminal_without_the_characters(tmp_path: Path) -> None:
    (tmp_path / "sité.toml").write_text("[sité]\n")
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [*PROGRAM, "check", str(tmp_path / "sité.toml")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == ExitCode.CONFIGURATION
    assert "is not TOML" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_terminal_that_tells_no_size() -> None:
    """As a serial one, whose size a profile exports: tables were left out, without a word."""
    command, environment = [*PROGRAM, "plan", "--table"], os.environ | {"COLUMNS": "0"}
    assert b"72 KB" in subprocess.run(command, env=environment, capture_output=True, check=True).stdout
