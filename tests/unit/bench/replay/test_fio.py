"""What fio is told, and what is read from its report. fio itself does not run here."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.replay import fio
from bench.replay.fio import (
    HOST,
    RANDOM,
    SEQUENTIAL_WRITE,
    Area,
    FioFailure,
    Found,
    Job,
    Work,
    found,
    job_file,
    lacking,
    load,
)
from bench.replay.tcp_counters import Segments
from tests.patience import PATIENCE
from tests.stand_ins import path_with, stand_in


def told(*jobs: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    return "fio: a warning\n" + json.dumps(
        {"jobs": [{"jobname": name, "error": 0, "read": read, "write": write} for name, read, write in jobs]}
    )


def way(count: int, moved: int, seconds: float, latency: float) -> dict[str, Any]:
    return {"total_ios": count, "io_bytes": moved, "runtime": seconds * 1000, "clat_ns": {"mean": latency * 1e6}}


NOTHING = way(0, 0, 0, 0)


def test_jobs_of_a_name_are_counted_together() -> None:
    report = told(
        ("random.0", way(30, 3000, 10, 10), way(10, 1000, 10, 30)), ("random.1", way(40, 4000, 10, 20), NOTHING)
    )
    assert found(report) == {"random": Found(800, 8, 17.5, 80)}
    assert found(told(("idle.0", NOTHING, NOTHING))) == {"idle": Found(0, 0, 0, 0)}


def test_what_ends_early_is_no_faster_for_that() -> None:
    report = told(("read.0", way(10, 1000, 1, 1), NOTHING), ("read.1", way(10, 1000, 2, 1), NOTHING))
    assert found(report) == {"read": Found(1000, 10, 1, 20)}


@pytest.mark.parametrize(
    ("report", "complaint", "message"),
    [
        ("", "fio: engine nbd not loadable\n", "fio failed: fio: engine nbd not loadable"),
        ("", "", "it said nothing"),
        ('{"jobs": []}', "", "error"),
        ('{"jobs": [{"jobname": "a.0", "error": 5}]}', "broken pipe", "error 5: broken pipe"),
        ('{"something": "else"}', "", "something"),
    ],
)
def test_what_failed_is_one_clear_error(report: str, complaint: str, message: str) -> None:
    with pytest.raises(FioFailure, match=message):
        found(report, complaint)


@pytest.mark.parametrize(
    ("does", "patience", "told"),
    [
        ("echo no such engine >&2; exit 1", PATIENCE, "fio ended at once: no such engine"),
        ("exec sleep 600", 0.1, "fio did not begin within 0 s"),
    ],
)
def test_nothing_is_measured_beside_a_fio_that_does_not_work(
    does: str, patience: float, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All volumes moved first, which takes hours at the real sizes."""
    monkeypatch.setattr(fio, "PATIENCE_SECONDS", patience)
    stand_in(tmp_path, "fio", does)
    monkeypatch.setenv("PATH", path_with(tmp_path))
    with pytest.raises(FioFailure, match=told), load([], tmp_path):
        pytest.fail("it is measured")


def test_what_fio_is_told() -> None:
    lines = job_file([Job("host", Path("/x/a.nbd"), HOST), Job("w", Path("/x/b.nbd"), SEQUENTIAL_WRITE, 3)], 1.5)
    first, second = lines.split("[host.0]")[1].split("[w.1]")
    assert "runtime=1.500s" in lines
    assert "uri=nbd+unix:///?socket=/x/a.nbd" in first
    assert "rate_iops=2555,1095" in first
    assert "flow" not in first
    assert {"rw=write", "bs=65536", "iodepth=12", "flow_id=3", "time_based=1"} <= set(second.splitlines())


def test_an_area_is_gone_over_once_and_what_is_written_is_new() -> None:
    lines = job_file([Job("r", Path("/x/a.nbd"), RANDOM, area=Area(512, 1024))], 1.5).splitlines()
    assert {"offset=512", "size=1024", "randrepeat=0"} <= set(lines)
    assert "time_based=1" not in lines


def test_a_part_of_a_disk_gets_its_part_of_the_work() -> None:
    assert RANDOM.shared(2).depth == 4
    assert Work("read", 1, 1).shared(4).depth == 1


def test_segments_are_counted_as_the_kernel_does() -> None:
    text = "Ip: A B\nIp: 1 2\nTcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 90 10\nUdp: X\nUdp: 1\n"
    segments = Segments.parse(text)
    assert segments == Segments(100, 10)
    assert (segments + segments - Segments(100, 15)).percent == 5
    assert (segments - segments).percent == 0
    assert Segments.here().sent >= 0


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert lacking() == "not installed: fio, qemu-nbd; deploy/system-packages bench installs them, as root"
