"""What a store's directory holds: the store's parts, copies that were set aside, perhaps things of somebody else."""

import errno
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dedupstore.errors import Away, DiskFull, StoreUnusable
from dedupstore.index import COMPACT, INDEX_FILES
from dedupstore.kinds import APART, refuse_all_but_directories, refuse_all_but_files, refuse_loose_ends
from dedupstore.lock import StoreLock
from dedupstore.readers import READERS_FULL

_SET_ASIDE_KEPT = 3
_SET_ASIDE = "set-aside-"
_PARTS = ("containers", "index")
_FILES = ("containers", *(f"index/{name}" for name in INDEX_FILES))
_DATA = "containers", f"index/{INDEX_FILES[0]}"
"""Those that hold what the store knows; the other one is made anew at each opening."""
_EMPTY_DISK = "lost+found"
"""`index` may be a disk of its own, and then has this directory."""

_REMEDIES: dict[object, str] = {
    errno.EROFS: "mount it writable, or let its service write there (ReadWritePaths of a systemd unit, a container's"
    " volume)",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "raise the quota",
    errno.EMFILE: "let this process open more files (ulimit -n)",
    errno.ENOMEM: "lower store.size, or let this process map more (ulimit -v)",
    errno.EINVAL: "configure a path on a local disk",
    errno.ENODEV: "configure a path on a local disk",
    READERS_FULL: "end the processes that read it",
}


def purge(path: Path) -> None:
    """Delete everything that the store keeps; the next opening creates a new one. Raises StoreBusy or StoreUnusable."""
    try:
        if not _present(path):
            return
        lock = StoreLock(path)
        try:
            names = (*_PARTS, *_set_aside_names(path))
            _refuse_links(path, names)
            refuse_strangers(path)
            for name in names:
                _delete(path / name)
        except BaseException:  # what is left may be of a holder that died
            lock.release(orderly=not lock.orphaned)
            raise
        lock.release()
    except OSError as error:
        raise StoreUnusable(f"store {path} cannot be purged: {in_words(error)}; {remedy_for(error, path)}") from error


def make(path: Path) -> None:
    """Make the directory unless it exists. Raises StoreUnusable or OSError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        remedy = "move it away, or name a directory as store.path"
        raise StoreUnusable(f"store {path}: {_nearest(path)} is not a directory; {remedy}") from error


def _refuse_links(path: Path, names: tuple[str, ...]) -> None:
    """Refuse to purge symbolic links: what they lead to would stay, or be purged in part. Raises StoreUnusable."""
    links = [name for name in names if (path / name).is_symlink()]
    if links:
        remedy = "delete the link, and what it leads to"
        raise StoreUnusable(f"store {path} cannot be purged: {path / links[0]} is a symbolic link; {remedy}")


def refuse_strangers(path: Path) -> None:
    """Refuse parts that are of another kind than a store makes, and an `index` without a store's files. They are
    somebody else's, as are podman's images in /var/lib. Raises StoreUnusable or OSError."""
    index = path / "index"
    refuse_all_but_directories(path, "index", f"index/{COMPACT}")
    refuse_all_but_files(path, *_FILES)
    found = {entry.name for entry in index.iterdir()} - {_EMPTY_DISK} if index.is_dir() else set()
    if found and found.isdisjoint((*INDEX_FILES, COMPACT)):
        raise StoreUnusable(f"store {path}: {index / min(found)} is nothing that a store makes; {APART}")


def refuse_missing(path: Path) -> None:
    """Refuse links that lead nowhere. Raises StoreUnusable or OSError."""
    refuse_loose_ends(path, "index", *_FILES)


def refuse_half(path: Path) -> None:
    """Refuse a store of which only one half is there: opening it would create the other half, in the way of the one
    that was moved or is not mounted. Raises StoreUnusable."""
    gone = [part for part in (path / "containers", path / "index" / INDEX_FILES[0]) if not _present(part)]
    if len(gone) == 1:
        remedy = "put it back, or the next start of the site begins an empty store"
        raise StoreUnusable(f"store {path} cannot be opened: {gone[0]} is not there; {remedy}")


def _present(path: Path) -> bool:
    """True if the path exists. Raises OSError if that cannot be told: `Path.exists` of Python 3.14 returns False."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def set_aside(path: Path, now: float) -> None:
    """Move all parts into a directory of their own, and delete the oldest such copies beyond three. Raises OSError,
    and all is where it was."""
    name = _SET_ASIDE + datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    names = [name, *(f"{name}-{count}" for count in range(2, 100))]
    place = next(path / name for name in names if not (path / name).exists())
    place.mkdir(mode=0o700)
    try:
        _move(path, place)
    except OSError:  # a disk may be mounted as `index`: all stays in place, otherwise each try would leave a copy
        _move(place, path)
        place.rmdir()
        raise
    with suppress(OSError):  # an alarm names those that remain, and the next time they are deleted with this one
        _delete_copies(path, place.name)


def _delete_copies(path: Path, latest: str) -> None:
    # If the clock was set back, the latest one seems older than the others, and would be deleted at once.
    others = [old for old in _set_aside_names(path) if old != latest]
    for old in others[: 1 - _SET_ASIDE_KEPT]:
        _delete(path / old)


def _move(source: Path, target: Path) -> None:
    for part in _PARTS:
        if (source / part).exists():
            (source / part).rename(target / part)


def _set_aside_names(path: Path) -> list[str]:
    """Names of the copies that were set aside, oldest first."""
    found = [entry for entry in path.iterdir() if entry.name.startswith(_SET_ASIDE)]
    return [entry.name for entry in sorted(found, key=lambda entry: (entry.lstat().st_mtime_ns, entry.name))]


def warn_of_copies(path: Path, alarms: dict[str, str]) -> None:
    """Raise an alarm for copies that were set aside; end it, and the one that says why, once they were deleted.

    Raises OSError.
    """
    names = _set_aside_names(path)
    if names:
        alarms["set-aside"] = f"Beside the store lie copies that were set aside; delete {', '.join(names)} in {path}."
    else:
        alarms.pop("set-aside", None)
        alarms.pop("replaced", None)


def opened(path: Path) -> dict[Path, os.stat_result]:
    """Which files the store has just opened there. Raises OSError."""
    return {path / name: (path / name).stat() for name in _DATA}


def warn_of_others(files: dict[Path, os.stat_result], alarms: dict[str, str]) -> None:
    """Raise an alarm for files that are not what was `opened` there: as long as they are open nothing else tells that
    the next opening will not find them. End it once they are back. Raises OSError."""
    gone = " and ".join(str(place) for place, file in files.items() if not _is(place, file))
    if gone:
        alarms["gone"] = (
            f"What the store has open as {gone} was deleted, moved or replaced there. If it was moved, move it back;"
            " otherwise what the store holds is lost when the site ends, and a restart begins an empty one."
        )
    else:
        alarms.pop("gone", None)


def _is(place: Path, file: os.stat_result) -> bool:
    """True if that file lies there: as long as it is open, no other one is given its number."""
    try:
        return os.path.samestat(place.stat(), file)
    except (FileNotFoundError, NotADirectoryError):
        return False


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def in_words(error: BaseException) -> str:
    """What went wrong, in the system's words without Python's around them."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.strerror} ({error.filename})" if error.filename else error.strerror


def _nearest(path: Path) -> Path:
    """The path, or if this user sees nothing there, the nearest one above it where something is."""
    return next(place for place in (path, *path.absolute().parents) if os.path.lexists(place))


def remedy_for(error: BaseException, path: Path) -> str:
    """What an operator may do about the error of the store in that directory."""
    cause = error.__cause__ or error
    code = getattr(cause, "errno", None) or getattr(cause, "code", None)
    if isinstance(error, Away):  # it may be back soon, so nothing was set aside; or one place is bad
        return "see to the disk; if nothing else is wrong with it, purge the store, which then begins anew"
    if isinstance(error, DiskFull):  # its cause, as LMDB reports it, may be an I/O error
        code = errno.ENOSPC
    if code in (errno.EACCES, errno.EPERM):  # by number: what a container's user is called is not known outside
        place = _nearest(Path(getattr(cause, "filename", None) or path))
        return f"let user {os.geteuid()} read and write {place} (chown)"
    remedy = _REMEDIES.get(code, "see to the disk, or configure another path")
    if code == errno.ENOSPC:
        with suppress(OSError):
            if names := _set_aside_names(path):
                return f"{remedy}: delete {', '.join(names)} in {path}"
    return remedy
