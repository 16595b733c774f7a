"""`bench.viewers` measures a pair that is watched: small, so the figures themselves say nothing here."""

import contextlib
import signal
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from bench import viewers
from bench.load import LoadFailure
from bench.sites import Site, free_port
from bench.viewers import VIEWERS, Comparison, watching
from proxy.errors import ExitCode
from tests.integration.bed.sites import Bed
from tests.integration.bench.conftest import Here
from tests.patience import PATIENCE


@pytest.mark.usefixtures("quick")
def test_it_measures_with_viewers_and_without(tmp_path: Path) -> None:
    bench = Comparison(16 << 20, 1)
    bench.run(tmp_path)
    assert bench.identical
    assert len(bench.alone.rates) == len(bench.watched.rates) == 1
    assert min(bench.alone.rates + bench.alone.costs + bench.watched.rates + bench.watched.costs) > 0
    assert [goal.what for goal in bench.goals()] == ["throughput lost", "CPU time for a byte, more"]


def test_viewers_are_there_when_it_begins(bed: Bed) -> None:
    """All of them listen to what the site sends."""
    site = bed.pair(("127.0.0.1", free_port())).east
    site.start()
    site.wait_ready()
    with watching((site,)):
        connections = psutil.Process(site.pid).net_connections("tcp4")
        listening = [one for one in connections if one.laddr.port == site.status_port and one.raddr]
        assert len(listening) >= VIEWERS
    site.signal(signal.SIGTERM)
    assert site.stop() == 0


def test_a_site_that_nobody_watches_any_more_is_not_measured(bed: Bed) -> None:
    site = bed.pair(("127.0.0.1", free_port())).east
    site.start()
    site.wait_ready()

    def end() -> None:
        site.signal(signal.SIGTERM)
        assert site.stop() == 0

    with pytest.raises(LoadFailure, match="no longer served"):
        end_while_watched(site, end)


@pytest.mark.parametrize("whom", [0, -1], ids=["one who listens", "who asks"])
def test_a_site_that_goes_away_is_told_to_the_bench_alone(whom: int, capfd: pytest.CaptureFixture[str]) -> None:
    """Two tracebacks of the viewers came beside what the bench says."""
    goes = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve_until, args=(goes, listener, whom), daemon=True)
        serving.start()
        site: Any = SimpleNamespace(status_port=listener.getsockname()[1])
        with pytest.raises(LoadFailure, match="no longer served"):
            end_while_watched(site, goes.set)
        serving.join()
    assert capfd.readouterr().err == ""


def test_a_port_of_no_site_is_named(here: Here) -> None:
    port = free_port()
    done = here(viewers.main, "--view", str(port))
    assert done.returncode == ExitCode.FAILED
    assert done.stderr == f"no site serves a viewer at 127.0.0.1:{port}: Connection refused\n"


@pytest.mark.parametrize("text", ["70000", "0", "nonsense"])
def test_what_is_no_port_is_a_mistake_of_usage(here: Here, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        here(viewers.main, "--view", text)
    assert ended.value.code == ExitCode.USAGE
    assert f'argument --view: "{text}" is no' in capsys.readouterr().err


def end_while_watched(site: Site, end: Callable[[], None]) -> None:
    with watching((site,)):
        [process] = [each for each in psutil.Process().children() if "bench.viewers" in each.cmdline()]
        end()
        process.wait(timeout=PATIENCE)


def serve_until(goes: threading.Event, listener: socket.socket, whom: int) -> None:
    """Serve those who listen, then the one who asks; then reset the connection of one of them."""
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(VIEWERS + 1):
            connections.append(stack.enter_context(listener.accept()[0]))
            connections[-1].recv(1000)
            if len(connections) <= VIEWERS:
                connections[-1].sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        goes.wait(PATIENCE)
        connections[whom].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connections[whom].close()
        connections[1].recv(1)  # until all have ended
