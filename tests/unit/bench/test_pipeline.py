"""What `bench.pipeline` measures with: fast ends that notice differences, the plain relay pair, kernels, goals."""

import io
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench import kernels, load
from bench.baseline import plain_pair
from bench.datasets import Dataset
from bench.pipeline import Pipeline, middle
from bench.pipeline_results import Measurement, Results, goals, show
from bench.sites import SiteFailure, environment, keygen

SIZE = (6 << 20) + 5


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    for site in ("east", "west"):
        keygen(site, directory)
    return directory


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    file = tmp_path / "volume"
    Dataset("any", SIZE, 38).fill(file)
    return file


SHAPES = [load.Shape(), load.Shape(7), load.Shape(varied=True), load.Shape(inserted=1)]


def test_every_shape_arrives_directly(volume: Path) -> None:
    with load.sinking(volume) as (address, sink):
        for shape in SHAPES:
            run = load.run(volume, address, sink, shape)
            assert run.identical
            assert run.bytes == SIZE + shape.inserted * shape.connections
            assert run.seconds > 0


def test_every_shape_arrives_through_the_plain_pair(volume: Path, keys: Path) -> None:
    with load.sinking(volume) as (address, sink), plain_pair(keys, address) as via:
        for shape in SHAPES:
            assert load.run(volume, via, sink, shape).identical


def test_the_sink_notices_a_difference(volume: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    data = bytearray(volume.read_bytes())
    data[-1] ^= 1
    other.write_bytes(data)
    with load.sinking(volume) as (address, sink):
        assert load.run(volume, address, sink, load.Shape()).identical
        assert not load.run(other, address, sink, load.Shape()).identical


def test_a_dead_sink_is_a_failure(volume: Path) -> None:
    with load.sinking(volume) as (address, sink):
        sink.kill()
        sink.wait()
        with pytest.raises(load.LoadFailure, match="source ended with status 1"):
            load.run(volume, address, sink, load.Shape())


def test_questions_are_answered(keys: Path) -> None:
    with load.echoing() as (address, _), plain_pair(keys, address) as via:
        for to in (address, via):
            found = load.latency(to, 50)
            assert 0 < found["median"] <= found["percentile_99"]


def test_kernels_and_the_limit(keys: Path) -> None:
    found = kernels.measure(b"".join(Dataset("any", 4 << 20, 38)), keys)
    assert set(found) >= {name for passes in kernels.WORK.values() for site in passes for name in site}
    assert all(0 <= seconds < 1e-6 for seconds in found.values())


def test_the_limit_is_the_busier_site_or_all_cores() -> None:
    found = dict.fromkeys(
        ("chunking", "fingerprint", "copy", "zstd compress", "zstd decompress", "tls encrypt", "tls decrypt"), 1.0
    )
    found |= {"tcp send": 1.0, "tcp receive": 1.0, "index put": 3.0}
    assert kernels.limit(found, "cold", "memory", cores=2) == kernels.Limit(1 / 7, 2 / 15)
    assert kernels.limit(found, "cold", "memory", cores=8).rate == 1 / 7
    assert kernels.limit(found, "cold", "disk", cores=2).busier_site == 1 / 10
    assert kernels.limit(found, "warm", "disk", cores=2) == kernels.Limit(1 / 3, 2 / 8)
    assert kernels.limit(found | {"compare": 0.5}, "warm", "memory", cores=2) == kernels.Limit(1 / 3, 2 / 6.5)


def results() -> Results:
    found = Results({"isthmus": "0", "python": "3", "processor": "p", "cores": 2, "load_before": 0.0}, 1 << 30)
    found.transfers.append(Measurement("memory", "random", "cold", 1, 250e6, 100.2, 0.5, 0.6, identical=True))
    found.many = {"memory, cold": [1.2, 0.96, 0.9], "disk, cold": [0.8, 1.0, 1.1]}
    found.transfers.append(Measurement("disk", "random", "warm", 1, 300e6, 0.7, 0.5, 0.6, identical=True))
    found.latency = {
        way: [{"median": seconds, "percentile_99": 1.0} for seconds in rounds]
        for way, rounds in {"direct": (0.0001, 0.0001, 0.0004), "pair": (0.0004, 0.0008, 0.0008)}.items()
    }
    found.memory.append(
        {"case": "full", "store": "memory", "store_size": 1 << 30, "peaks": {"east": 1500 << 20}, "identical": True}
    )
    return found


@pytest.mark.parametrize(("rates", "shown"), [((3, 1, 2), 2), ((4, 1, 3, 2), 2), ((5,), 5), ((2, 1), 1)])
def test_of_an_even_number_of_rounds_the_slower_middle_one_is_shown(rates: tuple[int, ...], shown: int) -> None:
    """It was the faster one."""
    transfers = [Measurement("memory", "random", "cold", 32, rate, 0.1, 0.5, None, identical=True) for rate in rates]
    assert middle(transfers).rate == shown


def test_goals_are_judged() -> None:
    assert {goal.what: goal.met for goal in goals(results())} == {
        "memory, random, cold": True,
        "disk, random, warm": False,
        "disk, random, warm: wire": False,
        "memory, cold: 32 connections against one": False,
        "disk, cold: 32 connections against one": True,
        "latency added to 4 KiB, median": True,
        "resident, east, memory, full": False,
    }
    (added,) = (goal.measured for goal in goals(results()) if goal.what.startswith("latency"))
    assert added == pytest.approx(0.4), "of the rounds with 0.3, 0.7 and 0.4 ms more"


def test_the_tables_fit_eighty_columns_and_show_a_difference() -> None:
    found = results()
    found.transfers.append(Measurement("disk", "38 %", "warm, cut otherwise", 1, 1e6, 0.7, 0.5, None, identical=False))
    out = io.StringIO()
    show(found, Console(file=out, width=80))
    assert "…" not in out.getvalue()
    assert "Bytes differ" in out.getvalue()
    assert json.loads(json.dumps(asdict(found)))["transfers"][0]["rate"] == 250e6


def test_a_disk_without_room_is_told_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sites whose disk is full learn nothing, and the figures are those of such sites."""
    monkeypatch.setattr("shutil.disk_usage", lambda directory: SimpleNamespace(free=100 << 20))
    with pytest.raises(SiteFailure, match=r"has 100 MiB free, 11,264 MiB are needed \(see TMPDIR\); or give a smaller"):
        Pipeline(1 << 30, 4 << 30, 1).run(tmp_path)
    assert not [*tmp_path.iterdir()]


def test_bad_sizes_are_refused_in_one_line() -> None:
    command = [sys.executable, "-m", "bench.pipeline", "--size", "lots"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert '--size: "lots" is not a size; write a number and one of' in done.stderr
