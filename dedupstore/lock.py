"""The lock by which one process at a time owns a store."""

import errno
import fcntl
import os
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path

from dedupstore.errors import StoreBusy, StoreUnusable
from dedupstore.kinds import refuse_all_but_files, refuse_loose_ends

_BYTES = 512
"""Length of the file, always."""
_FIRST_NAMESPACE = 0xEFFFFFFC
"""Inode of the namespace of processes that a kernel begins with (PROC_PID_INIT_INO)."""


def holder(directory: Path) -> str:
    """The holder of the store in that directory, as StoreBusy names it; empty if none, or if this user may not look.

    Nothing is changed, but a process that wants the store in the same microsecond does not get it.
    """
    with suppress(OSError):
        if not (directory / "lock").is_file():  # a pipe would not open before somebody writes to it
            return ""
        file = os.open(directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _name(file)
        finally:
            os.close(file)
    return ""


def _name(file: int) -> str:
    return _written(file) or "another process, which has not said its name yet"


def _written(file: int) -> str:
    return os.pread(file, _BYTES, 0).decode(errors="replace").strip()


def _own_name() -> str:
    """A container counts its own processes, and its host's name can be its own."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    apart = " in a container" if _apart() else ""
    return f"process {os.getpid()}{apart} on {os.uname().nodename} since {now}"


def _apart() -> bool:
    """Whether others may know this process by another number; no if that is not told."""
    with suppress(OSError):
        return os.stat("/proc/self/ns/pid").st_ino != _FIRST_NAMESPACE
    return False


class StoreLock:
    """The `lock` file of a store, held until `release` or the end of the process. So is the directory: if somebody
    deleted the file meanwhile, two processes would write over each other's containers.

    The file names its holder until an orderly release; so if it names one while nobody holds it, the last holder died.
    An orderly release leaves blanks in place of the name: if the file were cut to nothing, a disk that is full by then
    would have no room for the next name, and nobody could take the store any more.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lock. Raises StoreBusy, which names the holder, StoreUnusable, or OSError."""
        refuse_loose_ends(directory, "lock")
        refuse_all_but_files(directory, "lock")
        with ExitStack() as files:
            self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            files.callback(os.close, self._file)
            self._take(directory)
            files.callback(os.close, self._take_directory(directory))
            self.orphaned = bool(_written(self._file))
            """Whether the last holder died, or left the store as if it had."""
            self._write(_own_name())
            self._files = files.pop_all()

    def _take(self, directory: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusy(str(directory), _name(self._file)) from error
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
                raise
            raise StoreUnusable(f"store {directory} is on a file system without locks; use a local disk") from error

    def _take_directory(self, directory: Path) -> int:
        taken = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(taken, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(taken)
            holder = "another process, which has locked its directory (perhaps its file `lock` was deleted)"
            raise StoreBusy(str(directory), holder) from error
        except OSError:  # some file systems lock files only
            pass
        return taken

    def _write(self, holder: str) -> None:
        os.pwrite(self._file, f"{holder:<{_BYTES - 1}}\n".encode(), 0)

    def release(self, *, orderly: bool = True) -> None:
        """Let others have the store; unless `orderly`, it is left as if this process had died while holding it."""
        if orderly:
            with suppress(OSError):  # if this fails, the next holder walks over the index without need
                self._write("")
        self._files.close()
