"""The alternatives' tunnels over a real line: a volume goes through each, and what arrives is what was sent."""

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from bench.datasets import Dataset
from bench.lines import far_sink
from bench.replay import tunnels
from bench.replay.flow import send
from bench.replay.suites.alternatives import Opening
from bench.sites import SiteFailure, environment
from tests.integration.bed.lines import line_or_skip
from tests.patience import PATIENCE, until

pytestmark = [pytest.mark.root, pytest.mark.timeout(600)]

RELAY = """
import os, socket, threading, time

def address(name):
    host, _, port = os.environ[name].rpartition(":")
    return host, int(port)

def reach(to):
    while True:
        try:
            return socket.create_connection(to)
        except OSError:
            time.sleep(0.1)

def copy(source, sink):
    while data := source.recv(65536):
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)

east = os.environ["ISTHMUS_END"] == "east"
listen, to = ("ISTHMUS_LISTEN", "ISTHMUS_TUNNEL") if east else ("ISTHMUS_TUNNEL", "ISTHMUS_TARGET")
with socket.create_server(address(listen)) as listener:
    while True:
        near, _ = listener.accept()
        far = reach(address(to))
        for pair in ((near, far), (far, near)):
            threading.Thread(target=copy, args=pair, daemon=True).start()
"""


TUNNEL = """
import os, signal, sys
from pathlib import Path
from bench.replay import tunnels
from bench.wan import Line, line
tunnels.ALIVE_SECONDS = 1
with line(Line()) as wan, tunnels.ssh(wan, Path(sys.argv[1]), ("127.0.0.1", 9)):
    wan.outage(True)
    with wan.inside("west"):
        print(os.stat("/proc/thread-self/ns/net").st_ino, flush=True)
    signal.pause()
"""


def test_ssh_ends_where_the_bench_is_killed(tmp_path: Path) -> None:
    """A connection's sshd is a process of its own, and over a line that is gone it hears of nothing."""
    with line_or_skip():
        pass  # or skip
    if reason := tunnels.lacking_ssh():
        pytest.skip(reason)
    command = [sys.executable, "-c", TUNNEL, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as bench:
        assert bench.stdout is not None
        west = int(bench.stdout.readline())
        assert inside(west)
        bench.kill()
    until(lambda: not inside(west))


def inside(namespace: int) -> list[int]:
    """Processes there."""
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}/ns/net").st_ino == namespace:
                found.append(pid)
    return found


@pytest.mark.parametrize("name", ["ssh", "stunnel", "own"])
def test_a_volume_arrives(name: str, tmp_path: Path) -> None:
    reasons: dict[str, Callable[[], str]] = {"ssh": tunnels.lacking_ssh, "stunnel": tunnels.lacking_stunnel}
    if reason := reasons.get(name, lambda: "")():
        pytest.skip(reason)
    script = tmp_path / "relay.py"
    script.write_text(RELAY)
    own = partial(tunnels.own, shlex.join([sys.executable, str(script)]))
    ways: dict[str, Opening] = {"ssh": tunnels.ssh, "stunnel": tunnels.stunnel, "own": own}
    through = ways[name]
    with line_or_skip(rate="100Mbit", delay="1ms") as wan, far_sink(wan) as end:
        before = set(psutil.Process().children(recursive=True))
        with through(wan, tmp_path, end.address) as entrance:
            flow = send(wan, [Dataset("tunnel", 300_000, 38)], [entrance], [end])
            started = set(psutil.Process().children(recursive=True)) - before
            assert started
        _, alive = psutil.wait_procs(started, timeout=PATIENCE)
        assert not [each for each in alive if each.status() != psutil.STATUS_ZOMBIE]
        (transfer,) = flow.transfers
        assert transfer is not None
        assert (transfer.bytes, transfer.verified, flow.complaint) == (300_000, True, "")
        assert flow.line.samples[-1].so_far > flow.line.samples[0].so_far, "it went over the line"


def test_a_command_that_does_not_work_is_one_clear_error(tmp_path: Path) -> None:
    complaint = r"`sh -c .*` has ended at the east end: no such proxy"
    with (
        line_or_skip(rate="100Mbit") as wan,
        pytest.raises(SiteFailure, match=complaint),
        tunnels.own("echo no such proxy; exit 1", wan, tmp_path, ("127.0.0.1", 9)),
    ):
        pytest.fail("there is no way")
