"""`isthmus demo` as a newcomer runs it: real sites, TLS, three volumes and, where it can be had, a real iSCSI target.

It says so when all is identical, the warm passes cross the WAN as references, and nothing that it started outlives it,
however it ends.
"""

import contextlib
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.array import IscsiTarget
from bench.demo import PASSES, run
from bench.sites import environment, isthmus
from tests.patience import PATIENCE, until

SIZE = 16 << 20


def demo(*options: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        isthmus("demo", "--volume-size", "16MiB", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), **variables},
        start_new_session=True,
    )


def test_all_volumes_are_identical_cold_and_warm() -> None:
    running = demo("--store", "memory", "--json")
    out, err = running.communicate(timeout=2 * PATIENCE)
    assert running.returncode == 0, err
    see_identical(json.loads(out))


@pytest.mark.usefixtures("quick")
def test_likewise_in_stores_on_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(SIZE, "disk", as_json=True) == 0
    see_identical(json.loads(capsys.readouterr().out))


def see_identical(found: dict[str, Any]) -> None:
    assert found["identical"] is True
    assert found["skipped"] == IscsiTarget.lacking()
    volumes = ["f5vol2", "f5vol3", "f5vol4"] + ([] if found["skipped"] else ["iSCSI"])
    assert [(each["volume"], each["name"]) for each in found["passes"]] == [(v, p) for v in volumes for p in PASSES]
    passes = {(each["volume"], each["name"]): each for each in found["passes"]}
    assert all(each["verified"] and each["raw"] >= SIZE for each in passes.values())
    assert passes["f5vol3", "cold"]["wire"] > 0.95 * SIZE
    assert passes["f5vol3", "warm"]["wire"] < 0.05 * SIZE
    assert passes["f5vol2", "cold"]["wire"] < 0.7 * SIZE
    assert passes["f5vol4", "cold"]["wire"] < 0.1 * SIZE


def is_site(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):  # one that ends at this moment
        return "serve" in process.cmdline()
    return False


@pytest.mark.usefixtures("hangups")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_it_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Sites, target and temporary files are gone; no traceback is shown."""
    running = demo("--volume-size", "512MiB", TMPDIR=str(tmp_path))
    itself = psutil.Process(running.pid)
    until(lambda: len([child for child in itself.children() if is_site(child)]) == 2)
    children = itself.children(recursive=True)
    running.send_signal(number)
    _, err = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)  # of what was killed the kernel frees the memory first
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
    assert not list(tmp_path.iterdir())
