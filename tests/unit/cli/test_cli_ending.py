"""SIGTERM, or a terminal that goes, while a command writes: nothing half written stays in the way of the next try."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.sites import environment
from proxy.errors import ExitCode
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("hangups")

DISTURBED = """
import os, signal, sys
from proxy import cli
from proxy.cli import support_bundle
number, made = int(sys.argv.pop(1)), sys.argv.pop(1) == "made"
def disturb(*arguments):
    signal.raise_signal(number)
def make(path, flags, *mode, real=os.open):
    descriptor = real(path, flags, *mode)
    if flags & os.O_EXCL:
        disturb()
    return descriptor
if made:
    os.open = make
else:
    os.fsync = support_bundle.collect = disturb
cli.main()
"""
"""While it is filled, or while the disk makes the file, which may take as long."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["made", "filled"])
@pytest.mark.parametrize(
    "command",
    [
        "support-bundle {east} -o bundle.tar.gz",
        "keygen --site north --out new",
        "init --site north --peer south=198.18.0.1:4500 --out new",
    ],
)
def test_who_is_ended_leaves_no_half_file(
    pair: Path, tmp_path: Path, command: str, when: str, number: signal.Signals
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    words = command.format(east=pair / "east.toml").split()
    ended = subprocess.run(
        [sys.executable, "-c", DISTURBED, str(int(number)), when, *words],
        cwd=place,
        env=environment(),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert [path for path in place.rglob("*") if path.is_file()] == []
    assert (ended.returncode, ended.stderr.strip()) == (ExitCode.INTERRUPTED, b"")
