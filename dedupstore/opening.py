"""Opening a store on disk, by the five rules of FORMAT.md, "Opening".

`parts` implements what the second rule says of the directory, `fitting` the third and the fourth rule.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from dedupstore import parts
from dedupstore.beliefs import PeerNote
from dedupstore.container import Layout
from dedupstore.container_file import BEGINNING_BYTES, ContainerFile, FileSlots
from dedupstore.errors import Away, Damaged, IndexFull, StoreFault, StoreUnusable, Unread
from dedupstore.fitting import LEAST_BYTES, Sizes, fit
from dedupstore.index import Index
from dedupstore.lock import StoreLock
from dedupstore.records import Meta
from dedupstore.roster import Row
from dedupstore.walk import problems

_EPOCHS_KEPT = 16
_PAUSES = 1.0, 10.0
"""Seconds until what the disk did not give is asked for again: once, and once more. Most paths to a disk are switched
in that time, and most controllers reset."""
_T = TypeVar("_T")


@dataclass(slots=True)
class StoreFiles:
    """An open store's files, and what was read from them."""

    path: Path
    lock: StoreLock
    containers: ContainerFile
    index: Index
    slots: FileSlots
    identity: bytes
    epochs: tuple[bytes, ...]
    next: int
    rows: list[tuple[int, Row]]
    peers: dict[bytes, PeerNote]
    alarms: dict[str, str]
    shrunk: str
    opened: dict[Path, os.stat_result]


def open_files(
    path: Path,
    size_bytes: int,
    clock: Callable[[], float],
    new: Layout | None,
    *,
    walk: bool,
    keep: bool,
    sleep: Callable[[float], None],
) -> StoreFiles:
    """Open or create the store.

    `new`: the layout of a store that is created. `walk`: walk over the index even if it was closed in order, and refuse
    the store if the disk does not give all of it; else it is set aside, for a site is to run. `keep`: a store that
    cannot be trusted, is not all there or larger than that size, is refused and stays as it is.
    Raises StoreBusy or StoreUnusable.
    """
    if size_bytes < LEAST_BYTES:
        raise StoreUnusable(f"a disk store of {size_bytes} bytes is too small; give it at least 64 MiB")
    try:
        parts.make(path)
        lock = _patiently(partial(StoreLock, path), sleep)
        try:
            return _open_owned(path, lock, Sizes.of(size_bytes, new), clock, walk, keep, sleep)
        except BaseException:
            lock.release(orderly=not lock.orphaned)
            raise
    except (OSError, StoreFault) as error:
        words = f"{parts.in_words(error)}; {parts.remedy_for(error, path)}"
        raise StoreUnusable(f"store {path} cannot be opened: {words}") from error


def close_files(index: Index, containers: ContainerFile, lock: StoreLock, epochs: tuple[bytes, ...] | None) -> None:
    """Close all files. `epochs`: those that peers know, which are kept.

    None if the index is doubtful: the next opening then walks over it.
    """
    if epochs is not None:
        with suppress(StoreFault):
            index.end(epochs)
    index.close()
    containers.close()
    lock.release(orderly=epochs is not None)


def _open_owned(
    path: Path,
    lock: StoreLock,
    sizes: Sizes,
    clock: Callable[[], float],
    walk: bool,
    keep: bool,
    sleep: Callable[[float], None],
) -> StoreFiles:
    try:
        return _patiently(partial(_open_trusted, path, lock, sizes, walk or lock.orphaned, keep, {}), sleep)
    except Damaged as fault:
        if keep or (walk and isinstance(fault, Unread)):
            remedy = "the next start of the site sets it aside; if another release made it, that one can use it"
            if isinstance(fault, Unread):
                remedy = "see to the disk before the site starts, which would set the store aside"
            raise StoreUnusable(f"store {path} cannot be trusted: {fault}; {remedy}") from fault
        parts.set_aside(path, clock())
        replaced = f"The store {path} could not be trusted ({fault}); an empty one took its place."
        return _open_trusted(path, lock, sizes, False, False, {"replaced": replaced})


def _patiently(attempt: Callable[[], _T], sleep: Callable[[float], None]) -> _T:
    """As `attempt`, which is made again after a pause where the disk does not give what it needs."""
    for pause in _PAUSES:
        try:
            return attempt()
        except (Unread, Away):
            pass
        except OSError as error:  # of a file as a whole
            if error.errno != errno.EIO:
                raise
        sleep(pause)
    return attempt()


def _open_trusted(
    path: Path, lock: StoreLock, sizes: Sizes, walk: bool, keep: bool, alarms: dict[str, str]
) -> StoreFiles:
    """Open or create the store. Raises Damaged, and leaves nothing open, if what is there cannot be trusted."""
    parts.refuse_missing(path)
    parts.refuse_strangers(path)
    if keep:
        parts.refuse_half(path)
    containers, index, meta = _open_pair(path, sizes, walk)
    try:
        index, rows, shrunk = fit(containers, index, meta, sizes, alarms, keep=keep)
        epochs = (os.urandom(8), *meta.epochs)[:_EPOCHS_KEPT]
        next_id = max([meta.next, *(container + 1 for container, _ in rows)])
        _begin_epoch(path, index, meta._replace(epochs=epochs, next=next_id, clean=False))
        peers = index.peers()
        parts.warn_of_copies(path, alarms)
        opened = parts.opened(path)
    except BaseException:
        index.close()
        containers.close()
        raise
    slots = FileSlots(sizes.slots(containers.layout), {row.slot for _, row in rows})
    return StoreFiles(
        path, lock, containers, index, slots, meta.identity, epochs, next_id, rows, peers, alarms, shrunk, opened
    )


def _begin_epoch(path: Path, index: Index, meta: Meta) -> None:
    try:
        index.begin(meta)
    except IndexFull as full:
        holders = ", ".join(map(str, index.foreign_readers()))
        if not holders:
            raise
        raise StoreUnusable(f"the index of store {path} is full of what process {holders} reads; end that") from full


# Rule 2: what is there, and can it be trusted?


def _open_pair(path: Path, sizes: Sizes, walk: bool) -> tuple[ContainerFile, Index, Meta]:
    containers = ContainerFile(path / "containers")
    try:
        if walk:  # before LMDB opens the index: a damaged one may make it end the process
            _walk(path / "index", containers)
        index = _open_index(path / "index", containers, sizes, walked=walk)
    except BaseException:
        containers.close()
        raise
    try:
        return containers, index, _identify(containers, index, sizes.new, walked=walk)
    except BaseException:
        index.close()
        containers.close()
        raise


def _open_index(path: Path, containers: ContainerFile, sizes: Sizes, *, walked: bool) -> Index:
    data = path / "data.mdb"
    present = data.stat().st_size if data.is_file() else 0
    try:
        return Index(path, sizes.map_bytes(present))
    except StoreFault as fault:
        if type(fault) is StoreFault and not walked:
            with suppress(OSError):
                _walk(path, containers)  # a damaged index may claim more pages than LMDB finds memory for
        raise


def _walk(index: Path, containers: ContainerFile) -> None:
    """Raise Damaged if the index is, or Unread if a part of it cannot be read.

    Raises StoreFault or OSError if that is no fault of the index: nothing else can be read there, or the host has no
    memory, say. It may pass, and the store is worth waiting for.
    """
    try:
        found = problems(index)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        containers.try_reading()
        raise Unread(f"the index cannot be read: {parts.in_words(error)}") from error
    if found:
        raise Damaged(f"the index is damaged: {found[0]}")


def _identify(containers: ContainerFile, index: Index, new: Layout, walked: bool) -> Meta:
    meta = index.meta()
    if meta is None:
        return _begin(containers, new)
    if meta.version != 1:
        raise Damaged(f"the index is of version {meta.version}, this software knows 1")
    if _identity(containers) != meta.identity:
        raise Damaged("`containers` and `index` belong to different stores")
    containers.complete()
    if walked or not meta.clean:
        if not walked:
            _walk(index.path, containers)
        index.check()
    return meta


def _identity(containers: ContainerFile) -> bytes:
    try:
        return containers.identity()
    except Away as fault:
        raise Away(f"its superblock cannot be read ({fault})") from fault


def _begin(containers: ContainerFile, layout: Layout) -> Meta:
    if containers.size():
        containers.identity()
        if containers.size() > BEGINNING_BYTES:
            raise Damaged("the index is gone")
    identity = os.urandom(16)
    containers.begin(identity, layout)
    return Meta(1, identity, (), next=1, clean=True)
