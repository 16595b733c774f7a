"""How a bench ends: nothing that it made stays, and what it started ends with it, even if it is killed."""

import fcntl
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from proxy.cli.ending import ended_in_order
from proxy.errors import NO_ROOM, ExitCode

BOUND = Path(__file__).with_name("bound.py")
SCRATCH = "isthmus-scratch-"
"""Beginning of the names of directories that are removed when nobody claims them: nothing else may be called so."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for temporary files. It may take long to remove; interrupts meanwhile leave nothing behind.

    First, directories of benches that were killed are removed: the kernel has ended their claims, which are locks
    (flock(2)).
    """
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(OSError), _claim(left, fcntl.LOCK_NB):  # unless another bench has it, or just removed it
            if any(left.iterdir()):  # an empty one may have been made just now, and not be claimed yet
                _remove(left)
    directory = Path(tempfile.mkdtemp(prefix=SCRATCH))
    with _claim(directory):
        try:
            yield directory
        finally:
            _remove(directory)


@contextmanager
def _claim(directory: Path, mode: int = 0) -> Iterator[None]:
    """Hold the directory's lock. Waits for another process that has it; with LOCK_NB as `mode`, raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | mode)
        yield
    finally:
        os.close(descriptor)


def _remove(directory: Path) -> None:
    """Remove the directory, however often that is interrupted; raises KeyboardInterrupt afterwards."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
    except KeyboardInterrupt:
        _remove(directory)
        raise


def program(main: Callable[[], int | None]) -> NoReturn:
    """Run a bench as a program, and end the process: in order after signals, with one line if the disk is full."""
    try:
        with ended_in_order():
            sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        sys.exit(f"{error.filename or 'output'} cannot be written: {error.strerror}")


def said(error: Exception) -> str:
    """What a failure says, in words; of a disk that is full, which one it is."""
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return f"no room in {tempfile.gettempdir()}: {error.strerror} (see TMPDIR)"
    return str(error) or repr(error)


def bound(command: Sequence[str]) -> list[str]:
    """The command, changed so that the kernel kills it when this process ends, in whatever way.

    The kernel does so at the end of the thread that started it, so the command is changed in the main thread only.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return [*command]
    return [sys.executable, "-I", "-S", str(BOUND), str(os.getpid()), *command]
