"""Files that are read if they are files, and written whole or not at all. Everything here blocks for as long as the
disk does."""

import contextlib
import errno
import os
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

File = tuple[Path, bytes, int]
"""Path, content, mode."""

_NOWHERE = errno.ENOENT, errno.ENOTDIR, errno.ELOOP
"""Error numbers of a path that leads to nothing; ELOOP is for links that lead to each other."""


class NotAFile(OSError):
    """What is at a path has no content of its own, and perhaps no end."""

    def __init__(self, path: Path, mode: int) -> None:
        self.found = f"{kind(mode)}, not a file"
        super().__init__(errno.EINVAL, f"it is {self.found}", str(path))


def kind(mode: int) -> str:
    """What is at a path, in words, by its mode."""
    kinds = {
        stat.S_IFDIR: "a directory",
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a character device",
        stat.S_IFBLK: "a block device",
    }
    return kinds.get(stat.S_IFMT(mode), "of an unknown kind")


def require(path: Path) -> None:
    """Raises OSError if there is no file: NotAFile for a pipe or a device, which might never answer who opens it."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        raise NotAFile(path, mode)


def read(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file. Raises OSError as `require`."""
    require(path)
    # Without waiting, should it have become a pipe meanwhile.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most)


def present(path: Path) -> bool:
    """True if something is at that path. Raises OSError if that cannot be found out; `Path.exists` of Python 3.14
    returns False then."""
    try:
        path.stat()
    except OSError as error:
        if error.errno not in _NOWHERE:
            raise
        return False
    return True


def nearest(path: Path) -> Path:
    """The path, or if nothing is there, the nearest one above it where something is. A link that leads nowhere is
    something. Raises OSError as `present`."""
    return next(place for place in (path, *path.absolute().parents) if present(place) or place.is_symlink())


def in_the_way(path: Path) -> Path | None:
    """What keeps `path` from being made a directory: what is there, or nearest above it, if that is no directory.

    None if nothing does. Raises OSError as `present`.
    """
    place = nearest(path)
    return None if place.is_dir() else place


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold back the signals that end a command: one that came between a file's creation and the note of it would leave
    the file behind."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def create_all(files: Sequence[File]) -> None:
    """Write all files, or none if one exists already or cannot be written. Raises OSError."""
    created: list[Path] = []
    try:
        for path, content, mode in files:
            with undisturbed():
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
                created.append(path)
            _fill(descriptor, content, mode)
    except BaseException:  # Ctrl-C as well, while a slow disk writes
        for path in created:
            path.unlink()
        raise


def replace_all(files: Sequence[File]) -> None:
    """Write all files under temporary names, then put them in the place of the old ones, with the old ones' owners if
    this user may set them.

    Raises OSError, which names the file that was to be replaced. Then no temporary file is left, and the old files are
    back (where hard links to them could be made): a new key beside the old certificate would be of no use, and the old
    key lost.
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
            draft.unlink(missing_ok=True)  # it may contain a private key
            _former(draft).unlink(missing_ok=True)


def _former(draft: Path) -> Path:
    return draft.with_name(f"{draft.name}.former")


def _keep(path: Path, former: Path, undo: list[Callable[[], object]]) -> None:
    """Make a hard link to the old file, and add to `undo` how it gets its place back."""
    try:
        os.link(path, former, follow_symlinks=False)
    except FileNotFoundError:
        undo.append(partial(path.unlink, missing_ok=True))
    except OSError:
        return  # this file system has no hard links, or not for this user: the file cannot be put back
    else:
        undo.append(partial(os.replace, former, path))


def _give(draft: Path, path: Path) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        owned = path.stat()
        # Root may do this in a directory of the site's user. If that user puts a link in the draft's place, root must
        # not make the user the owner of what the link leads to.
        os.chown(draft, owned.st_uid, owned.st_gid, follow_symlinks=False)


def _fill(descriptor: int, content: bytes, mode: int) -> None:
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)  # whatever the umask says
        file.write(content)
        file.flush()
        os.fsync(descriptor)
