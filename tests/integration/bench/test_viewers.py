"""`bench.viewers` measures a pair that is watched: small, so the figures themselves say nothing here."""

import signal
from pathlib import Path

import psutil

from bench.sites import free_port
from bench.viewers import VIEWERS, Bench, watching
from tests.integration.bed.sites import Bed


def test_it_measures_with_viewers_and_without(tmp_path: Path) -> None:
    bench = Bench(16 << 20, 1)
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
