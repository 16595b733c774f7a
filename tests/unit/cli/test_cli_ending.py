"""SIGTERM, or a terminal that goes, while a command writes: nothing half written stays in the way of the next try."""

import signal
from pathlib import Path

import pytest

from proxy.errors import ExitCode
from tests.forking import FORKING
from tests.patience import PATIENCE
from tests.unit.cli.disturbed import disturbed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["made", "filled"])  # the disk may take as long to make a file as it is to be filled
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
    said = tmp_path / "said"
    process = FORKING.Process(target=disturbed, args=(words, number, when == "made", place, said), daemon=True)
    process.start()
    process.join(PATIENCE)
    assert [path for path in place.rglob("*") if path.is_file()] == []
    assert (process.exitcode, said.read_text().strip()) == (ExitCode.INTERRUPTED, "")
