"""The systemd unit: sound, hardened, and what a site tells the service manager as it starts, reloads and stops."""

import re
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pytest

from tests.integration.bed.ends import hang_up
from tests.integration.bed.sites import Bed
from tests.patience import PATIENCE
from tests.stand_ins import stand_in

UNIT = Path(__file__).parents[3] / "deploy" / "systemd" / "isthmus@.service"
EXPOSURE_MAX = 2.0


@pytest.fixture
def analyze() -> str:
    if not (found := shutil.which("systemd-analyze")):
        pytest.skip("not installed: systemd-analyze (Debian: package systemd)")
    return found


def test_its_exposure_is_small(analyze: str) -> None:
    command = [analyze, "security", "--offline=1", f"--threshold={EXPOSURE_MAX * 10:.0f}", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze knows no --offline")
    assert done.returncode == 0, done.stdout + done.stderr
    overall = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert overall
    assert float(overall[1]) < EXPOSURE_MAX


def test_it_is_written_without_mistakes(analyze: str, tmp_path: Path) -> None:
    """As installed, but for the program's place."""
    program = stand_in(tmp_path, "isthmus", "")
    installed = tmp_path / "isthmus@.service"
    installed.write_text(UNIT.read_text().replace("/opt/isthmus/bin/isthmus", str(program)))
    command = [analyze, "verify", "--man=no", str(tmp_path / "isthmus@east.service")]
    (tmp_path / "isthmus@east.service").symlink_to(installed)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    complaints = [line for line in done.stderr.splitlines() if "isthmus" in line]
    assert not complaints


def test_stopping_leaves_time_to_drain() -> None:
    """Longer than the 30 s that `tunnel.drain` is by default."""
    seconds = re.search(r"^TimeoutStopSec=(\d+)$", UNIT.read_text(), re.MULTILINE)
    assert seconds
    assert int(seconds[1]) > 30


@pytest.mark.typed("east")
def test_a_site_tells_what_it_does(bed: Bed, monkeypatch: pytest.MonkeyPatch, site_directory: Path) -> None:
    pair = bed.pair(("127.0.0.1", 9))
    with listening(site_directory / "notify") as heard:
        monkeypatch.setenv("NOTIFY_SOCKET", str(site_directory / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "1000000")
        pair.east.start()
        assert heard.get(timeout=PATIENCE) == "READY=1\nSTATUS=site east"
        assert heard.get(timeout=PATIENCE) == "WATCHDOG=1"
        pair.east.wait_ready()
        pair.east.signal(signal.SIGHUP)
        assert following(heard).startswith("RELOADING=1\nMONOTONIC_USEC=")
        assert following(heard).startswith("READY=1\nSTATUS=site east")
        assert heard.get(timeout=PATIENCE) == "WATCHDOG=1"
        pair.east.signal(signal.SIGTERM)
        assert following(heard) == "STOPPING=1\nSTATUS=drains\nEXTEND_TIMEOUT_USEC=90000000"
        assert pair.east.stop() == 0


def following(heard: "Queue[str]") -> str:
    """The next message that is no sign of life."""
    while (message := heard.get(timeout=PATIENCE)) == "WATCHDOG=1":
        pass
    return message


@contextmanager
def listening(path: Path) -> Iterator["Queue[str]"]:
    """What comes to that socket. It is read as it comes: a queue that is full takes no more."""
    heard: Queue[str] = Queue()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(path))

    def read() -> None:
        while message := listener.recv(4096):
            heard.put(message.decode())

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    try:
        yield heard
    finally:
        hang_up(listener)
        reading.join()
