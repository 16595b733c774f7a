"""The three threads of a store on disk at once: what is read is right, nothing is raised, and the store is sound."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dedupstore.container import SMALL
from dedupstore.disk import LEAST_CACHE_BYTES, DiskStore
from dedupstore.errors import ChunkMissing
from dedupstore.fingerprint import fingerprint

SIZE = 64 << 20
CHUNK = 32 << 10
CHUNKS = 6000
"""Three times what the store holds, so that slots are written over while they may be read."""


def chunk(number: int) -> bytes:
    return number.to_bytes(4) * (CHUNK // 4)


NAMES = [fingerprint(chunk(number)) for number in range(CHUNKS)]


class Others:
    """Writer and reader, without a pause, until told to stop; what they raised."""

    def __init__(self, store: DiskStore, seed: int) -> None:
        self.store = store
        self.stored = 1
        self.raised: list[BaseException] = []
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(do,)) for do in (store.write, self._read)]

    def __enter__(self) -> "Others":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, do: Callable[[], None]) -> None:
        try:
            while not self._stop.is_set():
                do()
        except BaseException as error:
            self.raised.append(error)

    def _read(self) -> None:
        name = NAMES[self._random.randrange(max(0, self.stored - 3000), self.stored)]
        if self._random.random() < 0.7:
            self.store.load(name)
        else:
            self.store.prefetch(name, spare=self._random.random() < 0.5)


@pytest.mark.parametrize("seed", range(2))
def test_they_do_not_disturb_each_other(tmp_path: Path, seed: int) -> None:
    store = DiskStore(tmp_path / "store", SIZE, LEAST_CACHE_BYTES, new=SMALL)
    choose = random.Random(seed)
    seen = 0
    with Others(store, seed + 100) as others:
        for number in range(CHUNKS):
            store.put(NAMES[number], chunk(number), number >> 8)
            others.stored = number + 1
            for _ in range(3):
                asked = choose.randrange(max(0, number - 2500), number + 1)
                with suppress(ChunkMissing):
                    data = store.read(NAMES[asked])
                    assert data is None or data == chunk(asked)
                    seen += data is not None
            if number % 16 == 0:
                while store.unwritten > store.unwritten_max and not others.raised:
                    threading.Event().wait(0.001)
    assert others.raised == []
    assert seen > CHUNKS
    figures = store.figures()
    assert figures.invalid == 0
    assert figures.loads > 100
    assert figures.evicted_containers > 10
    assert figures.alarms == []
    assert store.verify()[1] == 0
    store.close()
