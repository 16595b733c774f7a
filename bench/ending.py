"""How a bench ends: nothing that it made stays, and what it started ends at the latest when it is killed."""

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
"""How names of directories begin that are removed when nobody claims them: nothing else may be called so."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A directory for temporary files. Interrupts while it is removed, which may be gigabytes, leave nothing.

    What is left by those that were killed goes first: the kernel has ended their claims, which are locks (flock(2)).
    """
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        with suppress(OSError), _claim(left, fcntl.LOCK_NB):  # or another bench has it, or has just removed it
            if any(left.iterdir()):  # an empty one may just begin
                _remove(left)
    directory = Path(tempfile.mkdtemp(prefix=SCRATCH))
    with _claim(directory):
        try:
            yield directory
        finally:
            _remove(directory)


@contextmanager
def _claim(directory: Path, mode: int = 0) -> Iterator[None]:
    """Raises OSError if somebody else has it and `mode` is LOCK_NB."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | mode)
        yield
    finally:
        os.close(descriptor)


def _remove(directory: Path) -> None:
    """However often it is interrupted; that is told in the end."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
    except KeyboardInterrupt:
        _remove(directory)
        raise


def program(main: Callable[[], int | None]) -> NoReturn:
    """A bench as a program, which its signals end in order, and a full disk with a line: ends the process."""
    try:
        with ended_in_order():
            sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        sys.exit(f"{error.filename or 'output'} cannot be written: {error.strerror}")


def bound(command: Sequence[str]) -> list[str]:
    """The command so that the kernel kills it when we end, however we do.

    It counts the thread that starts it, so from any but the main one the command stays as it is.
    """
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return [*command]
    return [sys.executable, "-I", "-S", str(BOUND), str(os.getpid()), *command]
