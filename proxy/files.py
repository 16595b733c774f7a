"""Files that are written whole or not at all. Everything here blocks for as long as the disk does."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

File = tuple[Path, bytes, int]
"""Path, content, mode."""


def nearest(path: Path) -> Path:
    """That, or what there is above it. Raises OSError if it cannot be looked at."""
    return next(place for place in (path, *path.absolute().parents) if place.exists())


def in_the_way(path: Path) -> Path | None:
    """What stands where a directory is wanted, or above it, and is none. Raises OSError likewise."""
    place = nearest(path)
    return None if place.is_dir() else place


def create_all(files: Sequence[File]) -> None:
    """Write all files, none of which exists yet, or none. Raises OSError."""
    created: list[Path] = []
    try:
        for path, content, mode in files:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            created.append(path)
            _fill(descriptor, content, mode)
    except OSError:
        for path in created:
            path.unlink()
        raise


def replace_all(files: Sequence[File]) -> None:
    """Write all files under other names, then put them in the place of what is there, whose owner they get if we may.

    Raises OSError.
    """
    drafts = [(path.with_name(f".{path.name}.{os.getpid()}"), content, mode) for path, content, mode in files]
    create_all(drafts)
    for (draft, _, _), (path, _, _) in zip(drafts, files, strict=True):
        _give(draft, path)
        os.replace(draft, path)


def _give(draft: Path, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        owned = path.stat()
        os.chown(draft, owned.st_uid, owned.st_gid)


def _fill(descriptor: int, content: bytes, mode: int) -> None:
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)  # whatever the umask says
        file.write(content)
        file.flush()
        os.fsync(descriptor)
