"""A store keeps to its configured size: on disk by what `du` says, in memory by what the process holds.

The worst cases are the smallest chunks (the most to be found again for the least data) and the largest (the most
data), each stored until everything was evicted at least once.
"""

import os
import subprocess
import sys
from array import array
from collections import deque
from pathlib import Path

import lmdb
import pytest

from dedupstore import open_store
from dedupstore.change import Change
from dedupstore.container import Container
from dedupstore.disk import CACHE_BYTES
from dedupstore.index import Index
from dedupstore.roster import Row
from dedupstore.store import ChunkStore
from proxy.doctor.resources import INDEXED
from tests.conformance.child import ROOT
from tests.conformance.filling import LARGE, fill, put

SIZE = 64 << 20


def used(path: Path) -> int:
    """Bytes that the directory takes on disk."""
    return sum(entry.stat().st_blocks * 512 for entry in (path, *path.rglob("*")))


@pytest.mark.parametrize(("length", "count"), [(1 << 10, 1136 * 24), (4096, 1014 * 24), (LARGE, 15 * 24)])
def test_on_disk(tmp_path: Path, length: int, count: int) -> None:
    store = open_store("disk", SIZE, tmp_path, cache_bytes=32 << 20)
    for first in range(0, count, count // 24):
        for peer in range(8):
            store.believe(bytes([peer]) * 16, max(1, first * 24 // count), (1 << 1136) - 1)
        fill(store, range(first, first + count // 24), length)
        assert used(tmp_path) <= SIZE
    figures = store.figures()
    assert figures.evicted_containers >= 12
    assert figures.alarms == []
    store.close()
    assert used(tmp_path) <= SIZE


PROGRAM = """
import os, sys
from dedupstore import open_store
from dedupstore.disk import CACHE_BYTES
from tests.conformance.filling import chunk
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
mode, path, size, length, count = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
before = resident()
store = open_store(mode, size, path)
data = chunk(1, length)
for number in range(count):
    store.put(os.urandom(32), data)
    if store.unwritten:
        store.write()
print(resident() - before)
"""


def growth(mode: str, path: Path, size: int, length: int, count: int) -> int:
    """Bytes by which a process grows that stores so many chunks."""
    arguments = [str(number) for number in (size, length, count)]
    command = [sys.executable, "-c", PROGRAM, mode, str(path), *arguments]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout)


@pytest.mark.parametrize("length", [64, 4096, LARGE])
def test_in_memory(tmp_path: Path, length: int) -> None:
    size = 128 << 20
    count = 2 * (32 * 1136 if length < 4096 else size // length)
    assert growth("memory", tmp_path, size, length, count) <= 1.1 * size + (4 << 20)


@pytest.mark.parametrize("length", [4096, LARGE])
def test_in_memory_with_the_store_on_disk(tmp_path: Path, length: int) -> None:
    """512 MiB go through: the cache, and what of the index is mapped."""
    assert growth("disk", tmp_path, 128 << 20, length, (512 << 20) // length) <= CACHE_BYTES + (48 << 20)


def test_the_index_of_a_store_that_has_turned_over_often(tmp_path: Path) -> None:
    """Pages lose chunks all over, and are joined late: `doctor` reckons with what comes of it, not with a new one."""
    containers, each, turns = 1000, 16, 25
    index = Index(tmp_path / "index", 64 << 20)
    held: deque[tuple[int, list[bytes]]] = deque()
    for first in range(1, containers * turns, 100):
        added = []
        for number in range(first, first + 100):
            container = Container(number, memoryview(b""))
            container.fingerprints = [os.urandom(32) for _ in range(each)]
            container.offsets = array("I", range(each + 1))
            added.append((container, Row(slot=number)))
            held.append((number, container.fingerprints))
        gone = [held.popleft() for _ in range(len(held) - containers)]
        index.commit(Change(first + 100, removed=dict(gone), added=added))
        index.refresh()
    index.close()
    with lmdb.open(os.fspath(tmp_path / "index"), max_dbs=8, readonly=True) as file, file.begin() as txn:
        stat = txn.stat(file.open_db(b"chunk", txn=txn))
    assert stat["entries"] == containers * each
    assert 110 < (stat["branch_pages"] + stat["leaf_pages"]) * stat["psize"] / stat["entries"] <= INDEXED


def test_the_figures_say_the_size(tmp_path: Path) -> None:
    store: ChunkStore = open_store("disk", SIZE, tmp_path)
    assert put(store, 1) is not None
    assert store.figures().size_bytes == SIZE
    assert os.path.getsize(tmp_path / "containers") < SIZE
    store.close()
