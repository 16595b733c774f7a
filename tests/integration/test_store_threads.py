"""A loop thread and a worker thread on one store, as in a site: what one does never spoils what the other sees.

The loop puts, finds, reads, pins and believes while the worker loads, fetches ahead, writes, verifies and prepares.
Everything read is right, nothing fails verification though slots and memory are used again all the time, what is
pinned can be read, and afterwards the store is whole.
"""

import queue
import random
import threading
from pathlib import Path

import pytest

from dedupstore import open_store
from dedupstore.errors import ChunkMissing
from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore
from tests.conformance.child import SIZE
from tests.patience import PATIENCE

ROUNDS = 6000


class Worker(threading.Thread):
    """Does what it is asked, one thing at a time; writes whenever there is nothing else."""

    def __init__(self, store: ChunkStore) -> None:
        super().__init__()
        self.store = store
        self.wanted: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.loaded: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.dropped = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.error = error

    def work(self) -> None:
        self.store.prepare()
        count = 0
        while (name := self.wanted.get()) is not None:
            count += 1
            self.store.load(name)
            self.loaded.put(name)
            self.store.write()
            if count % 10 == 0:
                self.store.prefetch(name)
            if count % 500 == 0:
                self.dropped += self.store.verify()[1]
                assert len(list(self.store.fingerprints())) > 0


@pytest.mark.parametrize("mode", ["disk", "memory"])
def test_two_threads(tmp_path: Path, mode: str) -> None:
    store = open_store(mode, SIZE, tmp_path, cache_bytes=32 << 20)
    worker = Worker(store)
    worker.start()
    try:
        reads, loads = be_busy(store, worker)
    finally:
        worker.wanted.put(None)
        worker.join()
    assert worker.error is None
    assert reads > ROUNDS // 10
    assert mode == "memory" or loads > 50
    figures = store.figures()
    assert (figures.invalid, worker.dropped, figures.alarms) == (0, 0, [])
    assert figures.evicted_containers > 20
    assert store.verify() == (figures.chunks, 0)
    store.close()


def be_busy(store: ChunkStore, worker: Worker) -> tuple[int, int]:
    """What a loop does; chunks read at once, and chunks read after a load."""
    draw = random.Random(1)
    names: list[bytes] = []
    reads = loads = 0
    for number in range(ROUNDS):
        data = number.to_bytes(8, "big") * draw.choice([50, 2000, 8000, 30_000])
        name = fingerprint(data)
        place = store.put(name, data)
        if place is not None:
            names.append(name)
            store.believe(b"p" * 16, place.container, store.belief(b"p" * 16, place.container) | 1 << place.entry)
        reads += look(store, draw.choice(names[-3000:]), worker)
        while worker.wanted.qsize() > 20 or store.unwritten > 8 << 20:
            loads += look_again(store, worker)
    return reads, loads


def look(store: ChunkStore, name: bytes, worker: Worker) -> bool:
    place = store.find(name)
    if place is None:
        return False
    store.pin(place.container)
    try:
        data = store.read(name)
        if data is None:
            worker.wanted.put(name)
            return False
        assert fingerprint(data) == name
        return True
    finally:
        store.unpin(place.container)


def look_again(store: ChunkStore, worker: Worker) -> bool:
    """Read what was loaded; by now it may be evicted, or no longer in memory."""
    if worker.wanted.empty():
        worker.wanted.put(bytes(32))
    name = worker.loaded.get(timeout=PATIENCE)
    try:
        data = store.read(name)
    except ChunkMissing:
        return False
    return data is not None and fingerprint(data) == name
