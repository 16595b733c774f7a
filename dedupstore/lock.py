"""One process owns a store at a time."""

import errno
import fcntl
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from dedupstore.errors import StoreBusy, StoreUnusable

_BYTES = 512
"""Of the file, always."""


def holder(directory: Path) -> str:
    """Who has the store that is there, as StoreBusy says it; empty if nobody, or if this user may not look.

    Nothing is changed, but a process that wants the store in the same microsecond does not get it.
    """
    with suppress(OSError):
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


class StoreLock:
    """The `lock` file of a store, held until `release` or the end of the process.

    It names its holder until an orderly release; so if it does when nobody holds it, the last holder died. Such a
    release leaves blanks, in the same place: on a disk that is full by then there is no room for a file cut to nothing,
    and nobody could take the store any more.
    """

    def __init__(self, directory: Path) -> None:
        """Take it. Raises StoreBusy, which names the holder, or OSError."""
        self._file = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._take(directory)
        except BaseException:
            os.close(self._file)
            raise

    def _take(self, directory: Path) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreBusy(str(directory), _name(self._file)) from error
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP):
                raise
            raise StoreUnusable(f"store {directory} is on a file system without locks; use a local disk") from error
        self.orphaned = bool(_written(self._file))
        """Whoever held it before has not released it in order."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._write(f"process {os.getpid()} on {os.uname().nodename} since {now}")

    def _write(self, holder: str) -> None:
        os.pwrite(self._file, f"{holder:<{_BYTES - 1}}\n".encode(), 0)

    def release(self, *, orderly: bool = True) -> None:
        """Let others have the store; unless `orderly` it is left as if this process had died with it."""
        if orderly:
            with suppress(OSError):  # then the next holder looks more closely than it need
                self._write("")
        os.close(self._file)
