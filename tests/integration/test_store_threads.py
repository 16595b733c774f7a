"""The three threads of a site on one store: what one does never spoils what the others see.

The loop puts, finds, reads, pins and believes while the reader loads and fetches ahead, and the writer writes, verifies
and prepares. Everything read is right, nothing fails verification though slots and memory are used again all the time,
what is pinned can be read, and afterwards the store is whole.
"""

import queue
import random
import threading
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.disk import DiskStore
from dedupstore.errors import ChunkMissing
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from tests.conformance.child import SIZE
from tests.conformance.filling import fetch
from tests.patience import PATIENCE

ROUNDS = 6000


class Other(threading.Thread):
    """Does its work over and over, until it is told to stop or something goes wrong."""

    def __init__(self, store: ChunkStore) -> None:
        super().__init__(daemon=True)
        self.store = store
        self.count = 0
        self.stop = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.count += 1
                self.work()
        except BaseException as error:
            self.error = error

    def work(self) -> None:
        raise NotImplementedError


class Reader(Other):
    """Loads what is wanted, one chunk's container at a time."""

    def __init__(self, store: ChunkStore) -> None:
        super().__init__(store)
        self.wanted: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.loaded: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def work(self) -> None:
        name = self.wanted.get()
        self.store.load(name)
        self.loaded.put(name)
        if self.count % 10 == 0:
            self.store.prefetch(name, spare=self.count % 20 == 0)


class Writer(Other):
    """Writes, and verifies all of it now and then."""

    def __init__(self, store: ChunkStore) -> None:
        super().__init__(store)
        self.dropped = 0

    def work(self) -> None:
        self.store.prepare()
        self.store.write()
        self.stop.wait(0.001)
        if self.count % 200 == 0 and isinstance(self.store, DiskStore):
            self.dropped += self.store.verify()[1]


@pytest.mark.parametrize("mode", ["disk", "memory"])
def test_three_threads(tmp_path: Path, mode: str) -> None:
    store = open_store(mode, SIZE, tmp_path, cache_bytes=32 << 20)
    reader, writer = Reader(store), Writer(store)
    for thread in (reader, writer):
        thread.start()
    try:
        reads, loads, names = be_busy(store, reader)
    finally:
        for thread in (reader, writer):
            thread.stop.set()
        reader.wanted.put(bytes(32))
        for thread in (reader, writer):
            thread.join()
    assert (reader.error, writer.error) == (None, None)
    assert reads > ROUNDS // 10
    assert mode == "memory" or loads > 50
    figures = store.figures()
    assert (figures.invalid, writer.dropped, figures.alarms) == (0, 0, [])
    assert figures.evicted_containers > 20
    found = [name for name in names if store.find(name) is not None]
    assert len(found) == figures.chunks
    assert all(fingerprint(fetch(store, name)) == name for name in found)
    store.close()


def be_busy(store: ChunkStore, reader: Reader) -> tuple[int, int, list[bytes]]:
    """What a loop does; chunks read at once, and chunks read after a load; and the names of all that were stored."""
    draw = random.Random(1)
    names: list[bytes] = []
    reads = loads = 0
    for number in range(ROUNDS):
        data = number.to_bytes(8, "big") * draw.choice([50, 2000, 8000, 30_000])
        name = fingerprint(data)
        place = store.put(name, data)
        if place is not None:
            names.append(name)
            store.believe(b"p" * 16, place[0], (store.belief(b"p" * 16, place[0]) or 0) | 1 << place[1])
        reads += look(store, draw.choice(names[-3000:]), reader)
        while reader.wanted.qsize() > 20 or store.unwritten > 8 << 20:
            loads += look_again(store, reader)
    return reads, loads, names


def look(store: ChunkStore, name: bytes, reader: Reader) -> bool:
    place = store.find(name)
    if place is None:
        return False
    store.pin(place[0])
    try:
        data = store.read(name)
        if data is None:
            reader.wanted.put(name)
            return False
        assert fingerprint(data) == name
        return True
    finally:
        store.unpin(place[0])


def look_again(store: ChunkStore, reader: Reader) -> bool:
    """Read what was loaded; by now it may be evicted, or no longer in memory."""
    if reader.wanted.empty():
        reader.wanted.put(bytes(32))
    name = reader.loaded.get(timeout=PATIENCE)
    try:
        data = store.read(name)
    except ChunkMissing:
        return False
    return data is not None and fingerprint(data) == name
