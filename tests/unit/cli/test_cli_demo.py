"""`isthmus demo` hands over to the bench, if there is one."""

import sys
from types import SimpleNamespace

import pytest

from proxy import __version__
from proxy.errors import ExitCode
from tests.unit.cli.conftest import Isthmus


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ((), (256 << 20, "memory", False)),
        (("--volume-size", "1.5MB", "--store", "disk", "--json"), (1_500_000, "disk", True)),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_it_is_given_sizes_in_bytes_and_its_exit_code_is_ours(
    isthmus: Isthmus,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    arguments: tuple[int, str, bool],
    code: int,
) -> None:
    given: list[tuple[object, ...]] = []

    def run(*more: object) -> int:
        given.append(more)
        return code

    monkeypatch.setitem(sys.modules, "bench.demo", SimpleNamespace(run=run))
    assert isthmus("demo", *words).exit_code == code
    assert given == [arguments]


def test_no_bench(isthmus: Isthmus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bench.demo", None)
    shown = isthmus("demo")
    assert shown.exit_code == ExitCode.FAILED
    assert "isthmus: the demo is not installed" in shown.stderr
    assert f"pip install './isthmus-{__version__}-py3-none-any.whl[bench]'" in shown.stderr


def test_no_size(isthmus: Isthmus) -> None:
    shown = isthmus("demo", "--volume-size", "256")
    assert shown.exit_code == ExitCode.USAGE
    assert "--volume-size '256' is not a size; write a number and one of B, KiB" in shown.stderr


@pytest.mark.parametrize("size", ["0B", "0.1B"])
def test_a_volume_of_nothing(isthmus: Isthmus, size: str) -> None:
    shown = isthmus("demo", "--volume-size", size)
    assert shown.exit_code == ExitCode.USAGE
    assert f"--volume-size '{size}' is nothing; write a number" in shown.stderr
