"""Chunks to put into stores: made from a number, so that no test has to keep their bytes."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from dedupstore.fingerprint import fingerprint
from dedupstore.store import ChunkStore, Place

LARGE = 256 << 10
A_CONTAINER = 15
"""Chunks of LARGE bytes that fill a container: a sixteenth does not fit."""


def chunk(number: int, length: int = LARGE) -> bytes:
    """Always the same bytes for the same number and length, and others for another."""
    seed = number.to_bytes(8, "little")
    return seed * (length // 8) + seed[: length % 8]  # a multiple of eight is not copied once more


@lru_cache(1 << 14)
def name_of(number: int, length: int = LARGE) -> bytes:
    return fingerprint(chunk(number, length))


def put(store: ChunkStore, number: int, length: int = LARGE) -> Place | None:
    return store.put(name_of(number, length), chunk(number, length))


def fill(store: ChunkStore, numbers: Iterable[int], length: int = LARGE) -> list[Place | None]:
    """Put chunks, with the disk keeping up."""
    return list(_filling(store, numbers, length))


def _filling(store: ChunkStore, numbers: Iterable[int], length: int) -> Iterator[Place | None]:
    for number in numbers:
        yield put(store, number, length)
        if store.unwritten:
            store.write()


def fetch(store: ChunkStore, name: bytes) -> bytes:
    """Read a chunk, loading its container first where that is needed."""
    data = store.read(name)
    if data is None:
        store.load(name)
        data = store.read(name)
    assert data is not None, "a loaded chunk can be read"
    return data


def held(store: ChunkStore, numbers: Iterable[int], length: int = LARGE) -> list[int]:
    """Which of those chunks the store knows."""
    return [number for number in numbers if store.find(name_of(number, length)) is not None]


def healthy(store: ChunkStore) -> bool:
    """Whether the store has nothing to tell its operator."""
    return not store.alarms
