"""Files that are written whole or not at all. Everything here blocks for as long as the disk does."""

import contextlib
import errno
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

File = tuple[Path, bytes, int]
"""Path, content, mode."""

_NOWHERE = errno.ENOENT, errno.ENOTDIR, errno.ELOOP
"""Errors of a path that leads to nothing; the last one of links that lead to each other."""


def present(path: Path) -> bool:
    """True if something is there. Raises OSError if it cannot be looked at, for which `Path.exists` of Python 3.14 says
    that nothing is."""
    try:
        path.stat()
    except OSError as error:
        if error.errno not in _NOWHERE:
            raise
        return False
    return True


def nearest(path: Path) -> Path:
    """That, or what there is above it. Raises OSError likewise."""
    return next(place for place in (path, *path.absolute().parents) if present(place))


def in_the_way(path: Path) -> Path | None:
    """What stands where a directory is wanted, or above it, and is none. Raises OSError likewise."""
    place = nearest(path)
    return None if place.is_dir() else place


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that end a command wait: one that came while the disk makes a file would be told before that is noted."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def create_all(files: Sequence[File]) -> None:
    """Write all files, none of which exists yet, or none. Raises OSError."""
    created: list[Path] = []
    try:
        for path, content, mode in files:
            with undisturbed():
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                created.append(path)
            _fill(descriptor, content, mode)
    except BaseException:  # Ctrl-C as well, while a slow disk is waited for
        for path in created:
            path.unlink()
        raise


def replace_all(files: Sequence[File]) -> None:
    """Write all files under other names, then put them in the place of what is there, whose owner they get if we may.

    Raises OSError, which names the file that was to be replaced; then none of the other names is left, and what was
    there is there again: a new key beside the old certificate would be of no use, and the old key lost.
    """
    drafts = {path.with_name(f".{path.name}.{os.getpid()}"): path for path, _, _ in files}
    undo: list[Callable[[], object]] = []
    try:
        create_all([(draft, content, mode) for draft, (_, content, mode) in zip(drafts, files, strict=True)])
        for draft, path in drafts.items():
            _give(draft, path)
            _keep(path, _former(draft), undo)
            os.replace(draft, path)
    except BaseException as error:
        for step in undo:
            with contextlib.suppress(OSError):
                step()
        if not isinstance(error, OSError):
            raise
        named = {str(draft): str(path) for draft, path in drafts.items()}
        raise OSError(error.errno, error.strerror, named.get(error.filename, error.filename)) from None
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)  # there may be a private key in it
            _former(draft).unlink(missing_ok=True)


def _former(draft: Path) -> Path:
    return draft.with_name(f"{draft.name}.former")


def _keep(path: Path, former: Path, undo: list[Callable[[], object]]) -> None:
    """Give what is there a second name, and note how it gets its place back."""
    try:
        os.link(path, former, follow_symlinks=False)
    except FileNotFoundError:
        undo.append(partial(path.unlink, missing_ok=True))
    except OSError:
        return  # no second names on this file system, or not for this user
    else:
        undo.append(partial(os.replace, former, path))


def _give(draft: Path, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        owned = path.stat()
        # The directory may be the site's user's, and root give its files back: whoever puts a link in the draft's place
        # is not to be given what it leads to.
        os.chown(draft, owned.st_uid, owned.st_gid, follow_symlinks=False)


def _fill(descriptor: int, content: bytes, mode: int) -> None:
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)  # whatever the umask says
        file.write(content)
        file.flush()
        os.fsync(descriptor)
