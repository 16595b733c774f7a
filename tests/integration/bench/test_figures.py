"""Figures that took minutes are shown though they cannot be written, and what goes wrong is said in a line."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir

import pytest

from bench.sites import environment
from tests.integration.bench.conftest import Here

SMALL = {
    "bench.pipeline": ["--size", "1MiB", "--memory-size", "1MiB", "--rounds", "1"],
    "bench.viewers": ["--size", "4", "--rounds", "1"],
}
NOTHING = [("bench.pipeline", "--size", "0B"), ("bench.pipeline", "--rounds", "0"), ("bench.viewers", "--rounds", "0")]


def ran(module: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment() | variables, check=False)


@pytest.mark.parametrize("module", SMALL)
def test_figures_that_cannot_be_written_are_shown(here: Here, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.pipeline.QUESTIONS", 100)
    done = here(import_module(module).main, *SMALL[module], "--json", "/dev/full")
    assert done.returncode == 1
    assert "Goals" in done.stdout
    assert done.stderr.endswith("the figures cannot be written to /dev/full: No space left on device\n")


@pytest.mark.parametrize("module", SMALL)
def test_what_fails_is_said_in_a_line(module: str, tmp_path: Path) -> None:
    """Files may have 100 KiB here: as on a full disk, what is generated cannot be written."""
    limited = ["sh", "-c", 'ulimit -f 100; trap "" XFSZ; exec "$@"', "sh", sys.executable, "-m", module]
    done = subprocess.run(
        [*limited, *SMALL[module]], capture_output=True, text=True, env=environment(), check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"{module.replace('.', '-')} failed: no room in {gettempdir()}: File too large (see TMPDIR)" in done.stderr


@pytest.mark.parametrize(("module", "option", "nothing"), NOTHING)
def test_nothing_to_measure_is_a_mistake_of_usage(module: str, option: str, nothing: str) -> None:
    done = ran(module, option, nothing)
    assert done.returncode == 2
    assert "or more" in done.stderr
    assert "Traceback" not in done.stderr
