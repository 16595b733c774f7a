"""fio for real, on a disk that is a file."""

import shutil
from pathlib import Path

import pytest

from bench.replay.fio import HOST, Job, disk, lacking, load
from tests.stand_ins import path_with, stand_in


def test_it_is_at_work_before_it_is_told_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, the signal would kill it. It takes half a second on an idle machine, and longer on a busy one."""
    if reason := lacking():
        pytest.skip(reason)
    stand_in(tmp_path, "fio", f'sleep 1.5; exec {shutil.which("fio")} "$@"')
    monkeypatch.setenv("PATH", path_with(tmp_path))
    image = tmp_path / "image"
    image.write_bytes(bytes(16 << 20))
    with disk(str(image), tmp_path, "disk") as socket, load([Job("host", socket, HOST)], tmp_path) as running:
        assert [*running.end()] == ["host"]
