"""Opening a store on disk: the five rules of FORMAT.md, "Opening"."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from dedupstore.beliefs import PeerNote
from dedupstore.container import LARGE, PAGE_BYTES, SMALL, Layout
from dedupstore.container_file import BEGINNING_BYTES, ContainerFile, FileSlots
from dedupstore.errors import Damaged, DiskFull, IndexFull, StoreFault, StoreUnusable
from dedupstore.index import FILES, Change, Index, Meta
from dedupstore.lock import StoreLock
from dedupstore.roster import Row
from dedupstore.walk import problems

LEAST_BYTES = 64 << 20
_LEAST_INDEX = 16 << 20
_SMALL_FROM = 1 << 30
"""Bytes of a store that has room for a container for each of many streams, if containers are small."""
_SMALL_TO = 512 << 30
"""In a larger one the list of small containers would take too much memory."""
_EPOCHS_KEPT = 16
_SET_ASIDE_KEPT = 3
_SET_ASIDE = "set-aside-"
_PARTS = ("containers", "index")
_EMPTY_DISK = "lost+found"
"""`index` may be a disk of its own."""
_APART = "name a directory of its own as store.path, or move that away"

_REMEDIES: dict[object, str] = {
    errno.EACCES: "let this user write there",
    errno.EPERM: "let this user write there",
    errno.EROFS: "mount it writable, or let its service write there (ReadWritePaths of a systemd unit, a container's"
    " volume)",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "raise the quota",
    errno.EINVAL: "configure a path on a local disk",
    errno.ENODEV: "configure a path on a local disk",
}


class Sizes(NamedTuple):
    """How a configured size is divided."""

    index_bytes: int
    container_bytes: int
    """With the superblock's slot."""
    new: Layout
    """Of a store that is created now."""

    @classmethod
    def of(cls, size_bytes: int, new: Layout | None) -> "Sizes":
        """The division that FORMAT.md gives, unless `new` says otherwise."""
        index = max(_LEAST_INDEX, size_bytes // 32 // PAGE_BYTES * PAGE_BYTES)
        few_or_many = not _SMALL_FROM <= size_bytes <= _SMALL_TO
        return cls(index, size_bytes - index, new or (LARGE if few_or_many else SMALL))

    def slots(self, layout: Layout) -> int:
        """How many containers there may be."""
        return self.container_bytes // layout.slot_bytes - 1


def containers_of(size_bytes: int) -> int:
    """How many containers a new store of that size may come to hold."""
    sizes = Sizes.of(size_bytes, None)
    return sizes.slots(sizes.new)


@dataclass(slots=True)
class StoreFiles:
    """An open store's files and what they said."""

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


def close_files(index: Index, containers: ContainerFile, lock: StoreLock, epochs: tuple[bytes, ...] | None) -> None:
    """`epochs`: those that peers know; None if the index is doubtful, for the next opening to look closely."""
    if epochs is not None:
        with suppress(StoreFault):
            index.end(epochs)
    index.close()
    containers.close()
    lock.release(orderly=epochs is not None)


def open_files(
    path: Path, size_bytes: int, clock: Callable[[], float], new: Layout | None, *, walk: bool, keep: bool
) -> StoreFiles:
    """Open or create the store; `new`: with slots like that; `walk`: over its index, even if it was closed in order.

    `keep`: one that cannot be trusted is refused, and stays. Raises StoreBusy or StoreUnusable.
    """
    if size_bytes < LEAST_BYTES:
        raise StoreUnusable(f"a disk store of {size_bytes} bytes is too small; give it at least 64 MiB")
    try:
        _make(path)
        lock = StoreLock(path)
        try:
            return _open_owned(path, lock, Sizes.of(size_bytes, new), clock, walk or lock.orphaned, keep)
        except BaseException:
            lock.release(orderly=not lock.orphaned)
            raise
    except (OSError, StoreFault) as error:
        raise StoreUnusable(f"store {path} cannot be opened: {error}; {_remedy(error)}") from error


def purge(path: Path) -> None:
    """Delete everything that the store keeps; its next opening finds a new one. Raises StoreBusy or StoreUnusable."""
    try:
        if not _present(path):
            return
        lock = StoreLock(path)
        try:
            names = (*_PARTS, *_set_aside_names(path))
            _refuse_links(path, names)
            _refuse_strangers(path)
            for name in names:
                _delete(path / name)
        except BaseException:  # what is left of it may be of one who died with it
            lock.release(orderly=not lock.orphaned)
            raise
        lock.release()
    except OSError as error:
        raise StoreUnusable(f"store {path} cannot be purged: {error}; {_remedy(error)}") from error


def _refuse_links(path: Path, names: tuple[str, ...]) -> None:
    """What they lead to would stay, or only a part would go. Raises StoreUnusable."""
    links = [name for name in names if (path / name).is_symlink()]
    if links:
        remedy = "delete the link, and what it leads to"
        raise StoreUnusable(f"store {path} cannot be purged: {path / links[0]} is a symbolic link; {remedy}")


def _refuse_strangers(path: Path) -> None:
    """No store makes a directory `containers`, nor an `index` without its own files: they are somebody else's, as are
    podman's images in /var/lib. Raises StoreUnusable, and OSError."""
    place, index = path / "containers", path / "index"
    if place.is_dir():
        raise StoreUnusable(f"store {path}: {place} is a directory, which no store makes; {_APART}")
    found = {entry.name for entry in index.iterdir()} - {_EMPTY_DISK} if index.is_dir() else set()
    if found and found.isdisjoint(FILES):
        raise StoreUnusable(f"store {path}: {index / min(found)} is nothing that a store makes; {_APART}")


def _refuse_loose_ends(path: Path) -> None:
    """A disk that is not mounted is no reason to set aside what is there of the store. Raises StoreUnusable."""
    loose = [path / name for name in _PARTS if (path / name).is_symlink() and not (path / name).exists()]
    if loose:
        remedy = "mount what it leads to, or delete it"
        raise StoreUnusable(f"store {path} cannot be opened: {loose[0]} is a link that leads nowhere; {remedy}")


def _refuse_half(path: Path) -> None:
    """Opening would begin the other half, in the way of the one that was moved or is not mounted. Raises
    StoreUnusable."""
    gone = [part for part in (path / "containers", path / "index" / FILES[0]) if not _present(part)]
    if len(gone) == 1:
        remedy = "put it back, or the next start of the site begins an empty store"
        raise StoreUnusable(f"store {path} cannot be opened: {gone[0]} is not there; {remedy}")


def _present(path: Path) -> bool:
    """Raises OSError if it cannot be looked at, for which `Path.exists` of Python 3.14 says that nothing is there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        there = next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))
        remedy = "move it away, or name a directory as store.path"
        raise StoreUnusable(f"store {path}: {there} is not a directory; {remedy}") from error


def _open_owned(
    path: Path, lock: StoreLock, sizes: Sizes, clock: Callable[[], float], walk: bool, keep: bool
) -> StoreFiles:
    _refuse_loose_ends(path)
    _refuse_strangers(path)
    if keep:
        _refuse_half(path)
    try:
        return _open_trusted(path, lock, sizes, walk, {})
    except Damaged as fault:
        if keep:
            remedy = "the next start of the site sets it aside; if another release made it, that one can use it"
            raise StoreUnusable(f"store {path} cannot be trusted: {fault}; {remedy}") from fault
        _set_aside(path, clock())
        replaced = f"The store {path} could not be trusted ({fault}); an empty one took its place."
        return _open_trusted(path, lock, sizes, False, {"replaced": replaced})


def _open_trusted(path: Path, lock: StoreLock, sizes: Sizes, walk: bool, alarms: dict[str, str]) -> StoreFiles:
    """Raises Damaged, and leaves nothing open, if what is there is not to be trusted."""
    containers, index, meta = _open_pair(path, sizes, walk)
    try:
        index, rows = _fit(containers, index, meta, sizes, alarms)
        epochs = (os.urandom(8), *meta.epochs)[:_EPOCHS_KEPT]
        next_id = max([meta.next, *(container + 1 for container, _ in rows)])
        _begin_epoch(path, index, meta._replace(epochs=epochs, next=next_id, clean=False))
        peers = index.peers()
    except BaseException:
        index.close()
        containers.close()
        raise
    warn_of_copies(path, alarms)
    slots = FileSlots(sizes.slots(containers.layout), {row.slot for _, row in rows})
    return StoreFiles(path, lock, containers, index, slots, meta.identity, epochs, next_id, rows, peers, alarms)


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
        if walk:  # before LMDB sees the index: on a damaged one it may end the process
            _walk(path / "index")
        index = _open_index(path / "index", sizes, walked=walk)
    except BaseException:
        containers.close()
        raise
    try:
        return containers, index, _identify(containers, index, sizes.new, walked=walk)
    except BaseException:
        index.close()
        containers.close()
        raise


def _open_index(path: Path, sizes: Sizes, *, walked: bool) -> Index:
    # Of a store that has shrunk the index may be larger than it should; making it smaller takes room of its own.
    data = path / "data.mdb"
    present = data.stat().st_size if data.is_file() else 0
    try:
        return Index(path, sizes.index_bytes if present <= sizes.index_bytes else present + _LEAST_INDEX)
    except StoreFault as fault:
        if type(fault) is StoreFault and not walked:
            with suppress(OSError):
                _walk(path)  # LMDB may lack the memory for as many pages as a damaged index says that it has
        raise


def _walk(index: Path) -> None:
    if found := problems(index):
        raise Damaged(f"the index is damaged: {found[0]}")


def _identify(containers: ContainerFile, index: Index, new: Layout, walked: bool) -> Meta:
    meta = index.meta()
    if meta is None:
        return _begin(containers, new)
    if meta.version != 1:
        raise Damaged(f"the index is of version {meta.version}, this software knows 1")
    if containers.identity() != meta.identity:
        raise Damaged("`containers` and `index` belong to different stores")
    containers.complete()
    if walked or not meta.clean:
        if not walked:
            _walk(index.path)
        index.check()
    return meta


def _begin(containers: ContainerFile, layout: Layout) -> Meta:
    if containers.size():
        containers.identity()
        if containers.size() > BEGINNING_BYTES:
            raise Damaged("the index is gone")
    identity = os.urandom(16)
    containers.begin(identity, layout)
    return Meta(1, identity, (), next=1, clean=True)


def _set_aside(path: Path, now: float) -> None:
    name = _SET_ASIDE + datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    names = [name, *(f"{name}-{count}" for count in range(2, 100))]
    place = next(path / name for name in names if not (path / name).exists())
    place.mkdir(mode=0o700)
    try:
        _move(path, place)
    except OSError:  # as with a disk that is mounted as `index`: all stays where it is, or each try would make a copy
        _move(place, path)
        place.rmdir()
        raise
    # By a clock that was set back this one is older than the others, and would go at once.
    others = [old for old in _set_aside_names(path) if old != place.name]
    for old in others[: 1 - _SET_ASIDE_KEPT]:
        _delete(path / old)


def _move(source: Path, target: Path) -> None:
    for part in _PARTS:
        if (source / part).exists():
            (source / part).rename(target / part)


def _set_aside_names(path: Path) -> list[str]:
    """Oldest first."""
    found = [entry for entry in path.iterdir() if entry.name.startswith(_SET_ASIDE)]
    return [entry.name for entry in sorted(found, key=lambda entry: (entry.lstat().st_mtime_ns, entry.name))]


def warn_of_copies(path: Path, alarms: dict[str, str]) -> None:
    """Copies that were set aside are an alarm, and so is why, until somebody has deleted them. Raises OSError."""
    names = _set_aside_names(path)
    if names:
        alarms["set-aside"] = f"Beside the store lie copies that were set aside; delete {', '.join(names)} in {path}."
    else:
        alarms.pop("set-aside", None)
        alarms.pop("replaced", None)


# Rules 3 and 4: what of it fits?


def _fit(
    containers: ContainerFile, index: Index, meta: Meta, sizes: Sizes, alarms: dict[str, str]
) -> tuple[Index, list[tuple[int, Row]]]:
    """The index, perhaps another one, and the rows of the containers that stay, the one that was filled first first."""
    rows = index.rows()
    slots = sizes.slots(containers.layout)
    kept = _within_file(rows, containers)
    if len(kept) < len(rows):
        alarms["short"] = f"The file `containers` is too short: {len(rows) - len(kept)} containers are lost."
    kept = sorted(_one_a_slot(kept), key=lambda one: (one[1].sealed, one[0]))
    kept = [(container, row) for container, row in kept if 1 <= row.slot <= slots]
    _drop(index, meta, rows, kept)
    containers.cut(slots)
    return _fit_index(index, meta, sizes, containers.layout, kept)


def _fit_index(
    index: Index, meta: Meta, sizes: Sizes, layout: Layout, rows: list[tuple[int, Row]]
) -> tuple[Index, list[tuple[int, Row]]]:
    """Write an index too large for its map anew; as often as it still is, the oldest quarter of the containers goes."""
    most = sizes.index_bytes
    while index.file_bytes() > most:
        most = _most_live(sizes.index_bytes, layout, index.page_bytes)
        index = index.compacted(index.file_bytes() + _LEAST_INDEX)
        if index.file_bytes() > most:
            kept = rows[len(rows) // 4 + 1 :]
            _drop(index, meta, rows, kept)
            rows = kept
        else:
            index.close()
            index = Index(index.path, sizes.index_bytes)
    return index, rows


def _most_live(map_bytes: int, layout: Layout, page_bytes: int) -> int:
    """Bytes of an index without free pages that leave as much of its map as it takes to remove a container.

    With less nothing could be learned any more: nor could anything go to make room for it (`Index.crowded`).
    """
    usable = map_bytes * 9 // 10
    return max(usable - 2 * layout.max_entries * page_bytes, usable // 3)


def _within_file(rows: list[tuple[int, Row]], containers: ContainerFile) -> list[tuple[int, Row]]:
    size, each, ahead = containers.size(), containers.layout.slot_bytes, containers.layout.data_offset
    return [(name, row) for name, row in rows if row.slot * each + ahead + row.bytes <= size]


def _one_a_slot(rows: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    # A transaction that failed while the slot was already written over leaves two rows; the younger one is right.
    latest = {row.slot: container for container, row in rows}
    return [(container, row) for container, row in rows if latest[row.slot] == container]


def _drop(index: Index, meta: Meta, rows: list[tuple[int, Row]], kept: list[tuple[int, Row]]) -> None:
    alive = {container for container, _ in kept}
    gone = {container: list[bytes]() for container, _ in rows if container not in alive}
    if gone:
        index.commit(Change(meta.next, removed=gone))
    if index.chunks() > sum(row.entries for _, row in kept):
        index.sweep(alive.__contains__)
    index.refresh()


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _remedy(error: BaseException) -> str:
    if isinstance(error, DiskFull):  # as LMDB reports it, it may be an I/O error
        return _REMEDIES[errno.ENOSPC]
    cause = error.__cause__ or error
    code = getattr(cause, "errno", None) or getattr(cause, "code", None)
    return _REMEDIES.get(code, "see to the disk, or configure another path")
