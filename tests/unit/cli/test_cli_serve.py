"""`isthmus serve` as an operator runs it: a line when it is ready, an orderly end, exit codes when it cannot start."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest

from bench.sites import free_port
from proxy.errors import ExitCode
from proxy.identity import generate
from tests.integration.bed import forked
from tests.nobody import NOBODY
from tests.patience import PATIENCE, until
from tests.unit.cli.conftest import Isthmus, change

Start = Callable[..., "subprocess.Popen[str]"]
Ready = Callable[[Path], forked.Forked]
PIPE_BYTES, LINE_BYTES = 4096, 400
"""The least that a pipe has room for, and more than a line of the log takes."""

TOLD_WHILE_OPENING = """
import os, signal
from proxy.cli import main
from proxy.net import service

def opened(config, really=service.open_configured_store):
    os.kill(os.getpid(), signal.SIGHUP)
    return really(config)

service.open_configured_store = opened
main()
"""

TOLD_WHILE_READ = """
import os, signal, sys

class Operator:
    def find_spec(self, name, path=None, target=None):
        if name == "proxy.cli.commands":
            os.kill(os.getpid(), signal.SIGHUP)

sys.meta_path.insert(0, Operator())
from proxy.cli import main
main()
"""

LIMITED = """
import sys
from pathlib import Path
from proxy.cli import main
from proxy.doctor import host
from proxy.doctor.facts import Memory

allowed = Path(sys.argv[-1]).with_name("allowed")
host.memory = lambda: Memory(None, int(allowed.read_text()) << 20)
main()
"""
"""A site whose control group allows as many MiB as a file beside its own says."""

TOLD_TO_END_WHILE_WALKING = """
import os, signal
from dedupstore import opening
from proxy.cli import main

def walk(index):
    os.kill(os.getpid(), signal.SIGTERM)
    while True:
        pass

opening.problems = walk
main()
"""


@pytest.fixture
def serve() -> Iterator[Start]:
    """Starts sites; whatever still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(config: Path, *python: str) -> "subprocess.Popen[str]":
        command = [sys.executable, *(python or ("-m", "proxy.cli")), "serve", str(config)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Ready]:
    """Starts sites that are forked, and waits until they are ready; killed at the end of the test."""
    started: list[forked.Forked] = []

    def start(config: Path) -> forked.Forked:
        log = tmp_path / f"log-{len(started)}"
        log.touch()
        started.append(forked.Forked(("serve", str(config)), log, log))
        until(lambda: "is ready" in log.read_text())
        return started[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)


def wait_ready(process: "subprocess.Popen[str]") -> list[dict[str, str]]:
    """The log up to the line that says so; each is an object, for stderr is no terminal."""
    assert process.stderr is not None
    entries = []
    for line in process.stderr:
        assert line.startswith("{"), line + process.stderr.read()
        entries.append(json.loads(line))
        if "ready" in entries[-1]["message"]:
            return entries
    raise AssertionError(f"ended with {process.wait()} after {entries}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ready_and_drained(isthmus: Isthmus, local_pair: Path, serve: Start, number: signal.Signals) -> None:
    process = serve(local_pair / "west.toml")
    (*_, ready) = wait_ready(process)
    assert "site west is ready" in ready["message"]
    shown = isthmus("status", local_pair / "west.toml", "--json")
    assert json.loads(shown.stdout)["site"] == "west"
    assert isthmus("status", local_pair / "west.toml").exit_code == 0
    assert json.loads(isthmus("store", "stats", local_pair / "west.toml", "--json").stdout)["mode"] == "disk"
    assert isthmus("store", "purge", local_pair / "west.toml", "--yes").exit_code == ExitCode.STORE
    process.send_signal(number)
    output, log = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (0, "")
    assert "Traceback" not in log


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("program", [TOLD_WHILE_READ, TOLD_WHILE_OPENING], ids=["modules are read", "store is opened"])
def test_told_to_reload_before_it_is_ready(isthmus: Isthmus, local_pair: Path, serve: Start, program: str) -> None:
    """It is not killed, and reads its files anew when it is ready."""
    process = serve(local_pair / "west.toml", "-c", program)
    wait_ready(process)
    until(lambda: "read anew" in isthmus("events", local_pair / "west.toml").stdout)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def test_a_control_group_that_allows_less_than_the_site_may_take(
    isthmus: Isthmus, local_pair: Path, serve: Start
) -> None:
    """It was killed again and again, and only `doctor` could have told why."""
    west = local_pair / "west.toml"
    (local_pair / "allowed").write_text("300")
    (line,) = (each for each in wait_ready(serve(west, "-c", LIMITED)) if "IST-411" in each["message"])
    assert "the site may take 830 MiB (store.cache 160 MiB, " in line["message"]
    assert "the control group allows 300 MiB; lower store.cache, or tunnel.memory and" in line["message"]
    assert line["level"] == "warning"
    assert "MemoryMax=" in isthmus("events", west).stdout


def test_a_control_group_that_allows_less_than_at_the_start(isthmus: Isthmus, local_pair: Path, serve: Start) -> None:
    """As after `systemctl set-property`: a reload judged the site's new file by what had been allowed at its start."""
    west, allowed = local_pair / "west.toml", local_pair / "allowed"
    allowed.write_text("4000")
    wait_ready(serve(west, "-c", LIMITED))
    assert "IST-411" not in isthmus("events", west).stdout
    allowed.write_text("300")
    change(west, "[tunnel]\n", '[tunnel]\nwindow = "2MiB"\n')
    assert "It has taken over" in isthmus("reload", west).stdout
    assert "the control group allows 300 MiB" in isthmus("events", west).stdout


def scheduled(text: str) -> str:
    schedule = '[[peer.schedule]]\nfrom = "08:00"\nto = "18:00"\nrate = "10Mbit"\n'
    return text.replace('certificate = "west.crt"\n', f'certificate = "west.crt"\n{schedule}')


def test_a_time_zone_that_this_host_does_not_have(
    isthmus: Isthmus, local_pair: Path, serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UTC was taken for it, and rates began at the wrong hour: nothing said so."""
    east = local_pair / "east.toml"
    east.write_text(scheduled(east.read_text()))
    monkeypatch.setenv("TZ", "Europe/Berln")
    (line,) = (each for each in wait_ready(serve(east)) if "IST-412" in each["message"])
    assert line["level"] == "warning"
    assert "TZ=Europe/Berln is not known here, so UTC is taken" in line["message"]
    monkeypatch.setenv("TZ", "UTC")
    told = isthmus("doctor", east, "--json").stdout
    assert "TZ=Europe/Berln is not known here" in told, "the site's, not the shell's"


def test_a_time_zone_that_this_host_does_not_have_where_a_reload_brings_the_schedule(
    isthmus: Isthmus, local_pair: Path, serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and again when it comes anew: another reload tells nothing that is known."""
    east = local_pair / "east.toml"
    without = east.read_text()
    monkeypatch.setenv("TZ", "Europe/Berln")
    wait_ready(serve(east))
    more = without.replace("[tunnel]\n", '[tunnel]\nwindow = "2MiB"\n')
    for told, text in ((1, scheduled(without)), (1, scheduled(more)), (1, without), (2, scheduled(without))):
        east.write_text(text)
        assert "It has taken over" in isthmus("reload", east).stdout
        assert isthmus("events", east).stdout.count("IST-412") == told


def test_told_to_end_while_it_walks_its_index(isthmus: Isthmus, local_pair: Path, serve: Start, ready: Ready) -> None:
    """After a kill: it does not finish the walk first, and the store is as good as before."""
    west = local_pair / "west.toml"
    killed = ready(west)
    killed.send_signal(signal.SIGKILL)
    killed.wait(PATIENCE)
    told = serve(west, "-c", TOLD_TO_END_WHILE_WALKING)
    _, log = told.communicate(timeout=PATIENCE)
    assert told.returncode == 0
    assert "has stopped while it opened its store" in log
    assert "Traceback" not in log
    ready(west)
    assert json.loads(isthmus("status", west, "--json").stdout)["alarms"] == []
    assert not list((local_pair / "store").glob("set-aside-*"))


def test_nobody_reads_the_log(isthmus: Isthmus, local_pair: Path, serve: Start) -> None:
    """Its pipe is full: the site goes on, answers, and ends when it is told to."""
    process = serve(local_pair / "west.toml")
    wait_ready(process)
    assert process.stderr is not None
    fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    host, port = tomllib.loads((local_pair / "west.toml").read_text())["tunnel"]["listen"].split(":")
    deadline = time.monotonic() + PATIENCE
    while unread(process.stderr) < PIPE_BYTES - LINE_BYTES:
        assert time.monotonic() < deadline
        process.send_signal(signal.SIGHUP)
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stranger:
            stranger.sendall(b"no TLS at all\r\n")
            stranger.recv(1)
    answered = 0
    while answered < 3:  # one after another: reloads end connections, and more than one may still be to come
        assert time.monotonic() < deadline
        answered = answered + 1 if isthmus("status", local_pair / "west.toml").exit_code == 0 else 0
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


def unread(pipe: IO[str]) -> int:
    """Bytes in the pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_mistakes_in_the_file(local_pair: Path, serve: Start) -> None:
    (local_pair / "east.key").chmod(0o644)
    process = serve(local_pair / "east.toml")
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == ExitCode.CONFIGURATION
    assert f"chmod 600 {local_pair}/east.key" in log


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which can read another's key")
def test_a_clock_that_is_not_set_yet_is_no_mistake_in_the_file(local_pair: Path) -> None:
    """After which systemd does not try again: after a power failure a site without a clock's battery stayed down."""
    unit = Path(__file__).parents[3] / "deploy" / "systemd" / "isthmus@.service"
    given_up = re.search(r"^RestartPreventExitStatus=(.*)$", unit.read_text(), re.MULTILINE)
    assert given_up
    generate("west", local_pair, force=True, now=datetime.now(UTC) + timedelta(days=300))
    ended = forked.isthmus("serve", str(local_pair / "west.toml"))
    assert "see whether the clock of this host is right" in ended.stderr
    assert str(ended.returncode) not in given_up[1].split()
    assert ended.returncode == ExitCode.FAILED
    generate("west", local_pair, force=True, now=datetime.now(UTC) - timedelta(days=4000))
    ended = forked.isthmus("serve", str(local_pair / "west.toml"))
    assert "has expired (west, " in ended.stderr
    assert str(ended.returncode) in given_up[1].split(), "clocks are not years ahead, and a failed unit is noticed"


def test_root_does_not_serve_with_the_key_of_another(local_pair: Path, ready: Ready) -> None:
    """It would leave a store and a history that the site's user cannot open."""
    os.chown(local_pair / "west.key", NOBODY, NOBODY)
    refused = forked.isthmus("serve", str(local_pair / "west.toml"))
    assert refused.returncode == ExitCode.CONFIGURATION
    assert f"runuser -u nobody -- isthmus serve {local_pair / 'west.toml'}" in refused.stderr
    assert not (local_pair / "store").exists()
    assert not list(local_pair.glob("*history*"))
    os.chown(local_pair / "west.key", 0, 0)
    ready(local_pair / "west.toml")


@pytest.mark.parametrize("key", ["[tunnel]", "[status]", "[[forward]]"])
def test_an_address_in_use(local_pair: Path, key: str) -> None:
    section = (local_pair / "east.toml").read_text().split(key)[1]
    address = section.split('listen = "')[1].split('"')[0]
    host, port = address.split(":")
    with socket.create_server((host, int(port))):
        ended = forked.isthmus("serve", str(local_pair / "east.toml"))
    assert ended.returncode == ExitCode.LISTEN
    assert address in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("below", ["", "/below"])
def test_a_file_where_the_store_should_be(local_pair: Path, below: str) -> None:
    config = local_pair / "west.toml"
    (local_pair / "store").touch()
    change(config, 'path = "store"', f'path = "store{below}"')
    ended = forked.isthmus("serve", str(config))
    assert ended.returncode == ExitCode.STORE
    path = local_pair / "store"
    assert (
        f"store {path}{below}: {path} is not a directory; move it away, or name a directory as store.path"
        in ended.stderr
    )


def test_a_store_in_use(local_pair: Path, ready: Ready) -> None:
    first = ready(local_pair / "west.toml")
    other = local_pair / "other.toml"
    text = (local_pair / "west.toml").read_text()
    other.write_text(re.sub(r'listen = "[^"]*"', lambda _: f'listen = "127.0.0.1:{free_port()}"', text))
    second = forked.isthmus("serve", str(other))
    assert second.returncode == ExitCode.STORE
    assert f"store {local_pair}/store is in use by process {first.pid} " in second.stderr
