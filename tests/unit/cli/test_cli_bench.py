"""`isthmus bench` hands over to the bench, if there is one; what is wrong is one clear message."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench.replay.suites import SUITES
from proxy import __version__
from proxy.errors import ExitCode
from tests.unit.cli.conftest import Isthmus


def test_the_suites_are_listed(isthmus: Isthmus) -> None:
    shown = isthmus("bench", "list")
    assert shown.exit_code == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["suite", *SUITES, "all"]


def test_the_cells_of_a_suite_are_listed(isthmus: Isthmus) -> None:
    shown = isthmus("bench", "list", "field", "--scale", "1")
    assert shown.exit_code == 0
    assert "field/singly/f5vol2/disk/1\n" in shown.stdout
    assert len(shown.stdout.splitlines()) == 42


@pytest.mark.parametrize("scale", ["0", "2", "1/0", "1/x", "-1/2", "nan", "much"])
def test_no_scale(isthmus: Isthmus, scale: str) -> None:
    shown = isthmus("bench", "run", "field", "--scale", scale)
    assert shown.exit_code == ExitCode.USAGE
    assert (
        f"--scale {scale!r} is no scale; write a share of the real sizes such as 1/16, from 1/65536 to 1"
        in shown.stderr
    )


@pytest.mark.parametrize("command", ["run", "list"])
def test_no_such_suite(isthmus: Isthmus, command: str) -> None:
    shown = isthmus("bench", command, "fields")
    assert shown.exit_code == ExitCode.USAGE
    assert "there is no suite 'fields'; there are field, " in shown.stderr


def test_no_such_cell(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("bench", "run", "field", "--only", "f5vol9", "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert "no cell is called f5vol9; isthmus bench list SUITE names them" in shown.stderr
    own = isthmus("bench", "run", "alternatives", "--only", "command", "--out", tmp_path).stderr
    assert "no cell is called command; isthmus bench list SUITE names them, --command adds its own" in own


def test_a_command_of_ones_own_where_none_is_run(isthmus: Isthmus, tmp_path: Path) -> None:
    """All was measured, and nothing of it."""
    shown = isthmus("bench", "run", "reduction", "--only", "no", "--command", "./own", "--out", tmp_path / "results")
    assert shown.exit_code == ExitCode.USAGE
    assert "--command is another proxy for alternatives, and only reduction is to be run" in shown.stderr


def test_no_privilege(isthmus: Isthmus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    shown = isthmus("bench", "run", "field", "--out", tmp_path)
    assert shown.exit_code == ExitCode.USAGE
    assert "field cannot be measured here: network namespaces need root; run it with sudo" in shown.stderr
    assert not list(tmp_path.iterdir())


def test_no_results(isthmus: Isthmus, tmp_path: Path) -> None:
    shown = isthmus("bench", "report", tmp_path / "results")
    assert shown.exit_code == ExitCode.USAGE
    assert "there are no results in " in shown.stderr


def test_no_bench(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bench.replay.command", None)
    shown = isthmus("bench", "list")
    assert shown.exit_code == ExitCode.FAILED
    assert "isthmus: the bench is not installed" in shown.stderr
    assert f"pip install './isthmus-{__version__}-py3-none-any.whl[bench]'" in shown.stderr


def test_what_is_typed_arrives(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[object] = []

    def run(order: object) -> int:
        given.append(order)
        return 1

    monkeypatch.setitem(sys.modules, "bench.replay.command", SimpleNamespace(run=run, Order=dict))
    words = ["--scale", "1/16", "--only", "a*", "--only", "b", "--repeat", "3", "--command", "./x y", "--again"]
    assert isthmus("bench", "run", "field", "window", *words, "--out", tmp_path).exit_code == 1
    assert given == [
        {
            "suites": ("field", "window"),
            "only": ("a*", "b"),
            "scale": 1 / 16,
            "repeat": 3,
            "out": tmp_path,
            "command": "./x y",
            "again": True,
        }
    ]
