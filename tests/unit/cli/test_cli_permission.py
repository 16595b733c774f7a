"""What this user may not read: in the words of who reads it, with the exit code of that and the remedy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.cli import analyze, check
from proxy.errors import ExitCode
from tests.nobody import directory_of_nobody
from tests.unit.cli.conftest import Isthmus

IMPORTED = analyze, check
"""Before root becomes somebody else for a test: that one may not read modules, either."""


@pytest.fixture
def directory() -> Iterator[Path]:
    with directory_of_nobody() as path:
        yield path


def test_a_sites_file(isthmus: Isthmus, directory: Path) -> None:
    file = directory / "east.toml"
    file.touch(0o000)
    shown = isthmus("check", file)
    assert (shown.exit_code, shown.stdout) == (ExitCode.CONFIGURATION, "")
    remedy = "run this as the site's user, or let this user read it"
    assert shown.stderr == f"isthmus: {file}: 1 mistake\n  cannot be read: Permission denied; {remedy}\n"


def test_data_to_be_analysed(isthmus: Isthmus, directory: Path) -> None:
    data = directory / "data"
    data.mkdir(0o000)
    shown = isthmus("analyze", data)
    assert (shown.exit_code, shown.stdout) == (ExitCode.FAILED, "")
    remedy = "run it as a user who may read it, such as root"
    assert shown.stderr == f"isthmus: {data} cannot be read: permission denied; {remedy}\n"
