"""What other processes do to a store: `python -m tests.conformance.child WHAT PATH`."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lmdb

from dedupstore import open_store
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from tests.forking import stand_alone

SIZE = 64 << 20
ROOT = Path(__file__).parents[2]


def hold(path: str) -> None:
    """Own the store until told to end."""
    store = open_store("disk", SIZE, path)
    print("ready", flush=True)
    sys.stdin.readline()
    store.close()


def look(path: str) -> None:
    """Hold a snapshot of the index until told to end."""
    with lmdb.open(f"{path}/index", readonly=True, max_dbs=8) as index, index.begin() as txn:
        txn.stat()
        print("ready", flush=True)
        sys.stdin.readline()


def crowd(path: str) -> None:
    """Hold as many snapshots of the index as there may be, until told to end."""
    with lmdb.open(f"{path}/index", readonly=True, max_dbs=8, max_readers=16) as index:
        held = []
        with suppress(lmdb.ReadersFullError):
            while True:
                held.append(index.begin())
        print("ready", flush=True)
        sys.stdin.readline()


def work_until_killed(path: str, seed: int, ready: "threading.Event") -> None:
    """Put, find, read and write with two threads, as a site does, for ever."""
    stand_alone()
    store = open_store("disk", SIZE, path, cache_bytes=32 << 20)
    worker = threading.Thread(target=_write_for_ever, args=(store,), daemon=True)
    worker.start()
    draw = random.Random(seed)
    names: list[bytes] = []
    while True:
        data = draw.randbytes(16) * draw.choice([20, 300, 4000, 16_000])
        names.append(fingerprint(data))
        place = store.put(names[-1], data)
        if place is not None:
            store.believe(b"p" * 16, place[0], 1 << place[1])
        store.find(draw.choice(names))
        if len(names) == 200:
            ready.set()


def _write_for_ever(store: ChunkStore) -> None:
    while True:
        store.write()


@contextmanager
def started(what: str, path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that does this from now on; it is told to end afterwards."""
    command = [sys.executable, "-m", __name__, what, str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.communicate("\n")


if __name__ == "__main__":
    {"crowd": crowd, "hold": hold, "look": look}[sys.argv[1]](sys.argv[2])
