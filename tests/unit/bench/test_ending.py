"""SIGTERM and SIGHUP end a bench in order, and what it started does not outlive it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.ending import bound, scratch
from bench.sites import environment
from proxy.cli.ending import ended_in_order
from tests.patience import PATIENCE
from tests.stand_ins import path_with, stand_in

pytestmark = pytest.mark.usefixtures("hangups")

HANGS_UP, TERMINATES = signal.SIGHUP, signal.SIGTERM
PROGRAM = """
import signal, sys, time
from bench.ending import program
def main():
    try:
        print("begun", flush=True)
        while True:  # a signal just before a sleep is noted behind it
            time.sleep(0.01)
    finally:
        signal.raise_signal(signal.SIGHUP)
        print("tidied up", flush=True)
program(main)
"""
STARTER = """
import subprocess, sys, time
from bench.ending import bound
child = subprocess.Popen(bound(["sleep", "600"]), start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""

TOOLS = [
    ("fio", "import pathlib, time; from bench.replay.fio import load\nwith load([], pathlib.Path()): time.sleep(600)"),
    ("qemu-nbd", "import pathlib; from bench.replay.fio import disk; disk('iscsi:', pathlib.Path(), 'a').__enter__()"),
    ("qemu-img", "from bench.array import copy_volume; copy_volume('volume', 'iscsi:')"),
    ("qemu-img", "from bench.overiscsi.stage import by_qemu; by_qemu(1, 4096)('image', ('127.0.0.1', 1))"),
]
"""Each with what has it started."""
ENDS = [
    "from bench.load import latency; latency(('127.0.0.1', port), 2)",
    """
import contextlib, types
from bench.datasets import Dataset
from bench.replay.flow import send
wan = types.SimpleNamespace(inside=lambda end: contextlib.nullcontext(), stats=lambda: {"west": {"delivered_bytes": 0}})
send(wan, [Dataset("unanswered", 1 << 44)], [("127.0.0.1", port)], [types.SimpleNamespace(received=0)])
""",
]
"""What starts an end that waits for one at `port`."""


KILLED = """
import os, signal
from bench.ending import scratch
with scratch() as directory:
    (directory / "volume").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def started(code: str, *before: str) -> "subprocess.Popen[str]":
    command = [*before, sys.executable, "-c", code]
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


@pytest.mark.parametrize("number", [TERMINATES, HANGS_UP])
def test_it_ends_as_by_the_keyboard(number: signal.Signals) -> None:
    before = {each: signal.getsignal(each) for each in (TERMINATES, HANGS_UP)}
    with pytest.raises(KeyboardInterrupt), ended_in_order():
        signal.raise_signal(number)
    assert {each: signal.getsignal(each) for each in before} == before


@pytest.mark.parametrize("number", [TERMINATES, HANGS_UP, signal.SIGINT])
def test_a_program_tidies_up_though_more_signals_come(number: signal.Signals) -> None:
    with started(PROGRAM) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out == "tidied up\n"
    assert not err


def test_a_program_whose_output_is_full_says_so_in_a_line() -> None:
    code = "from bench.ending import program; program(lambda: print('figures', flush=True))"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert (done.returncode, done.stderr) == (1, b"output cannot be written: No space left on device\n")


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(HANGS_UP, signal.SIG_IGN)
    try:
        with ended_in_order():
            assert signal.getsignal(HANGS_UP) is signal.SIG_IGN
            signal.raise_signal(HANGS_UP)
        assert signal.getsignal(HANGS_UP) is signal.SIG_IGN
    finally:
        signal.signal(HANGS_UP, before)


def test_what_was_started_dies_with_its_starter() -> None:
    with started(STARTER) as starter:
        assert starter.stdout is not None
        child = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(PATIENCE)


@pytest.mark.parametrize(("tool", "code"), TOOLS)
def test_a_tool_that_a_bench_has_started_dies_with_it(tool: str, code: str, tmp_path: Path) -> None:
    """An initiator would try for ever to reach an array that is gone, and fio would work on for a day."""
    told = tmp_path / "pid"
    os.mkfifo(told)
    stand_in(tmp_path, tool, f'echo $$ > "{told}"; exec sleep 600')
    environ = {**environment(), "PATH": path_with(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, env=environ) as starter:
        child = psutil.Process(int(told.read_text()))
        starter.kill()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(PATIENCE)


@pytest.mark.parametrize("code", ENDS, ids=["question", "flow"])
def test_an_end_that_a_bench_has_started_dies_with_it(code: str) -> None:
    """Over a line that went with the bench it would wait for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as mute, started(f"port = {mute.getsockname()[1]}\n{code}") as starter:
        connection, _ = mute.accept()
        (child,) = psutil.Process(starter.pid).children()
        starter.kill()
        with connection, contextlib.suppress(psutil.NoSuchProcess):
            child.wait(PATIENCE)


def test_a_thread_that_ends_takes_nothing_with_it() -> None:
    """The kernel would take the thread for the starter."""
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(bound(["sleep"])), daemon=True)
    thread.start()
    thread.join()
    assert found == [["sleep"]]


def test_bound_it_is_the_same_process() -> None:
    command = ["sh", "-c", 'echo "$$ $1 $LEFT"', "name", "a b"]
    with subprocess.Popen(bound(command), stdout=subprocess.PIPE, text=True, env={"LEFT": "kept"}) as process:
        out, _ = process.communicate(timeout=PATIENCE)
    assert out == f"{process.pid} a b kept\n"


def test_interrupts_while_files_are_removed_leave_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    remove, removed = os.unlink, []

    def interrupted(name: Any, **more: Any) -> None:
        removed.append(name)
        if len(removed) in (2, 3):
            raise KeyboardInterrupt
        remove(name, **more)

    def used() -> None:
        with scratch() as directory:
            for number in range(3):
                (directory / f"unit{number}").touch()
            monkeypatch.setattr(os, "unlink", interrupted)

    with pytest.raises(KeyboardInterrupt):
        used()
    assert not list(tmp_path.iterdir())


def test_what_was_killed_leaves_is_removed_by_the_next_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    others = tmp_path / "isthmus-results" / "figures"
    others.mkdir(parents=True)
    with scratch() as mine:
        (mine / "volume").touch()
        with started(KILLED) as killed:
            killed.wait(PATIENCE)
        (left,) = {path.parent for path in tmp_path.glob("*/volume")} - {mine}
        with scratch():
            assert not left.exists()
            assert (mine / "volume").exists()
    assert others.exists()


def test_benches_that_come_and_go_at_once_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One may be gone while another one looks what is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def come_and_go(_: int) -> None:
        for _ in range(100):
            with scratch() as directory:
                (directory / "volume").touch()
                assert (directory / "volume").exists()

    with ThreadPoolExecutor(4) as benches:
        assert len([*benches.map(come_and_go, range(4))]) == 4
    assert not [*tmp_path.iterdir()]
