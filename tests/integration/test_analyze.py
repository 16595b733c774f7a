"""`isthmus analyze` as a process: a block device is read like a file, and an interrupt ends it at once."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import Dataset
from bench.sites import environment, isthmus
from tests.patience import PATIENCE, until

MIB = 1 << 20


def analyzed(path: Path) -> dict[str, Any]:
    command = isthmus("analyze", str(path), "--json")
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    path = tmp_path / "volume"
    Dataset("device", 4 * MIB, 38, 10).fill(path)
    return path


@pytest.fixture
def device(volume: Path) -> Iterator[Path]:
    command = ["losetup", "--find", "--show", "--read-only", str(volume)]
    attached = subprocess.run(command, capture_output=True, text=True, check=False)
    if attached.returncode:
        pytest.skip(f"no loop device can be had: {attached.stderr.strip()}")
    path = Path(attached.stdout.strip())
    yield path
    subprocess.run(["losetup", "--detach", str(path)], check=True)


@pytest.mark.root
def test_a_device_is_read_like_a_file(volume: Path, device: Path) -> None:
    assert analyzed(device) == analyzed(volume)


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    """In the middle of a terabyte."""
    endless = tmp_path / "endless"
    with endless.open("wb") as file:
        file.truncate(1 << 40)
    command = isthmus("analyze", str(endless))
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            until(lambda: has_read(process) > 96 * MIB, "it does not read on")
            process.send_signal(signal.SIGINT)
            shown, complaint = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, shown.strip()) == (130, "")
    assert "Traceback" not in complaint


def has_read(process: "subprocess.Popen[str]") -> int:
    """Bytes so far."""
    assert process.poll() is None, "it has ended already"
    counts = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
    return int(counts["rchar"])
