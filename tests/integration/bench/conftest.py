"""What is measured here says nothing, so the benches need not start as they do for figures."""

import subprocess
import sys
from collections.abc import Callable
from typing import BinaryIO

import pytest

from bench import sites
from tests.forking import make_ready
from tests.integration.bed import forked

Here = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sites of a bench that runs in this process are forked, and their keys are made so, too."""
    make_ready()
    monkeypatch.setattr(sites.Site, "_launch", launch)
    monkeypatch.setattr(sites, "ran", forked.isthmus)


def launch(site: sites.Site, _: BinaryIO) -> sites.Process:
    """What `Site._launch` does, at once."""
    return forked.Forked(("serve", str(site.config)), site.log, site.log)


@pytest.fixture
def here(quick: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """The program of a bench with these arguments, as if it were typed, but in this process and `quick`."""

    def run(main: Callable[[], int], *arguments: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.setattr(sys, "argv", ["bench", *arguments])
        status = main()
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return run
