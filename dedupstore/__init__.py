"""A bounded store of chunks, named by their fingerprints: synchronous, and ignorant of networks.

A guided tour. `fingerprint` names a chunk and `chunker` finds where one ends. `store` is the interface, ChunkStore;
`memory` implements it in memory and `disk` on disk, where `disk` writes containers, `disk_reads` reads and `disk_cache`
holds them. Both keep chunks in a `container`, some MiB that are filled in order of arrival, and both share what
`container_store` does with containers in memory. `roster` says which container is evicted next, `beliefs` what peers
are thought to hold, `reuse` what a larger store would still have held. On disk a container takes a slot of the file
that `container_file` keeps, and `index` finds chunks in it by LMDB, whose table of `readers` is made before. `records`
are what lies in it, a `change` is one transaction of it; `gone` has what it has yet to forget, and `scatter` says when
a chunk is read alone. `opening` decides whether an existing store can be trusted, with `walk` and `nodes` that
check the index first, and `lock` keeps a second process out; `parts` and `kinds` say what in the directory is the
store's, and `parts` sets it aside, `fitting` what of it a configured size has room for. What lies on disk is written
down in FORMAT.md; what can go wrong is in `errors`.
"""

import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from dedupstore.disk import CACHE_BYTES, DiskStore
from dedupstore.errors import StoreFault, StoreUnusable
from dedupstore.memory import MemoryStore
from dedupstore.parts import purge
from dedupstore.store import ChunkStore

__all__ = ["Verified", "open_store", "purge_store", "verify_store"]


def open_store(
    mode: str,
    size_bytes: int,
    path: str | PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
    clock: Callable[[], float] = time.time,
    *,
    keep: bool = False,
) -> ChunkStore:
    """The store that an operator asked for: mode "memory", or "disk" with the path of its directory.

    `keep`: a store that cannot be trusted, is not all there or larger than `size_bytes`, is refused and stays as it is.
    Raises StoreBusy or StoreUnusable.
    """
    if mode == "memory":
        return MemoryStore(size_bytes, clock)
    if mode != "disk":
        raise StoreUnusable(f'there is no store of mode "{mode}"; use "memory" or "disk"')
    if path is None:
        raise StoreUnusable("a disk store needs a path; name a directory for it")
    return DiskStore(path, size_bytes, cache_bytes, clock, keep=keep)


class Verified(NamedTuple):
    """What `verify_store` found."""

    sound: int
    """Chunks that are sound."""
    dropped: int
    """Chunks that were not sound."""
    whole: bool
    """True if all could be read, and nothing was dropped, lost or set aside."""
    alarms: tuple[str, ...]
    """What an operator must know, one sentence each."""


def verify_store(
    path: str | PathLike[str],
    size_bytes: int,
    cache_bytes: int = CACHE_BYTES,
    progress: Callable[[int, int], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Verified:
    """Walk over the index of a disk store, then read and verify every chunk; drop what is damaged, but nothing that
    the disk does not give.

    `progress` is called with (done, all) containers. `sleep` waits so many seconds, for a disk that may give more then.
    Raises StoreBusy or StoreUnusable.
    """
    store = DiskStore(path, size_bytes, cache_bytes, walk=True, sleep=sleep)
    try:
        sound, dropped = store.verify(progress)
        alarms = (*store.alarms, *filter(None, [store.shrunk]))
        return Verified(sound, dropped, store.whole and not dropped and not store.shrunk, alarms)
    except StoreFault as fault:
        raise StoreUnusable(f"store {path} cannot be verified: {fault}; see to the disk") from fault
    finally:
        store.close()


def purge_store(path: str | PathLike[str]) -> None:
    """Delete what a disk store holds; it gets a new identity when it is opened next.

    Raises StoreBusy or StoreUnusable.
    """
    purge(Path(path))
