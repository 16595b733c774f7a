"""A process has the threads that it needs, or says so."""

import asyncio
import subprocess
import sys
import threading

import pytest
import uvloop

from dedupstore.memory import MemoryStore
from proxy.aside import NO_THREAD, aside
from proxy.cli.root import explain
from proxy.errors import ExitCode, OperatorError
from proxy.net.threads import THREADS, ensure_threads, started_thread
from proxy.net.worker import StoreWorker

REFUSED = """
import ctypes, struct, sys
from proxy.errors import OperatorError
from proxy.net.threads import ensure_threads

steps = ((0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000))  # clone3: EPERM
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))

class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

system = ctypes.CDLL(None)
if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, ctypes.byref(Filter(len(steps), ctypes.addressof(code))), 0, 0):
    sys.exit("no filter")
try:
    ensure_threads()
except OperatorError as error:
    print(error)
"""


def give(patch: pytest.MonkeyPatch, threads: int) -> None:
    """From now on the kernel gives so many threads, and then none."""
    left, begin = [None] * threads, threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        begin(thread)

    patch.setattr(threading.Thread, "start", start)


@pytest.mark.parametrize("threads", [0, THREADS - 1])
def test_too_few_threads_are_told_of(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Without it a site failed when it first needed one more, and nothing in its log said why."""
    give(monkeypatch, threads)
    with pytest.raises(OperatorError, match=rf"needs {THREADS} threads, and has got {threads}: .*TasksMax"):
        ensure_threads()


def test_a_filter_of_calls_that_is_older_than_the_c_library_is_told_of() -> None:
    """As of Docker before 20.10.10: all that was named were limits, none of which was reached."""
    done = subprocess.run([sys.executable, "-c", REFUSED], capture_output=True, text=True, check=False)
    if done.stderr == "no filter\n" or not (done.stdout or done.returncode):
        pytest.skip("calls cannot be filtered here, or this C library does without clone3")
    assert "got 0" in done.stdout
    assert "update the container's engine: Docker before 20.10.10" in done.stdout


def test_enough_threads_go_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    give(monkeypatch, THREADS)
    ensure_threads()
    assert threading.active_count() == before


def test_what_is_begun_needs_no_thread_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first need, days after the start, the limit may have been reached."""

    async def scene() -> None:
        pool = started_thread("test")
        give(monkeypatch, 0)
        await asyncio.get_running_loop().run_in_executor(pool, bool)
        pool.shutdown()

    uvloop.run(scene())


def test_the_store_has_its_threads_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first write found none, the site stopped for a defect."""

    async def scene() -> None:
        store = MemoryStore(64 << 20)
        worker = StoreWorker(store)
        give(monkeypatch, 0)
        worker.note()
        await worker.close()

    asyncio.run(scene())


def test_what_cannot_begin_aside_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a network fails: a site that asks for a name tries again."""
    give(monkeypatch, 0)
    with pytest.raises(OSError, match="no thread can be started; raise TasksMax"):
        aside(bool, "test").result(0)


@pytest.mark.parametrize("error", [RuntimeError("can't start new thread"), OSError(NO_THREAD)])
def test_whatever_finds_no_thread_says_what_to_raise(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    """Also what opens the store, which is begun aside."""
    assert explain(error) == ExitCode.FAILED
    assert capsys.readouterr().err == f"isthmus: {NO_THREAD}\n"
